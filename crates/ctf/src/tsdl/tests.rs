//! The grammar, rule by rule, and what breaks it.

use std::sync::Arc;

use crate::ByteOrder;
use crate::schema::{
    DisplayBase, Encoding, EnvValue, FieldClass, FieldClassKind, Integer, IntegerKind, Length,
    LocationOrigin, Role, Schema, Scope, Structure, Variant,
};
use crate::{MetadataError, Trace, limits};

const TRACE: &str = "trace { major = 1; minor = 8; byte_order = le; };\n";

fn read(text: &str) -> Result<Trace, MetadataError> {
    let mut trace = Trace::new();
    trace.metadata(text.as_bytes()).map(|()| trace)
}

fn schema(text: &str) -> Schema {
    let trace = read(&format!("{TRACE}{text}")).unwrap_or_else(|e| panic!("{e} in {text}"));
    assert!(!trace.unfinished(), "{text}");
    trace.schema().clone()
}

/// The fields of the only event of declarations.
fn payload(text: &str) -> Structure {
    let schema = schema(text);
    schema.streams[0].events[0].payload.as_ref().unwrap().structure().unwrap().clone()
}

/// The fields of an event with such members.
fn fields(members: &str) -> Structure {
    payload(&format!("event {{ name = e; fields := struct {{ {members} }}; }};"))
}

fn integer(class: &FieldClass) -> &Integer {
    let FieldClassKind::Integer(integer) = class.kind() else { panic!("{class:?}") };
    integer
}

fn variant(class: &FieldClass) -> &Variant {
    let FieldClassKind::Variant(variant) = class.kind() else { panic!("{class:?}") };
    variant
}

