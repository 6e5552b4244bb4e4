//! The tracers' two layouts, in both byte orders, and similar ones.

use super::*;
use crate::Trace;
use crate::oracle::{by_plan, by_types};

struct Variety {
    order: &'static str,
    id: &'static str,
    short: &'static str,
    long: &'static str,
    align: u32,
    ranges: (u32, u32),
}

const LARGE: Variety = Variety {
    order: "le",
    id: "size = 16; align = 8;",
    short: "size = 32; align = 8;",
    long: "size = 64; align = 8;",
    align: 8,
    ranges: (65534, 65535),
};

const COMPACT: Variety = Variety {
    id: "size = 5; align = 1;",
    short: "size = 27; align = 1;",
    ranges: (30, 31),
    ..LARGE
};

fn trace(v: &Variety) -> Trace {
    let text = format!(
        "trace {{ major = 1; minor = 8; byte_order = {}; }};
         clock {{ name = c; }};
         stream {{ id = 0; event.header := struct {{
             enum : integer {{ {} }} {{ short = 0 ... {}, long = {} }} id;
             variant <id> {{
                 struct {{ integer {{ {} map = clock.c.value; }} timestamp; }} short;
                 struct {{ integer {{ size = 32; align = 8; }} id; integer {{ {} map = clock.c.value; }} timestamp; }} long;
             }} v;
         }} align({}); }};
         event {{ name = a; id = 0; fields := struct {{ integer {{ size = 8; }} x; }}; }};
         event {{ name = b; id = 7; fields := struct {{ integer {{ size = 3; }} x; }}; }};
         event {{ name = c; id = 70000; fields := struct {{ string s; }}; }};",
        v.order, v.id, v.ranges.0, v.ranges.1, v.short, v.long, v.align
    );
    let mut trace = Trace::new();
    trace.metadata(text.as_bytes()).unwrap();
    trace
}

/// Writes fields bit by bit in the byte order.
struct Writer {
    bits: Vec<bool>,
    big: bool,
}

impl Writer {
    fn put(&mut self, value: u64, count: usize, align: usize) {
        while !self.bits.len().is_multiple_of(align) {
            self.bits.push(false);
        }
        let bit = |n: usize| value >> n & 1 == 1;
        if self.big {
            self.bits.extend((0..count).rev().map(bit));
        } else {
            self.bits.extend((0..count).map(bit));
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| {
            bits.iter()
                .enumerate()
                .fold(0, |b, (n, bit)| b | u8::from(*bit) << if self.big { 7 - n } else { n })
        };
        self.bits.chunks(8).map(byte).collect()
    }
}

/// Number inside an attribute list: `size = 16;`
fn attribute(text: &str, key: &str) -> usize {
    let rest = &text[text.find(key).unwrap() + key.len() + 3..];
    rest[..rest.find(';').unwrap()].parse().unwrap()
}

fn packet(v: &Variety) -> Vec<u8> {
    let mut w = Writer { bits: Vec::new(), big: v.order == "be" };
    let events = [
        (0, false, 100),
        (7, false, 50),
        (0, true, 1 << 40),
        (70000, true, 1 << 41),
        (7, true, 3),
        (7, false, 2),
    ];
    for (id, long, clock) in events {
        let at = |text| (attribute(text, "size"), attribute(text, "align"));
        let (id_bits, id_align) = at(v.id);
        w.put(
            if long { v.ranges.1.into() } else { id },
            id_bits,
            usize::try_from(v.align).unwrap().max(id_align),
        );
        if long {
            // The enclosing structure is aligned like its members.
            let (bits, align) = at(v.long);
            w.put(id, 32, align.max(8));
            w.put(clock, bits, align);
        } else {
            let (bits, align) = at(v.short);
            w.put(clock, bits, align);
        }
        match id {
            0 => w.put(0xa5, 8, 8),
            7 => w.put(5, 3, 1),
            _ => [b'h', b'i', 0].into_iter().for_each(|b| w.put(b.into(), 8, 8)),
        }
    }
    w.bytes()
}

fn layout(v: &Variety) -> Layout {
    trace(v).streams()[0].layout
}

#[test]
fn what_is_recognised() {
    assert_eq!(layout(&LARGE), Layout::Large(ByteOrder::Little));
    assert_eq!(layout(&COMPACT), Layout::Compact(ByteOrder::Little));
    assert_eq!(layout(&Variety { order: "be", ..LARGE }), Layout::Large(ByteOrder::Big));
    assert_eq!(layout(&Variety { order: "be", ..COMPACT }), Layout::Compact(ByteOrder::Big));
}

/// Headers that almost have one of the two layouts must be decoded by their plan.
const NEARLY: [Variety; 9] = [
    Variety { align: 16, ..LARGE },
    Variety { align: 32, ..COMPACT },
    Variety { long: "size = 64; align = 64;", ..LARGE },
    Variety { long: "size = 64; align = 16;", ..COMPACT },
    Variety { short: "size = 32; align = 16;", ..LARGE },
    Variety { short: "size = 27; align = 8;", ..COMPACT },
    Variety { ranges: (65533, 65535), ..LARGE },
    Variety { id: "size = 16; align = 8; byte_order = be;", ..LARGE },
    Variety { long: "size = 64; align = 8; byte_order = be;", ..COMPACT },
];

#[test]
fn what_is_not() {
    for v in &NEARLY {
        assert_eq!(
            layout(v),
            Layout::General,
            "{} {} {} {} {:?}",
            v.id,
            v.short,
            v.long,
            v.align,
            v.ranges
        );
    }
}

#[test]
fn both_ways_tell_the_same() {
    for v in [LARGE, COMPACT, Variety { order: "be", ..LARGE }, Variety { order: "be", ..COMPACT }]
    {
        let (trace, packet) = (trace(&v), packet(&v));
        let slowly = by_types(trace.schema(), &packet);
        let clocks: Vec<u64> = slowly.events.iter().map(|e| e.1).collect();
        let wrapped = if v.ranges.0 == 30 { 1 << 27 } else { 1 << 32 };
        // 50 comes after 100, so the short clock has wrapped; the last one continues from 3.
        assert_eq!(
            clocks,
            [100, wrapped + 50, 1 << 40, 1 << 41, 3, wrapped + 2],
            "{} {}",
            v.order,
            v.id
        );
        assert_eq!(slowly.events.iter().map(|e| e.0).collect::<Vec<_>>(), [0, 1, 0, 2, 1, 1]);
        for cut in 0..=packet.len() {
            let expected = by_types(trace.schema(), &packet[..cut]);
            for at_once in [true, false] {
                assert_eq!(
                    by_plan(&trace, &packet[..cut], at_once),
                    expected,
                    "{} {} cut at {cut}",
                    v.order,
                    v.id
                );
            }
        }
    }
    for v in &NEARLY[..6] {
        let (trace, packet) = (trace(v), packet(v));
        let slowly = by_types(trace.schema(), &packet);
        assert_eq!(slowly.events.len(), 6, "{} {} {} {}", v.id, v.short, v.long, v.align);
        assert_eq!(by_plan(&trace, &packet, true), slowly);
    }
}
