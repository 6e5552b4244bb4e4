//! Profiles by a reader of their own: the totals of `pcp apm folded`, and those of each frame.

use std::collections::BTreeMap;
use std::io::Read;

use export::profile::{Folded, Profile, folded, pprof, speedscope};
use serde_json::Value as Json;

use crate::wire::{Message, Wire};

const FOLDED: &str = include_str!("../data/folded.txt");

/// By service: by stack, the outermost first, ns.
type Stacks = BTreeMap<String, BTreeMap<Vec<String>, u64>>;

/// What lines say.
fn said(lines: &str) -> Stacks {
    let mut found = Stacks::new();
    for line in lines.lines() {
        let (stack, us) = line.rsplit_once(' ').unwrap();
        let (service, frames) = stack.split_once(';').unwrap();
        let frames = frames.split(';').map(str::to_owned).collect();
        *found.entry(service.to_owned()).or_default().entry(frames).or_default() +=
            us.parse::<u64>().unwrap() * 1000;
    }
    found
}

fn varints(packed: &[u8]) -> Vec<u64> {
    let (mut found, mut number, mut place) = (Vec::new(), 0, 0);
    for byte in packed {
        number |= u64::from(byte & 0x7f) << place;
        place += 7;
        if byte & 0x80 == 0 {
            found.push(number);
            (number, place) = (0, 0);
        }
    }
    found
}

struct Found {
    stacks: Stacks,
    /// Of each value: its name and unit.
    types: Vec<(String, String)>,
    sums: Vec<u64>,
    labels: Vec<Vec<(String, String)>>,
    times: [Option<u64>; 3],
}

fn read(profile: &Profile) -> Found {
    let mut bytes = Vec::new();
    pprof(profile, &mut bytes).unwrap();
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&*bytes).read_to_end(&mut plain).unwrap();
    let file = Message::of(&plain).unwrap();
    let texts: Vec<String> = file
        .all(6)
        .map(|text| match text {
            Wire::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts[0], "");
    let text = |number: Option<u64>| texts[usize::try_from(number.unwrap_or(0)).unwrap()].clone();
    let kind = |of: Message| (text(of.number(1)), text(of.number(2)));
    let types: Vec<_> = file.messages(1).map(kind).collect();
    assert_eq!(file.messages(11).map(kind).next().as_ref(), types.first());
    let functions: BTreeMap<u64, String> =
        file.messages(5).map(|one| (one.number(1).unwrap(), text(one.number(2)))).collect();
    let locations: BTreeMap<u64, String> = file
        .messages(4)
        .map(|one| {
            let line = one.message(4).unwrap();
            (one.number(1).unwrap(), functions[&line.number(1).unwrap()].clone())
        })
        .collect();
    let (mut stacks, mut sums) = (Stacks::new(), vec![0; types.len()]);
    let mut all = Vec::new();
    for sample in file.messages(2) {
        let packed = |field| match sample.all(field).next() {
            Some(Wire::Bytes(bytes)) => varints(bytes),
            other => panic!("{other:?}"),
        };
        let mut frames: Vec<String> = packed(1).iter().map(|id| locations[id].clone()).collect();
        frames.reverse();
        let values = packed(2);
        assert_eq!(values.len(), types.len());
        sums.iter_mut().zip(&values).for_each(|(sum, value)| *sum += value);
        let labels: Vec<_> = sample.messages(3).map(kind).collect();
        let service = labels.iter().find(|(name, _)| name == "service").unwrap().1.clone();
        *stacks.entry(service).or_default().entry(frames).or_default() +=
            values.iter().sum::<u64>();
        all.push(labels);
    }
    let times = [9, 10, 12].map(|field| file.number(field));
    Found { stacks, types, sums, labels: all, times }
}

#[test]
fn pprof_has_the_totals_of_folded() {
    let profile = Profile::new(folded(FOLDED.as_bytes()).unwrap(), 0, 0);
    let found = read(&profile);
    // Of several services each is the outermost frame.
    let mut expected = Stacks::new();
    for (service, stacks) in said(FOLDED) {
        let rooted = stacks.into_iter().map(|(mut frames, value)| {
            frames.insert(0, service.clone());
            (frames, value)
        });
        expected.insert(service.clone(), rooted.collect());
    }
    assert_eq!(found.stacks, expected);
    assert_eq!(found.types, [("time".to_owned(), "nanoseconds".to_owned())]);
    assert_eq!(found.times, [None, None, Some(1)]);
    let one: String = FOLDED
        .lines()
        .filter(|line| line.starts_with("orders;"))
        .fold(String::new(), |all, line| all + line + "\n");
    let profile = Profile::new(folded(one.as_bytes()).unwrap(), 0, 0);
    assert_eq!(read(&profile).stacks, said(&one));
}

#[test]
fn measured_and_sampled_time_are_apart() {
    let stack = |service: &str, frame: &str, value, sampled| Folded {
        service: service.into(),
        source: if sampled { "dotnet" } else { "zorka" }.into(),
        frames: vec![frame.into()],
        value,
        sampled: sampled.then_some(1_000_000),
    };
    let stacks =
        [stack("shop/a", "A", 5, false), stack("b", "B", 7, true), stack("b", "B", 4, true)];
    let found = read(&Profile::new(stacks, 1_700_000_000_000_000_000, 2_000_000_000));
    let kinds: Vec<_> = found.types.iter().map(|(kind, _)| &**kind).collect();
    assert_eq!((kinds, found.sums), (vec!["time", "cpu"], vec![5, 11]));
    assert_eq!(found.times, [Some(1_700_000_000_000_000_000), Some(2_000_000_000), Some(1)]);
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        found.labels,
        [
            vec![label("service", "b"), label("source", "dotnet")],
            vec![label("service", "shop/a"), label("namespace", "shop"), label("source", "zorka")],
        ]
    );
    // Nothing is a profile, too.
    let found = read(&Profile::default());
    assert_eq!((found.stacks.len(), found.types.len()), (0, 1));
}

#[test]
fn speedscope_has_a_profile_for_each_service() {
    let profile = Profile::new(folded(FOLDED.as_bytes()).unwrap(), 0, 0);
    let mut bytes = Vec::new();
    speedscope(&profile, &mut bytes).unwrap();
    let file: Json = serde_json::from_slice(&bytes).unwrap();
    let frame = |number: &Json| {
        let number = usize::try_from(number.as_u64().unwrap()).unwrap();
        file["shared"]["frames"][number]["name"].as_str().unwrap().to_owned()
    };
    let mut found = Stacks::new();
    let mut before = u64::MAX;
    for one in file["profiles"].as_array().unwrap() {
        assert_eq!((&one["type"], &one["unit"]), (&"sampled".into(), &"nanoseconds".into()));
        let (samples, weights) =
            (one["samples"].as_array().unwrap(), one["weights"].as_array().unwrap());
        assert_eq!(samples.len(), weights.len());
        let sum: u64 = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
        assert_eq!(one["endValue"].as_u64(), Some(sum));
        assert!(sum <= before, "those with most time first");
        before = sum;
        let stacks = samples.iter().zip(weights).map(|(sample, weight)| {
            (sample.as_array().unwrap().iter().map(frame).collect(), weight.as_u64().unwrap())
        });
        found.insert(one["name"].as_str().unwrap().to_owned(), stacks.collect());
    }
    assert_eq!(found, said(FOLDED));
}
