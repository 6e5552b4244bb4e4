//! Damaged captures give an error or a part of what they had, and never a panic.

use proptest::prelude::*;

use super::{captures, counters, metrics, read};
use crate::sources::jvm::wire::{Entry, Prologue, Walk};

/// Cut anywhere: the bytes in use are not all there.
#[test]
fn cut_at_every_position() {
    for (name, region, want) in captures() {
        let used = want["head"]["used"].as_u64().unwrap() as usize;
        for end in 0..used {
            assert!(read(&region[..end], |_| ()).is_err(), "{name} {end}");
        }
        for end in [used, used + 1, region.len()] {
            assert!(read(&region[..end.min(region.len())], |_| ()).is_ok(), "{name} {end}");
        }
    }
}

/// The prologue says that less is in use: what comes out is the begin of what was there. All
/// positions of one capture, a part of those of others; all of all without `debug_assertions`.
#[test]
fn used_at_every_position() {
    for (nth, (name, region, _)) in captures().into_iter().enumerate() {
        let whole = Prologue::parse(&region).unwrap();
        let all: Vec<_> = Walk::new(&region, whole).collect();
        let step = if nth == 0 || !cfg!(debug_assertions) { 1 } else { 1021 };
        for used in (32..whole.used).step_by(step) {
            let mut cut = region[..used].to_vec();
            cut[8..12].copy_from_slice(&(used as u32).to_le_bytes());
            let prologue = Prologue::parse(&cut).unwrap();
            let mut walk = Walk::new(&cut, prologue);
            let part = walk.by_ref().zip(&all).take_while(|(part, all)| part == *all).count();
            assert_eq!(part + walk.left() as usize, all.len(), "{name} {used}");
            if used % 64 == 0 {
                let entries = read(&cut, |reading| (metrics(&reading), reading.entries).1).unwrap();
                assert_eq!(entries as usize, part, "{name} {used}");
            }
        }
    }
}

/// Every byte of the prologue flipped, of some captures also bit by bit.
#[test]
fn flipped_bytes_of_the_prologue() {
    let mut given = 0;
    for (nth, (name, region, _)) in captures().into_iter().enumerate() {
        let masks: &[u8] = &[255, 1, 2, 4, 8, 16, 32, 64, 128];
        let masks = &masks[..if nth % 15 == 0 { 9 } else { 1 }];
        let whole = Prologue::parse(&region).unwrap();
        let all: Vec<_> = Walk::new(&region, whole).flatten().collect();
        let mut damaged = region.clone();
        for at in 0..32 {
            for &mask in masks {
                damaged[at] ^= mask;
                let shown = read(&damaged, |_| ());
                if let Ok(prologue) = Prologue::parse(&damaged) {
                    let mut part = Walk::new(&damaged, prologue).flatten();
                    let known = |entry: Entry<'_>| {
                        let at = all.binary_search_by_key(&entry.place.at, |known| known.place.at);
                        at.is_ok_and(|at| all[at] == entry)
                    };
                    assert!(part.all(known), "{name} {at} {mask}");
                    assert_eq!(prologue.order, whole.order);
                    given += 1;
                    shown.unwrap();
                }
                damaged[at] ^= mask;
            }
        }
    }
    println!("{given} were read");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..Default::default() })]

    #[test]
    fn rubbish_is_harmless(
        rest in proptest::collection::vec(any::<u8>(), 0..4096),
        used in any::<u16>(), count in 0_u16..300, first in 32_u16..64, order in 0_u8..2,
    ) {
        let mut region = vec![0xca, 0xfe, 0xc0, 0xc0, order, 2, 0, 1];
        let ints = [u32::from(used), 0, 0, 0, u32::from(first), u32::from(count)];
        region.extend(ints.into_iter().flat_map(|int| if order == 1 { int.to_le_bytes() } else { int.to_be_bytes() }));
        region.extend(rest);
        let _ = read(&region, |reading| metrics(&reading));
        let _ = counters(&region);
    }

    #[test]
    fn damaged_entries_are_harmless(
        which in 0_usize..105, damage in proptest::collection::vec((32_usize..12_000, any::<u8>()), 1..200),
    ) {
        thread_local!(static ALL: Vec<(String, Vec<u8>, serde_json::Value)> = captures());
        ALL.with(|all| {
            let mut region = all[which].1.clone();
            for (at, byte) in damage {
                if let Some(place) = region.get_mut(at) {
                    *place = byte;
                }
            }
            let _ = read(&region, |reading| metrics(&reading));
            let _ = counters(&region);
        });
    }
}
