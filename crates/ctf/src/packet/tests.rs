//! Packets byte for byte: references between scopes, sizes, errors.

use std::sync::Arc;

use super::*;
use crate::Kind;
use crate::oracle::{Call, by_plan, by_types};
use crate::{DiscardTracker, Discarded};

fn trace(order: &str, text: &str) -> Trace {
    let text = format!(
        "trace {{ major = 1; minor = 8; byte_order = {order}; }};
         typealias integer {{ size = 8; }} := u8; typealias integer {{ size = 16; }} := u16;
         typealias integer {{ size = 32; }} := u32; typealias integer {{ size = 16; signed = true; }} := i16;
         {text}"
    );
    let mut trace = Trace::new();
    trace.metadata(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    assert!(!trace.unfinished());
    trace
}

/// Decodes events of one class with these fields, with both decoders.
fn decode(order: &str, fields: &str, packet: &[u8]) -> Vec<Vec<Call>> {
    let trace = trace(order, &format!("event {{ name = e; fields := struct {{ {fields} }}; }};"));
    let decoded = by_plan(&trace, packet, true);
    assert_eq!(decoded, by_types(trace.schema(), packet));
    assert!(
        decoded.sound,
        "{:?}",
        Packet::open(&trace, packet, 0).and_then(|mut p| p.peek().map(|_| ()).and(p.skip()))
    );
    decoded.events.into_iter().map(|(_, _, calls)| calls).collect()
}

use Call::{Close, Float, Open, Signed, Text, Unsigned};

fn text(node: u32, text: &str) -> Call {
    Text(node, text.as_bytes().to_vec())
}

/// The vectors of babeltrace's tests/data/plugins/src.ctf.fs/field/ctf-1.
#[test]
fn field_vectors() {
    let number = 3_187_239_923_u32;
    assert_eq!(decode("be", "u32 x;", &number.to_be_bytes()), [[Unsigned(1, number.into())]]);
    assert_eq!(decode("le", "u32 x;", &number.to_le_bytes()), [[Unsigned(1, number.into())]]);

    let strings = ["salut", "patente", "Quebec", "chez nous", "aidez-moi", "rasseye"];
    let bytes: Vec<u8> =
        (1..).zip(strings).flat_map(|(n, s)| [&[n], s.as_bytes(), &[0]].concat()).collect();
    let event = |n: usize| {
        let element = |k: usize| {
            let number = (3 * n + k + 1) as u64;
            [Open(2, 2), Unsigned(3, number), text(4, strings[3 * n + k]), Close(2)]
        };
        [vec![Open(1, 3)], (0..3).flat_map(element).collect(), vec![Close(1)]].concat()
    };
    assert_eq!(decode("be", "struct { u8 a; string b; } x[3];", &bytes), [event(0), event(1)]);

    assert_eq!(
        decode("be", "u8 a; struct { } b; u8 c;", &[1, 2]),
        [[Unsigned(1, 1), Open(2, 0), Close(2), Unsigned(3, 2)]]
    );

    let fields = "i16 meow; string mix; floating_point { exp_dig = 8; mant_dig = 24; } cat;";
    let bytes =
        [&(-1717_i16).to_be_bytes()[..], b"rapidement!\0", &2.897_772_f32.to_be_bytes()].concat();
    let cat = f64::from(2.897_772_f32).to_bits();
    assert_eq!(
        decode("be", fields, &bytes),
        [[Signed(1, -1717), text(2, "rapidement!"), Float(3, cat)]]
    );

    let fields = "enum : u8 { MEOW, MIX, } tag; variant <tag> { u16 MEOW; string MIX; } var;";
    let bytes = [&[0, 7, 203, 1][..], b"hello there!\0"].concat();
    assert_eq!(
        decode("be", fields, &bytes),
        [
            vec![Unsigned(1, 0), Open(2, 0), Unsigned(3, 1995), Close(2)],
            vec![Unsigned(1, 1), Open(2, 1), text(4, "hello there!"), Close(2)]
        ]
    );
}

/// The example of CTF 1.8, 4.1.5: fields of 5, 3 and 24 bits, then of a word across bytes.
#[test]
fn bitfields_in_both_orders() {
    let fields = "integer { size = 5; } a; integer { size = 3; signed = true; } b; integer { size = 12; align = 1; } c;
                  integer { size = 4; } d;";
    assert_eq!(
        decode("le", fields, &[0b1010_0011, 0xbc, 0xfa]),
        [[Unsigned(1, 3), Signed(2, -3), Unsigned(3, 0xabc), Unsigned(4, 0xf)]]
    );
    assert_eq!(
        decode("be", fields, &[0b0001_1101, 0xab, 0xcf]),
        [[Unsigned(1, 3), Signed(2, -3), Unsigned(3, 0xabc), Unsigned(4, 0xf)]]
    );
}

/// A context that begins within a byte and ends in the other byte order can still be reported after
/// it was decoded.
#[test]
fn a_context_is_told_in_the_order_it_was_read() {
    let trace = trace(
        "le; packet.header := struct { integer { size = 4; } h; }",
        "stream { packet.context := struct { integer { size = 4; } a; integer { size = 4; byte_order = be; } b; }; };
         event { name = e; fields := struct { u8 x; }; };",
    );
    let decoded = by_plan(&trace, &[0x21, 0x30, 5], true);
    assert_eq!(decoded.context, [Unsigned(1, 2), Unsigned(2, 3)]);
    assert_eq!(decoded, by_types(trace.schema(), &[0x21, 0x30, 5]));
}

#[test]
fn neighbours_of_two_orders_do_not_share_a_byte() {
    let fields =
        "integer { size = 4; byte_order = le; } a; integer { size = 4; byte_order = be; } b;";
    let trace = trace("le", &format!("event {{ name = e; fields := struct {{ {fields} }}; }};"));
    let mut packet = Packet::open(&trace, &[0x21], 0).unwrap();
    packet.peek().unwrap();
    let e = packet.skip().unwrap_err();
    assert_eq!((e.bit, &*e.field, e.violation), (4, "event.fields.b", Violation::MixedOrder));
    // At byte boundaries the byte order may change.
    let fields = "integer { size = 4; byte_order = le; } a; integer { size = 4; align = 8; byte_order = be; } b;
                  integer { size = 4; byte_order = be; } c;";
    assert_eq!(
        decode("le", fields, &[0xf1, 0x2e]),
        [[Unsigned(1, 1), Unsigned(2, 2), Unsigned(3, 14)]]
    );
}

#[test]
fn alignment_counts_from_the_packet() {
    let fields = "u8 a; integer { size = 8; align = 32; } b; u8 c[0]; integer { size = 8; align = 16; } d[0]; u8 e;";
    let bytes = [1, 0, 0, 0, 2, 0, 3, 9, 4, 0, 0, 0, 5, 0, 6];
    // The second event starts after the first, and its structure is aligned to 32 bits.
    let event = |a, b, e| {
        vec![
            Unsigned(1, a),
            Unsigned(2, b),
            Open(3, 0),
            Close(3),
            Open(5, 0),
            Close(5),
            Unsigned(7, e),
        ]
    };
    assert_eq!(decode("le", fields, &bytes), [event(1, 2, 3), event(4, 5, 6)]);
}

/// Lengths and selectors in every other scope.
#[test]
fn scopes_look_at_earlier_ones() {
    let text = "
        env { n = 2; };
        trace_header
        stream {
          packet.context := struct { u8 pn; struct { u8 deep; } in; u8 ctx[trace.packet.header.hn]; };
          event.header := struct { u8 id; enum : u8 { A, B } kind; };
          event.context := struct { u8 cn; u8 x[stream.packet.context.in.deep]; };
        };
        event { id = 0; name = e; stream_id = 0;
          context := struct { variant <stream.event.header.kind> { u8 A; u16 B; } v; };
          fields := struct { u8 a[stream.packet.context.pn]; u8 b[cn]; u8 c[env.n]; u8 d[pn]; };
        };";
    let header = "typealias integer { size = 8; } := h8;
        trace { major = 1; minor = 8; byte_order = le; packet.header := struct { h8 hn; }; };
        typealias integer { size = 8; } := u8; typealias integer { size = 16; } := u16;";
    let mut trace = Trace::new();
    trace.metadata(format!("{header}{}", text.replace("trace_header", "")).as_bytes()).unwrap();
    let packet = [
        &[2, 1, 2, 7, 8][..], // header: hn; context: pn, in.deep, ctx[2]
        &[0, 1, 3, 5, 6, 0x34, 0x12, 10, 20, 21, 22, 30, 31, 40],
        &[0, 0, 0, 5, 6, 0x77, 10, 30, 31, 40],
    ]
    .concat();
    let decoded = by_plan(&trace, &packet, true);
    assert_eq!(decoded, by_types(trace.schema(), &packet));
    assert!(decoded.sound);
    let values = |calls: &[Call]| -> Vec<u64> {
        calls.iter().filter_map(|c| if let Unsigned(_, v) = c { Some(*v) } else { None }).collect()
    };
    assert_eq!(values(&decoded.context), [1, 2, 7, 8]);
    assert_eq!(values(&decoded.events[0].2), [3, 5, 6, 0x1234, 10, 20, 21, 22, 30, 31, 40]);
    assert_eq!(values(&decoded.events[1].2), [0, 5, 6, 0x77, 10, 30, 31, 40]);
}

const SIZES: &str = "
    stream { packet.context := struct { u8 timestamp_begin; u8 timestamp_end; u8 content_size; u8 packet_size; };
             event.header := struct { u8 id; u8 timestamp; }; };
    event { id = 1; name = one; fields := struct { u8 len; u8 seq[len]; }; };
    event { id = 2; name = two; fields := struct { u8 len; u8 seq[len]; }; };";

/// babeltrace's tests/data/ctf-traces/live/stored-values: lengths of two classes in one stream;
/// clocks without `map`.
#[test]
fn stored_values() {
    let trace = trace("le", SIZES);
    let packet = |begin: u8, id: u8| [begin, begin + 1, 56, 56, id, begin, 0];
    for (begin, id, index) in [(10, 1, 0), (20, 2, 1)] {
        let decoded = by_plan(&trace, &packet(begin, id), true);
        assert_eq!(
            decoded.events,
            [(index, begin.into(), vec![Unsigned(1, 0), Open(2, 0), Close(2)])]
        );
    }
    let packet = Packet::open(&trace, &[10, 11, 56, 56, 1, 10, 0], 0).unwrap();
    assert_eq!((packet.info().begin, packet.info().end), (Some(10), Some(11)));
    assert_eq!(trace.schema().clocks.len(), 1, "the clock that nobody declared");
    // The clock continues from packet to packet: 10 after 250 is 266.
    let packet = Packet::open(&trace, &[10, 11, 32, 32], 250).unwrap();
    assert_eq!((packet.info().begin, packet.info().end), (Some(266), Some(267)));
}

#[test]
fn sizes_that_cannot_be() {
    let trace = trace("le", SIZES);
    let open = |content: u8, packet: u8, length: usize| {
        let bytes = [&[10, 11, content, packet][..], &[0; 20]].concat();
        Packet::open(&trace, &bytes[..length], 0).map(|p| p.info().clone()).map_err(|e| e.violation)
    };
    assert_eq!(open(40, 32, 24), Err(Violation::Size { got: 40, max: 32 }), "content above packet");
    assert_eq!(
        open(24, 32, 24),
        Err(Violation::Size { got: 24, max: 32 }),
        "content that ends within the context"
    );
    assert_eq!(
        open(48, 48, 5),
        Err(Violation::Size { got: 48, max: 40 }),
        "content that is not here"
    );
    assert_eq!(open(33, 36, 24), Err(Violation::NotBytes(36)));
    assert!(open(48, 200, 6).is_ok(), "padding need not be here");
    assert!(matches!(open(48, 48, 3), Err(Violation::Short { need: 8, left: 0 })));
}

#[test]
fn content_may_end_at_any_bit() {
    let text = "stream { packet.context := struct { u8 content_size; u8 packet_size; };
                  event.header := struct { enum : integer { size = 5; align = 8; } { s = 0 ... 30, l = 31 } id;
                    variant <id> { struct { integer { size = 27; } timestamp; } s;
                      struct { u32 id; integer { size = 64; } timestamp; } l; } v; } align(8); };
                event { id = 3; name = e; fields := struct { integer { size = 3; } x; }; };";
    let trace = trace("le", text);
    let event = |clock: u32| (clock << 5 | 3).to_le_bytes();
    let bytes = |content: u8| [&[content, 96][..], &event(1), &[5], &event(2), &[6]].concat();
    // The first event ends at bit 51, the second at 91, and between them is padding to the byte.
    for content in 16..=96 {
        let packet = bytes(content);
        let decoded = by_plan(&trace, &packet, true);
        assert_eq!(decoded, by_types(trace.schema(), &packet), "{content}");
        let events = usize::from(content >= 51) + usize::from(content >= 91);
        assert_eq!(
            (decoded.events.len(), decoded.sound),
            (events, [16, 51, 91].contains(&content)),
            "{content}"
        );
    }
}

