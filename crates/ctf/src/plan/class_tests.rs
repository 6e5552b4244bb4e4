//! Classes that are lists of steps, against the decoder of the field classes.

use crate::Trace;
use crate::oracle::{by_plan, by_plan_skipped, by_types};

const U8: &str = "integer { size = 8; align = 8; }";
const BITS: &str =
    "integer { size = 3; align = 1; } a; integer { size = 5; align = 1; signed = true; } b;
    integer { size = 11; align = 1; } c; integer { size = 13; align = 1; signed = true; } d;
    integer { size = 31; align = 1; } e; integer { size = 1; align = 1; } f;
    integer { size = 64; align = 1; signed = true; } g;";

fn trace(order: &str, fields: &str) -> Trace {
    let metadata = format!(
        "/* CTF 1.8 */ trace {{ major = 1; minor = 8; byte_order = {order}; }}; clock {{ name = c; }};
        stream {{ event.header := struct {{ enum : integer {{ size = 16; align = 8; }} {{ compact = 0 ... 65534, extended = 65535 }} id;
          variant <id> {{ struct {{ integer {{ size = 32; align = 8; map = clock.c.value; }} timestamp; }} compact;
            struct {{ integer {{ size = 32; align = 8; }} id; integer {{ size = 64; align = 8; map = clock.c.value; }} timestamp; }} extended; }} v; }} align(8); }};
        event {{ name = e; id = 0; fields := struct {{ {fields} }}; }};"
    );
    Trace::from_metadata(metadata.as_bytes()).unwrap()
}

/// Events of any bytes, then of small numbers, and each packet cut anywhere.
fn agree(trace: &Trace, seed: u8, size: usize) {
    let mut random = u32::from(seed) + 1;
    let mut body = |small: bool| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let byte = (random >> 24).to_le_bytes()[0];
        if small { byte & 0x83 } else { byte }
    };
    let events = (0..6_u8).flat_map(|n| {
        let fields: Vec<u8> = (0..size).map(|_| body(n % 2 == 0)).collect();
        [vec![0, 0, n, 0, 0, 0], fields].concat()
    });
    let packet: Vec<u8> = events.collect();
    for end in 0..=packet.len() {
        let bytes = packet.get(..end).unwrap();
        let mut slowly = by_types(trace.schema(), bytes);
        for at_once in [true, false] {
            assert_eq!(by_plan(trace, bytes, at_once), slowly, "{bytes:x?}");
        }
        slowly.events.iter_mut().for_each(|(.., calls)| calls.clear());
        assert_eq!(by_plan_skipped(trace, bytes), slowly, "{bytes:x?}");
    }
}

fn steps(order: &str, fields: &str) -> bool {
    let trace = trace(order, fields);
    (0..20).for_each(|seed| agree(&trace, seed, usize::from(seed)));
    trace.streams()[0].events()[0].code.steps.is_some()
}

#[test]
fn what_is_a_list_of_steps() {
    let tag = format!("enum : {U8} {{ A = 0, B = 1, C = 2 ... 3, D = 200 ... 255 }} tag;");
    let classes = [
        BITS.to_owned(),
        // Nine bytes have this one, and the class ends within a byte.
        "integer { size = 3; align = 1; } a; integer { size = 63; align = 1; } b;".to_owned(),
        "integer { size = 3; align = 1; } a; integer { size = 62; align = 1; signed = true; } b; string s;".to_owned(),
        format!("struct {{ {BITS} }} in; {U8} z;"),
        format!("struct {{ {U8} x; {U8} y; }} pts[3]; struct {{ struct {{ {U8} q; string s; }} in; }} out;"),
        format!("struct {{ {U8} x; struct {{ {U8} y; {U8} z; }} in[2]; }} many[40];"),
        format!("{U8} n; struct {{ {U8} x; string s; }} list[n]; {U8} z;"),
        format!("{U8} n; struct {{ {U8} m; {U8} bytes[m]; string texts[n]; }} lists[n]; {U8} z[n];"),
        format!("{tag} variant <tag> {{ {U8} A; string B; struct {{ {U8} l; {U8} m; }} C; {U8} D[2]; }} v; {U8} z;"),
        format!("{tag} {U8} n; variant <tag> {{ {U8} A[n]; string B; variant <tag> {{ {U8} A; {U8} C; }} C; }} v; {U8} z[n];"),
        "integer { size = 3; align = 1; } flags[9]; integer { size = 5; align = 1; } a;".to_owned(),
    ];
    for order in ["le", "be"] {
        for fields in &classes {
            assert!(steps(order, fields), "{fields}");
        }
    }
}

#[test]
fn what_is_none() {
    for fields in [
        // Positions that depend on the packet.
        "integer { size = 8; align = 16; } a; integer { size = 8; align = 8; } b;",
        "integer { size = 3; align = 1; } n; integer { size = 3; align = 1; } a[n];",
        // An option that ends within a byte.
        "enum : integer { size = 3; align = 1; } { A = 0, B = 1 } t; variant <t> { integer { size = 5; align = 1; } A; integer { size = 4; align = 1; } B; } v;",
        // Two byte orders within a byte, and elements without bits.
        "integer { size = 3; align = 1; byte_order = le; } a; integer { size = 5; align = 1; byte_order = be; } b;",
        "integer { size = 8; align = 8; } n; struct { } a[n];",
    ] {
        assert!(!steps("le", fields), "{fields}");
    }
}

/// Arrays are written out only as far as the estimate of memory for their fields allows.
#[test]
fn no_class_has_too_many() {
    let trace = trace(
        "le",
        &format!("struct {{ struct {{ {U8} x; }} a[16]; struct {{ {U8} x; }} b[60000]; }} c[16];"),
    );
    let nodes = trace.streams()[0].events()[0].nodes().len();
    let steps = trace.streams()[0].events()[0].code.steps.as_ref().unwrap().count();
    assert!(steps * 16 <= nodes * 384, "{steps} steps of {nodes} nodes");
}