#[test]
fn integers_with_all_attributes() {
    let s = fields(
        "integer { size = 32; } a;
         integer { size = 0x5; signed = TRUE; align = 4; byte_order = be; base = hexadecimal; encoding = UTF8; } _b;
         integer { size = 017; signed = 1; base = oct; byte_order = network; } __c;
         integer { signed = false; size = 64; base = 2; byte_order = native; unknown = \"x\"; } d;",
    );
    let names: Vec<(&str, &str)> = s.members.iter().map(|f| (&*f.raw, &*f.name)).collect();
    assert_eq!(names, [("a", "a"), ("_b", "b"), ("__c", "_c"), ("d", "d")]);
    let i: Vec<&Integer> = s.members.iter().map(|f| integer(&f.class)).collect();
    assert_eq!(*i[0], Integer { align: 8, ..Integer::new(32) });
    let b = Integer {
        align: 4,
        kind: IntegerKind::Signed,
        order: Some(ByteOrder::Big),
        base: DisplayBase::Hexadecimal,
        text: true,
        ..Integer::new(5)
    };
    assert_eq!(*i[1], b);
    let c = Integer {
        align: 1,
        kind: IntegerKind::Signed,
        order: Some(ByteOrder::Big),
        base: DisplayBase::Octal,
        ..Integer::new(15)
    };
    assert_eq!(*i[2], c);
    assert_eq!(*i[3], Integer { base: DisplayBase::Binary, ..Integer::new(64) });
    for (word, base) in [
        ("d", DisplayBase::Decimal),
        ("i", DisplayBase::Decimal),
        ("u", DisplayBase::Decimal),
        ("x", DisplayBase::Hexadecimal),
    ]
    .into_iter()
    .chain([
        ("X", DisplayBase::Hexadecimal),
        ("p", DisplayBase::Hexadecimal),
        ("o", DisplayBase::Octal),
        ("b", DisplayBase::Binary),
    ]) {
        assert_eq!(
            integer(
                &fields(&format!("integer {{ size = 8; base = {word}; }} a;")).members[0].class
            )
            .base,
            base,
            "{word}"
        );
    }
}

#[test]
fn other_simple_types() {
    let s = fields(
        "floating_point { exp_dig = 8; mant_dig = 24; } f;
         floating_point { exp_dig = 11; mant_dig = 53; align = 64; byte_order = be; } d;
         string s; string { encoding = ASCII; } t; string { encoding = none; } u;",
    );
    let FieldClassKind::Float(f) = s.members[0].class.kind() else { panic!() };
    assert_eq!((f.bits, f.align, f.order), (32, 8, None));
    let FieldClassKind::Float(d) = s.members[1].class.kind() else { panic!() };
    assert_eq!((d.bits, d.align, d.order), (64, 64, Some(ByteOrder::Big)));
    assert!(
        s.members[2..]
            .iter()
            .all(|f| *f.class.kind() == FieldClassKind::NullTerminatedString(Encoding::Utf8))
    );
}

#[test]
fn names_of_types() {
    let s = payload(
        "typealias integer { size = 8; } := uint8_t;
         typealias integer { size = 64; } := const unsigned  long long;
         typealias integer { size = 32; base = 16; } := void *;
         typedef uint8_t byte, pair[2];
         typedef unsigned long long word;
         struct inner { uint8_t x; } align(16);
         event { name = e;
           typealias integer { size = 16; } := uint8_t;
           fields := struct {
             uint8_t a; unsigned long long b; void *p; byte c; pair d; word const e; struct inner f;
             typealias integer { size = 4; } := nibble;
             nibble g, h;
             struct { typealias integer { size = 3; } := nibble; nibble i; } j;
             nibble k;
           };
         };",
    );
    let bits = |n: usize| integer(&s.members[n].class).bits;
    assert_eq!(
        (bits(0), bits(1), bits(2), bits(3), bits(5)),
        (16, 64, 32, 8, 64),
        "the nearest scope has the name"
    );
    let FieldClassKind::Array(Length::Static(2), element, _) = s.members[4].class.kind() else {
        panic!()
    };
    assert_eq!(integer(element).bits, 8);
    assert_eq!(s.members[6].class.align(), 16);
    assert_eq!((bits(7), bits(8), bits(10)), (4, 4, 4));
    assert_eq!(integer(&s.members[9].class.structure().unwrap().members[0].class).bits, 3);
}

#[test]
fn arrays_and_texts() {
    let s = fields(
        "integer { size = 8; } n;
         integer { size = 16; } a[3], b[2][4], (c)[5], (d[6])[7];
         integer { size = 8; signed = true; encoding = UTF8; } t[17], u[n], v[2][8];
         integer { size = 8; encoding = UTF8; align = 16; } no_text[4];
         integer { size = 8; } e[event.fields.n], f[0];",
    );
    fn lengths(class: &FieldClass) -> Vec<Length> {
        match class.kind() {
            FieldClassKind::Array(length, element, _) => {
                [vec![length.clone()], lengths(element)].concat()
            }
            FieldClassKind::SizedString(length, Encoding::Utf8) => vec![length.clone()],
            _ => vec![],
        }
    }
    let fixed = |n: usize| {
        lengths(&s.members[n].class)
            .iter()
            .map(|l| if let Length::Static(n) = l { *n } else { u64::MAX })
            .collect::<Vec<_>>()
    };
    let all: Vec<Vec<u64>> = (1..5).map(fixed).collect();
    assert_eq!(all, [vec![3], vec![2, 4], vec![5], vec![6, 7]], "as C has it: d is 6 of 7");
    assert!(matches!(
        s.members[5].class.kind(),
        FieldClassKind::SizedString(Length::Static(17), _)
    ));
    let FieldClassKind::SizedString(Length::Dynamic(path), _) = s.members[6].class.kind() else {
        panic!()
    };
    assert_eq!(
        (path.origin, path.names.as_slice()),
        (LocationOrigin::Nearest, &[Arc::from("n")][..])
    );
    assert!(
        matches!(s.members[7].class.kind(), FieldClassKind::Array(Length::Static(2), element, _) if matches!(element.kind(), FieldClassKind::SizedString(..)))
    );
    assert!(
        matches!(s.members[8].class.kind(), FieldClassKind::Array(..)),
        "only bytes at bytes are text"
    );
    let FieldClassKind::Array(Length::Dynamic(path), ..) = s.members[9].class.kind() else {
        panic!()
    };
    assert_eq!((path.origin, path.names.len()), (LocationOrigin::Scope(Scope::Payload), 1));
    assert_eq!(fixed(10), [0]);
}

#[test]
fn enumerations() {
    let s = payload(
        "typealias integer { size = 8; signed = true; } := int;
         enum named { A, B = 5, C, };
         event { name = e; fields := struct {
           enum named a;
           enum : integer { size = 16; } { \"two words\" = 1 ... 3, D = - 1, clock = 7, E, D = 20 ... 21 } b;
           enum inline_named : int { Z = -128 ... -1, ZERO } c;
           enum inline_named d;
         }; };",
    );
    let mappings = |n: usize| {
        let mappings = integer(&s.members[n].class).mappings.clone().unwrap();
        mappings.all().iter().map(|l| (l.name.to_string(), l.ranges.clone())).collect::<Vec<_>>()
    };
    let mapping = |name: &str, ranges: &[(i128, i128)]| (name.to_owned(), ranges.to_vec());
    assert_eq!(
        mappings(0),
        [mapping("A", &[(0, 0)]), mapping("B", &[(5, 5)]), mapping("C", &[(6, 6)])]
    );
    assert_eq!(
        mappings(1),
        [
            mapping("two words", &[(1, 3)]),
            mapping("D", &[(-1, -1), (20, 21)]),
            mapping("clock", &[(7, 7)]),
            mapping("E", &[(8, 8)])
        ]
    );
    assert_eq!(
        (mappings(2), mappings(3)),
        (mappings(3), vec![mapping("Z", &[(-128, -1)]), mapping("ZERO", &[(0, 0)])])
    );
    assert_eq!((integer(&s.members[1].class).bits, integer(&s.members[2].class).bits), (16, 8));
}

#[test]
fn variants() {
    let s = payload(
        "variant choice { string A; integer { size = 8; } B; };
         event { name = e; fields := struct {
           enum : integer { size = 8; } { A, B } t;
           variant choice <t> a;
           variant <event.fields.t> { string A; string B; } b;
           variant named <t> { string A; struct { } B; } c;
           variant named <t> d[2];
         }; };",
    );
    let names = |n: usize| {
        variant(&s.members[n].class).options.iter().map(|f| f.raw.to_string()).collect::<Vec<_>>()
    };
    assert_eq!((names(1), names(2), names(3)), (vec!["A".into(), "B".into()], names(1), names(1)));
    assert_eq!(variant(&s.members[1].class).selector.origin, LocationOrigin::Nearest);
    assert_eq!(variant(&s.members[2].class).selector.origin, LocationOrigin::Scope(Scope::Payload));
    assert!(matches!(s.members[4].class.kind(), FieldClassKind::Array(Length::Static(2), ..)));
}

#[test]
fn blocks() {
    let text = "/* CTF 1.8 */
        env { a = \"x\\\"y\\n\"; b = -5; c = 18446744073709551615; d = word; };
        clock { name = \"m\"; uuid = \"ce5b35c2-bca2-478e-a63e-2b0da14b3f63\"; description = \"d\"; freq = 1000; precision = 2;
                offset_s = -3; offset = 4; absolute = TRUE; };
        callsite { name = f; func = \"x\"; };
        stream { id = 7;
          packet.context := struct { integer { size = 64; map = clock.m.value; } timestamp_begin, timestamp_end;
            integer { size = 32; } content_size, packet_size, packet_seq_num, events_discarded, cpu_id; };
          event.header := struct { integer { size = 8; } id; integer { size = 32; } timestamp; };
          event.context := struct { integer { size = 8; } x; }; };
        event { name = \"p:e\"; id = 3; stream_id = 7; loglevel = 13; model.emf.uri = \"http://x\"; model.emf.uri2 = 1;
          context := struct { string s; }; fields := struct { }; };
        ;";
    let schema = schema(text);
    let env = |key: &str| schema.env(key).cloned();
    assert_eq!(env("a"), Some(EnvValue::Text("x\"y\n".into())));
    assert_eq!(env("b"), Some(EnvValue::Integer(-5)));
    assert_eq!(env("c"), Some(EnvValue::Integer(u64::MAX.into())));
    assert_eq!(env("d"), Some(EnvValue::Text("word".into())));
    let clock = &schema.clocks[0];
    assert_eq!(
        (clock.frequency, clock.precision, clock.offset_seconds, clock.offset_cycles),
        (1000, 2, -3, 4)
    );
    assert_eq!(clock.nanoseconds(1), -3_000_000_000 + 5_000_000);
    let stream = &schema.streams[0];
    let context = stream.packet_context.as_ref().unwrap().structure().unwrap();
    let roles: Vec<Vec<Role>> = context
        .members
        .iter()
        .map(|f| {
            let all = [
                Role::Clock,
                Role::End,
                Role::ContentSize,
                Role::PacketSize,
                Role::Sequence,
                Role::Discarded,
            ];
            all.into_iter().filter(|r| integer(&f.class).roles.has(*r)).collect()
        })
        .collect();
    let one = |role| vec![role];
    assert_eq!(
        roles,
        [
            one(Role::Clock),
            one(Role::End),
            one(Role::ContentSize),
            one(Role::PacketSize),
            one(Role::Sequence),
            one(Role::Discarded),
            vec![]
        ]
    );
    let header = stream.event_header.as_ref().unwrap().structure().unwrap();
    assert!(integer(&header.members[0].class).roles.has(Role::EventClass));
    assert!(
        integer(&header.members[1].class).roles.has(Role::Clock),
        "a time stamp without map takes the only clock"
    );
    let event = &stream.events[0];
    assert_eq!((event.id, &*event.name, event.log_level), (3, "p:e", Some(13)));
    assert_eq!(event.emf_uri.as_deref(), Some("http://x"));
    assert!(event.context.is_some() && event.payload.is_some());
}

#[test]
fn declarations_in_any_order() {
    let event = "event { id = 0; stream_id = 3; name = e; fields := struct { integer { size = 8; } a; }; };";
    let stream = "stream { id = 3; event.header := struct { integer { size = 8; } id; }; };";
    for order in [
        [TRACE, stream, event],
        [TRACE, event, stream],
        [event, stream, TRACE],
        [stream, event, TRACE],
    ] {
        let trace = read(&order.concat()).unwrap();
        assert!(!trace.unfinished());
        let plan = &trace.streams()[0];
        assert_eq!((plan.id, plan.events().len()), (3, 1), "{order:?}");
        assert_eq!(plan.event(0).unwrap().nodes().len(), 2);
    }
    assert!(read(&[TRACE, event].concat()).unwrap().unfinished(), "the stream may still come");
    assert!(read(&[stream, event].concat()).unwrap().unfinished(), "the byte order may still come");
    for text in
        ["event { name = \"e; };\n\";", "event { name = e; /* };", "event { name = e; }", "  x"]
    {
        assert!(read(&[TRACE, text].concat()).unwrap().unfinished(), "{text}");
    }
    for text in ["", "\n", "/* the end */ ", "// and this\n"] {
        assert!(!read(&[TRACE, text].concat()).unwrap().unfinished(), "{text}");
    }
    // Without a stream class there is one by default, which may be declared later.
    let event = "event { name = e; fields := struct { integer { size = 8; } a; }; };";
    let stream = "stream { event.header := struct { integer { size = 8; } id; }; };";
    assert_eq!(read(&[TRACE, event].concat()).unwrap().streams().len(), 1);
    let late = read(&[TRACE, event, stream].concat()).unwrap();
    assert!(
        late.schema().streams[0].event_header.is_some() && late.streams()[0].event(0).is_some()
    );
    assert_eq!(late.streams().len(), 1);
}

/// What is wrong, on which line (the trace block is the first), and words of the message.
const WRONG: &[(&str, u64, &str)] = &[
    ("event {\n name = e;\n fields := struct { nothing a; }; };", 4, "no type nothing"),
    ("\n\nbla;", 4, "bla is no declaration"),
    ("event { name e; };", 2, "= expected, not e"),
    ("event { fields := struct { }; };", 2, "without name"),
    ("event { name = e; fields := struct { string a; string a; }; };", 2, "a second time"),
    ("event { name = e; fields := string; };", 2, "no structure"),
    ("event { name = e; fields = 1; };", 2, "a value where a type"),
    ("event { name := struct { }; };", 2, "a type where a value"),
    ("event { name = e; name = f; };", 2, "a second time"),
    ("event { name = e; };\nevent { name = f; };", 3, "without id"),
    ("stream { };\nevent { name = e; id = 1; };\nevent { name = f; id = 1; };", 4, "a second time"),
    ("stream { id = 1; };\nstream { id = 1; };", 3, "a second time"),
    ("stream { id = 1; };\nstream { };", 3, "without id"),
    ("stream { id = 1; };\nstream { id = 2; };\nevent { name = e; };", 4, "without stream_id"),
    ("trace { major = 1; minor = 8; byte_order = be; };", 2, "a second trace"),
    ("clock { freq = 1; };", 2, "without name"),
    ("clock { name = c; freq = 0; };", 2, "frequency 0"),
    ("clock { name = c; };\nclock { name = c; };", 3, "a second time"),
    (
        "typealias integer { size = 8; } := a;\ntypealias integer { size = 8; } := a;",
        3,
        "a second time",
    ),
    ("typealias integer { size = 8; } x := a;", 2, "named declaration"),
    ("struct a { };\nstruct a { };", 3, "a second time"),
    ("typealias integer { align = 8; } := a;", 2, "without size"),
    ("typealias integer { size = 8; align = 3; } := a;", 2, "no power of two"),
    ("typealias integer { size = 8; align = 0; } := a;", 2, "no power of two"),
    ("typealias integer { size = 8; signed = maybe; } := a;", 2, "true or false"),
    ("typealias integer { size = 8; base = 7; } := a;", 2, "base 7"),
    ("typealias integer { size = 8; byte_order = mixed; } := a;", 2, "byte order mixed"),
    ("typealias integer { size = 8; size = 8; } := a;", 2, "a second time"),
    ("typealias integer { size = -8; } := a;", 2, "no unsigned number"),
    (
        "typealias integer { size = 8; signed = true; map = clock.c.value; } := a;",
        2,
        "signed integer",
    ),
    ("typealias floating_point { exp_dig = 8; } := a;", 2, "mant_dig"),
    ("enum a { X };", 2, "no type int"),
    ("enum a : struct { } { X };", 2, "no integer"),
    ("enum a : integer { size = 8; } { X = 5 ... 3 };", 2, "range from 5 down to 3"),
    ("enum a : integer { size = 8; } { X Y };", 2, "} expected"),
    ("event { name = e; fields := struct { enum nothing a; }; };", 2, "no enum nothing"),
    ("event { name = e; fields := struct { struct nothing a; }; };", 2, "no struct nothing"),
    ("event { name = e; fields := struct { variant nothing <x> a; }; };", 2, "no variant nothing"),
    (
        "event { name = e; fields := struct { variant { string A; } a; }; };",
        2,
        "without <selector>",
    ),
    ("event { name = e; fields := struct { string a[-1]; }; };", 2, "negative length"),
    ("event { name = e; fields := struct { string a[n]; }; };", 2, "no field n before it"),
    ("event { name = e; fields := struct { string s; string a[s]; }; };", 2, "no unsigned integer"),
    (
        "event { name = e; fields := struct { integer { size = 8; signed = true; } n; string a[n]; }; };",
        2,
        "no unsigned integer",
    ),
    (
        "event { name = e; fields := struct { string a[n]; integer { size = 8; } n; }; };",
        2,
        "no field n before it",
    ),
    (
        "event { name = e; fields := struct { integer { size = 8; } n; variant <n> { string A; } v; }; };",
        2,
        "no enumeration",
    ),
    ("event { name = e; fields := struct { string a[env.n]; }; };", 2, "env.n is no length"),
    ("event { name = e; fields := struct { string a[event.fields]; }; };", 2, "no field"),
    (
        "event { name = e; fields := struct { integer { size = 8; map = clock.c.value; } a; }; };",
        2,
        "no clock c",
    ),
    (
        "stream { packet.context := struct { integer { size = 8; signed = true; } timestamp_end; }; };",
        2,
        "timestamp_end is signed",
    ),
    (
        "stream { packet.context := struct { string packet_seq_num; }; };",
        2,
        "packet_seq_num is no integer",
    ),
    (
        "clock { name = a; };\nclock { name = b; };\nstream { event.header := struct { integer { size = 8; } timestamp; }; };",
        4,
        "of several",
    ),
    ("typealias integer { size = 8; } := \"x\";", 2, "type expected"),
    ("event { name = e; fields := struct { string 5; }; };", 2, "name expected, not 5"),
    ("event { name = e; fields := struct { string a } };", 2, "; expected"),
    ("event { name = e; fields := struct { @ }; };", 2, "no part of the language"),
];

#[test]
fn fields_with_the_names_of_others_are_plain() {
    for declaration in [
        "stream { event.header := struct { string id; }; };",
        "stream { event.header := struct { integer { size = 8; signed = true; } id; }; };",
        "stream { packet.context := struct { string content_size; integer { size = 8; signed = true; } packet_size; }; };",
    ] {
        let text = format!(
            "trace {{ major = 1; minor = 8; byte_order = le; }};\n{declaration} event {{ name = e; }};"
        );
        let mut trace = crate::Trace::new();
        assert_eq!(
            trace.metadata(text.as_bytes()).map_err(|e| e.to_string()),
            Ok(()),
            "{declaration}"
        );
        let mut packet = crate::Packet::open(&trace, b"\xffa\0\xff\0", 0).unwrap();
        assert!(packet.peek().unwrap().is_some(), "{declaration}");
    }
}

#[test]
fn faults_say_what_and_where() {
    for (text, line, words) in WRONG {
        let Err(e) = read(&format!("{TRACE}{text}")) else { panic!("no fault in {text}") };
        let MetadataError::Malformed { offset, line: told, message: what } = &e else {
            panic!("{e} of {text}")
        };
        assert!(what.contains(words), "{e}, not {words:?}, of {text}");
        assert_eq!(told, line, "{e} of {text}");
        let (start, end) = (TRACE.len() as u64, (TRACE.len() + text.len()) as u64);
        assert!((start..=end).contains(offset), "{e} of {text}");
    }
}

#[test]
fn faults_of_the_trace_block() {
    for (text, words) in [
        ("trace { minor = 8; byte_order = le; };", "without version"),
        ("trace { major = 1; minor = 8; };", "without byte order"),
        ("trace { major = 1; minor = 8; byte_order = native; };", "native"),
        ("trace { major = 2; minor = 0; byte_order = le; };", "not supported: version 2.0"),
        ("trace { major = 1; minor = 8; byte_order = le; uuid = \"1\"; };", "no UUID"),
        (
            "trace { major = 1; minor = 8; byte_order = le; packet.header := struct { integer { size = 16; } magic; }; };",
            "magic of 16",
        ),
        (
            "trace { major = 1; minor = 8; byte_order = le; packet.header := struct { string uuid; }; };",
            "uuid is not",
        ),
    ] {
        let e = read(text).unwrap_err().to_string();
        assert!(e.contains(words), "{e} of {text}");
    }
}

#[test]
fn a_fault_costs_one_declaration() {
    let good =
        |n: u32| format!("event {{ id = {n}; name = e{n}; fields := struct {{ string s; }}; }};\n");
    let text = format!(
        "{TRACE}stream {{ event.header := struct {{ integer {{ size = 8; }} id; }}; }};\n{}event {{ id = 1; name = bad; fields := struct {{ nothing x; }}; }};\n{}event {{ id = 3; name = bad; fields := struct {{ string a[n]; }}; }};\n{}",
        good(0),
        good(2),
        good(4)
    );
    let mut trace = Trace::new();
    let mut lines = Vec::new();
    for e in trace.metadata_errors(text.as_bytes()) {
        let MetadataError::Malformed { line, .. } = e else { panic!("{e}") };
        lines.push(line);
    }
    assert_eq!(lines, [4, 6]);
    let ids: Vec<u64> = trace.streams()[0].events().iter().map(|e| e.id).collect();
    assert_eq!((ids, trace.schema().streams[0].events.len()), (vec![0, 2, 4], 3));
}

fn limit(text: &str) -> &'static str {
    match read(text) {
        Err(MetadataError::Limit { limit, got, max, .. }) => {
            assert!(got > max);
            limit
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn nobody_asks_for_too_much() {
    let deep = "struct { ".repeat(100_000);
    let end = "} x;".repeat(100_000);
    assert_eq!(
        limit(&format!("{TRACE}event {{ name = e; fields := {deep}{end} }};")),
        "depth of declarations"
    );
    assert_eq!(
        limit(&format!("{TRACE}typealias integer {{ size = 8; }} {}x := y;", "(".repeat(100_000))),
        "depth of declarations"
    );
    assert_eq!(
        limit(&format!("{TRACE}typealias integer {{ size = 8; }} := x {};", "*".repeat(100_000))),
        "pointers"
    );
    assert_eq!(
        limit(&format!("{TRACE}struct a {{ string x{}; }};", "[2]".repeat(100))),
        "dimensions"
    );
    assert_eq!(
        limit(&format!("{TRACE}env {{ {} = 1; }};", "x".repeat(100_000))),
        "length of a name"
    );
    assert_eq!(
        limit(&format!("{TRACE}env {{ x = \"{}\"; }};", "x".repeat(100_000))),
        "length of a string"
    );
    assert_eq!(
        limit(&format!("{TRACE}env {{ x{} = 1; }};", ".x".repeat(100_000))),
        "length of a path"
    );
    let many = |count: u64, each: &dyn Fn(u64) -> String| (0..count).map(each).collect::<String>();
    let entries = many(limits::ENVIRONMENT + 1, &|n| format!("x{n} = 1;"));
    assert_eq!(limit(&format!("{TRACE}env {{ {entries} }};")), "entries of the environment");
    let clocks = many(limits::CLOCKS + 1, &|n| format!("clock {{ name = c{n}; }};"));
    assert_eq!(limit(&format!("{TRACE}{clocks}")), "clocks");
    let streams = many(limits::STREAM_CLASSES + 1, &|n| format!("stream {{ id = {n}; }};"));
    assert_eq!(limit(&format!("{TRACE}{streams}")), "stream classes");
    let mappings = many(limits::RANGES + 1, &|n| format!("x{n},"));
    assert_eq!(
        limit(&format!("{TRACE}enum a : integer {{ size = 32; }} {{ {mappings} }};")),
        "ranges of an enumeration"
    );
    let members = many(limits::FIELDS + 1, &|n| format!("string f{n};"));
    assert_eq!(limit(&format!("{TRACE}struct a {{ {members} }};")), "fields");
    let aliases = many(limits::DECLARED + 1, &|n| format!("typedef string t{n};"));
    assert_eq!(limit(&format!("{TRACE}{aliases}")), "declarations of a trace");
    assert_eq!(limit(&format!("{TRACE}/*{}", "x".repeat(5 << 20))), "bytes of a declaration");
    assert_eq!(
        limit(&format!("{TRACE}typealias integer {{ size = 8; align = 2097152; }} := x;")),
        "alignment"
    );
}

#[test]
fn a_few_lines_cannot_ask_for_a_million_fields() {
    // Each structure has the one before twice.
    let mut text = format!("{TRACE}struct s0 {{ string x; }};");
    for n in 1..30 {
        text += &format!("struct s{n} {{ struct s{} a; struct s{} b; }};", n - 1, n - 1);
    }
    assert_eq!(
        limit(&format!("{text}event {{ name = e; fields := struct s29; }};")),
        "fields of a class"
    );
    assert_eq!(limit(&format!("{text}stream {{ event.header := struct s29; }};")), "fields");
    // And arrays in arrays, deeper than types may be.
    let mut text = format!("{TRACE}struct s0 {{ string x; }};");
    for n in 1..30 {
        text += &format!("struct s{n} {{ struct s{} a[2]; }};", n - 1);
    }
    assert_eq!(limit(&text), "depth of types");
    // Many classes of one structure.
    let members: String = (0..16_000).map(|n| format!("string f{n};")).collect();
    let mut text = format!(
        "{TRACE}struct a {{ {members} }};stream {{ event.header := struct {{ integer {{ size = 8; }} id; }}; }};"
    );
    for n in 0..10 {
        text += &format!("event {{ id = {n}; name = e; fields := struct a; }};");
    }
    assert_eq!(limit(&text), "fields of a trace");
}