#[test]
fn faults_name_bit_and_field() {
    let fault = |fields: &str, bytes: &[u8]| {
        let trace =
            trace("le", &format!("event {{ name = e; fields := struct {{ {fields} }}; }};"));
        let mut packet = Packet::open(&trace, bytes, 0).unwrap();
        packet.peek().unwrap();
        let e = packet.skip().unwrap_err();
        assert!(matches!(packet.peek(), Ok(None)), "the rest of the packet is given up");
        (e.bit, e.field.to_string(), e.violation)
    };
    let short = |need, left| Violation::Short { need, left };
    assert_eq!(
        fault("u8 a; u32 b; u8 c;", &[1, 2, 3]),
        (8, "event.fields.b".into(), short(32, 16))
    );
    assert_eq!(
        fault("u8 a; struct { u8 b; u16 c; } s;", &[1, 2, 3]),
        (16, "event.fields.s.c".into(), short(16, 8))
    );
    assert_eq!(
        fault("u8 n; u16 a[n];", &[3, 1, 2, 3, 4]),
        (8, "event.fields.a".into(), short(48, 32))
    );
    assert_eq!(
        fault("u8 n; struct { string s; } a[n];", &[2, 65, 0, 66]),
        (24, "event.fields.a[].s".into(), Violation::Unterminated)
    );
    assert_eq!(
        fault("u8 n; struct { u32 x; } a[n];", &[2, 1, 2, 3, 4]),
        (8, "event.fields.a".into(), short(64, 32))
    );
    let variant = "enum : u8 { A = 1, B = 2 } t; variant <t> { u8 A; u8 B; } v;";
    assert_eq!(fault(variant, &[3, 0]), (8, "event.fields.v".into(), Violation::Option(3)));
    assert_eq!(fault("string s;", b"abc"), (0, "event.fields.s".into(), Violation::Unterminated));
    let huge = "integer { size = 64; } n; u8 a[n]; struct { u8 x; } b[n];";
    assert_eq!(fault(huge, &[0xff; 9]).2, short(u64::MAX, 8));
}

