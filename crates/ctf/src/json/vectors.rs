//! Member classes of CTF 2 with the bytes and values of yactfr's tests (pass-fl-sint-64-le-rev,
//! -8-le-rev, pass-fl-bit-map-rev, pass-rel-data-loc-5), which babeltrace 2.1 decodes alike.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use serde_json::{Value, json};

use crate::show::TextFormatter;
use crate::{Packet, Trace};

/// The lines of all events of a packet whose only class has these members.
#[expect(clippy::needless_pass_by_value, reason = "made by a macro in place")]
fn lines(members: Value, packet: &[u8]) -> Vec<String> {
    let text = [
        json!({"type": "preamble", "version": 2}),
        json!({"type": "trace-class"}),
        json!({"type": "data-stream-class"}),
        json!({"type": "event-record-class", "name": "test",
               "payload-field-class": {"type": "structure", "member-classes": members}}),
    ];
    let text: String = text.iter().map(|fragment| format!("\x1e{fragment}")).collect();
    let mut trace = Trace::new();
    trace.metadata(text.as_bytes()).unwrap();
    let mut packet = Packet::open(&trace, packet, 0).unwrap();
    let mut lines = Vec::new();
    while let Some(event) = packet.peek().unwrap() {
        let mut text = TextFormatter::default();
        text.begin(event.class.nodes(), event.class.scopes(), false);
        packet.visit(&mut text).unwrap();
        text.end();
        lines.push(text.line);
    }
    lines
}

fn fixed(kind: &str, length: u32, bytes: &str, bits: &str) -> Value {
    json!({"type": format!("fixed-length-{kind}"), "length": length, "byte-order": bytes, "bit-order": bits})
}

#[test]
fn a_bit_order_against_the_byte_order_turns_the_value_around() {
    let of = |kind, length, bytes, bits, packet: &[u8]| {
        lines(json!([{"name": "v", "field-class": fixed(kind, length, bytes, bits)}]), packet)
    };
    let packet = 0x8877_6655_4433_2211_u64.to_be_bytes();
    let (le, be, custom, against) =
        ("little-endian", "big-endian", "first-to-last", "last-to-first");
    assert_eq!(of("signed-integer", 64, le, custom, &packet), ["{ v = 1234605616436508552 }"]);
    assert_eq!(of("signed-integer", 64, le, against, &packet), ["{ v = 1292083024016196744 }"]);
    let bytes = [0b1001_1110, 0b1000_0000, 0b0011_0011];
    assert_eq!(
        of("signed-integer", 8, le, against, &bytes),
        ["{ v = 121 }", "{ v = 1 }", "{ v = -52 }"]
    );
    let maps = [0b1101_0101, 0b1001_0111, 0b1000_0000, 0b0000_1000];
    let shown = |values: [u64; 2]| values.map(|v| format!("{{ v = 0x{v:X} }}"));
    assert_eq!(of("bit-map", 16, be, custom, &maps), shown([59819, 4097]));
    assert_eq!(of("bit-map", 16, be, against, &maps), shown([0xd597, 0x8008]));
    // Also at bit offsets within bytes: 3, 13 and 8 bits.
    let members = json!([
        {"name": "a", "field-class": fixed("unsigned-integer", 3, le, against)},
        {"name": "b", "field-class": fixed("unsigned-integer", 13, le, against)},
        {"name": "c", "field-class": fixed("unsigned-integer", 8, le, custom)},
    ]);
    assert_eq!(lines(members, &[0b0000_1001, 0b0000_0000, 7]), ["{ a = 4, b = 4096, c = 7 }"]);
}

#[test]
fn null_leads_up_from_where_a_path_is() {
    let members = |path: Value| {
        json!([
            {"name": "une autre", "field-class": {"type": "structure", "member-classes": [
                {"name": "len", "field-class": fixed("unsigned-integer", 8, "big-endian", "last-to-first")}]}},
            {"name": "la struct", "field-class": {"type": "structure", "member-classes": [
                {"name": "str", "field-class": {"type": "dynamic-length-string", "length-field-location": {"path": path}}}]}},
        ])
    };
    let packet = b"\x08meow mix";
    let expected = ["{ une autre = { len = 8 }, la struct = { str = \"meow mix\" } }"];
    assert_eq!(lines(members(json!([null, "une autre", "len"])), packet), expected);
    assert_eq!(
        lines(members(json!(["yes", null, "🤔", null, null, "une autre", "len"])), packet),
        expected
    );
    assert_eq!(lines(members(json!([null, "une autre", "x", null, "len"])), packet), expected);
}
