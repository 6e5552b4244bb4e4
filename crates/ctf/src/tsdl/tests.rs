//! The grammar, rule by rule, with valid and faulty text.

mod errors;

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

/// The fields of an event with these members.
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