#[test]
fn nothing_costs_more_than_its_bits() {
    // An array of 2^64 - 1 empty structures.
    let text =
        "event { name = e; fields := struct { integer { size = 64; } n; struct { } a[n]; }; };";
    let all = trace("le", text);
    let mut packet = Packet::open(&all, &[0xff; 8], 0).unwrap();
    packet.peek().unwrap();
    assert_eq!(packet.skip().unwrap_err().violation, Violation::Work);
    // Thousands of empty structures in each of many events.
    let text =
        "event { name = e; fields := struct { u8 n; struct { struct { } x[5000]; } a[n]; }; };";
    let many = trace("le", text);
    let bytes = [4; 10_000];
    let mut packet = Packet::open(&many, &bytes, 0).unwrap();
    let mut events = 0;
    let end = loop {
        match packet.peek() {
            Ok(Some(_)) => match packet.skip() {
                Ok(()) => events += 1,
                Err(e) => break e,
            },
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(end.violation, Violation::Work);
    assert!(events < 200, "{events}");
    // An event of 0 bits is reported only once.
    let none = trace("le", "event { name = e; fields := struct { }; };");
    let mut packet = Packet::open(&none, &[0], 0).unwrap();
    assert!(packet.peek().unwrap().is_some());
    assert_eq!(packet.skip().unwrap_err().violation, Violation::Empty);
    assert!(packet.peek().unwrap().is_none());
}

const HEADERS: &str =
    "typealias integer { size = 8; } := b8; typealias integer { size = 32; } := b32;
    trace { major = 1; minor = 8; byte_order = be; uuid = \"00010203-0405-0607-0809-0a0b0c0d0e0f\";
      packet.header := struct { b32 magic; b8 uuid[16]; b8 stream_id; b8 stream_instance_id; }; };
    stream { id = 1; packet.context := struct { b8 packet_seq_num; b8 events_discarded; }; };
    stream { id = 2; };
    event { stream_id = 1; id = 0; name = a; fields := struct { b8 x; }; };
    event { stream_id = 2; id = 0; name = b; fields := struct { b8 x; }; };
    event { stream_id = 2; id = 1; name = c; fields := struct { b8 x; }; };";

#[test]
fn packet_headers() {
    let mut trace = Trace::new();
    trace.metadata(HEADERS.as_bytes()).unwrap();
    let packet = |magic: u32, first: u8, stream: u8, rest: &[u8]| {
        let uuid: Vec<u8> = (first..first + 16).collect();
        [&magic.to_be_bytes()[..], &uuid, &[stream, 9], rest].concat()
    };
    let open = |bytes: &[u8]| {
        Packet::open(&trace, bytes, 0).map(|p| p.info().clone()).map_err(|e| (e.bit, e.violation))
    };
    let info = open(&packet(0xc1fc_1fc1, 0, 1, &[200, 3, 7])).unwrap();
    assert_eq!((info.stream, info.stream_id, info.foreign), (0, Some(9), false));
    let counter = |value| Some(Counter { value, bits: 8 });
    assert_eq!((info.sequence, info.discarded, info.begin), (counter(200), counter(3), None));
    assert!(open(&packet(0xc1fc_1fc1, 1, 1, &[0, 0])).unwrap().foreign, "another UUID");
    assert_eq!(
        open(&packet(0xc1fc_1fc0, 0, 1, &[0, 0])),
        Err((22 * 8, Violation::Magic(0xc1fc_1fc0)))
    );
    assert_eq!(open(&packet(0xc1fc_1fc1, 0, 3, &[])), Err((22 * 8, Violation::StreamClass(3))));
    assert!(open(&packet(0xc1fc_1fc1, 0, 1, &[0])).is_err(), "the context is cut");
    // The second data stream class has two event record classes and no header to distinguish them.
    let bytes = packet(0xc1fc_1fc1, 0, 2, &[1]);
    let mut packet2 = Packet::open(&trace, &bytes, 0).unwrap();
    assert_eq!(packet2.peek().unwrap_err().violation, Violation::NoClassId);
    // Counters of 8 bits wrap.
    let mut losses = DiscardTracker::default();
    let mut lost = |sequence, discarded| {
        losses.packet(&open(&packet(0xc1fc_1fc1, 0, 1, &[sequence, discarded])).unwrap())
    };
    assert_eq!(lost(254, 250), Discarded { events: 250, packets: 0 });
    assert_eq!(lost(1, 4), Discarded { events: 10, packets: 2 });
}

#[test]
fn classes_come_while_packets_are_read() {
    let header = "stream { event.header := struct { u8 id; }; };";
    let class = |n: u32| {
        format!("event {{ id = {n}; name = e{n}; fields := struct {{ u8 x; u8 y[x]; }}; }};")
    };
    let mut trace = trace("le", &format!("{header}{}", class(0)));
    let packet = [0, 1, 5, 1, 2, 6, 7];
    let before = by_plan(&trace, &packet, true);
    assert_eq!((before.events.len(), before.sound), (1, false));
    let nodes = format!("{:?}", trace.streams()[0].events()[0].nodes());
    trace.metadata(class(1).as_bytes()).unwrap();
    let after = by_plan(&trace, &packet, true);
    assert_eq!((after.events.len(), after.sound), (2, true));
    assert_eq!(before.events[0], after.events[0]);
    assert_eq!(
        nodes,
        format!("{:?}", trace.streams()[0].events()[0].nodes()),
        "numbers of nodes stay"
    );
    // A large class id.
    let mut trace =
        self::trace("le", "stream { event.header := struct { integer { size = 64; } id; }; };");
    let class =
        format!("event {{ id = {}; name = far; fields := struct {{ u8 x; }}; }};", u64::MAX);
    trace.metadata(class.as_bytes()).unwrap();
    let decoded = by_plan(&trace, &[0xff; 9], true);
    assert_eq!((decoded.events.len(), decoded.sound), (1, true));
}

#[test]
fn nodes_say_everything_beforehand() {
    let text = "stream { packet.context := struct { u8 content_size; u8 cpu_id; };
                  event.header := struct { u8 id; u8 timestamp; };
                  event.context := struct { u8 _vpid; }; };
                event { id = 0; name = e; fields := struct { u8 __s_length; u8 _s[__s_length];
                  struct { enum : i16 { A, B = 2 ... 3 } t; variant <t> { string A; struct { } B; } v; } _in[2]; }; };";
    let trace = trace("le", text);
    let stream = &trace.streams()[0];
    let paths = |nodes: &[crate::Node]| -> Vec<(String, Kind, bool)> {
        nodes.iter().map(|n| (n.path.to_string(), n.kind, n.hidden)).collect()
    };
    let node = |path: &str, kind, hidden| (path.to_owned(), kind, hidden);
    let (u8, i16) = (Kind::Unsigned(8), Kind::Signed(16));
    assert_eq!(
        paths(stream.context_nodes()),
        [
            node("", Kind::Structure, false),
            node("content_size", u8, true),
            node("cpu_id", u8, false)
        ]
    );
    let event = &stream.events()[0];
    let utf8 = Kind::String(crate::schema::Encoding::Utf8);
    assert_eq!(
        paths(event.nodes()),
        [
            node("", Kind::Structure, false),
            node("vpid", u8, false),
            node("", Kind::Structure, false),
            node("_s_length", u8, false),
            node("s", Kind::Array(None), false),
            node("s[]", u8, false),
            node("in", Kind::Array(Some(2)), false),
            node("in[]", Kind::Structure, false),
            node("in[].t", i16, false),
            node("in[].v", Kind::Variant, false),
            node("in[].v.A", utf8, false),
            node("in[].v.B", Kind::Structure, false),
        ]
    );
    assert_eq!(
        event.scopes(),
        [(Scope::CommonContext, crate::NodeId::new(0)), (Scope::Payload, crate::NodeId::new(2))]
    );
    let leaves: Vec<Arc<str>> = event.leaves().map(|(_, node)| node.path.clone()).collect();
    assert_eq!(
        leaves.iter().map(|p| &**p).collect::<Vec<_>>(),
        ["vpid", "_s_length", "s[]", "in[].t", "in[].v.A"]
    );
    let mappings = event.nodes()[8].mappings.clone().unwrap();
    assert_eq!((mappings.first(3).map(|l| &**l), mappings.first(1)), (Some("B"), None));
}
