//! Fragments and field classes, valid and faulty ones.

mod errors;

use serde_json::{Value, json};

use crate::ByteOrder;
use crate::oracle::{Call, by_plan, by_types};
use crate::schema::{
    DisplayBase, Encoding, EnvValue, FieldClass, FieldClassKind, Integer, IntegerKind, Length,
    LocationOrigin, Role,
};
use crate::{MetadataError, Trace, limits};

/// A sequence with a preamble.
fn sequence(fragments: &[Value]) -> Vec<u8> {
    let preamble = json!({"type": "preamble", "version": 2});
    [&preamble]
        .into_iter()
        .chain(fragments)
        .flat_map(|f| format!("\x1e{f}\n").into_bytes())
        .collect()
}

fn read(fragments: &[Value]) -> Result<Trace, MetadataError> {
    let mut trace = Trace::new();
    trace.metadata(&sequence(fragments)).map(|()| trace)
}

/// A trace whose only event has these members.
fn event(members: Value) -> Vec<Value> {
    vec![
        json!({"type": "data-stream-class"}),
        json!({"type": "event-record-class", "payload-field-class": {"type": "structure", "member-classes": members}}),
    ]
}

fn member(name: &str, class: Value) -> Value {
    json!({"name": name, "field-class": class})
}

fn types(members: Value) -> Vec<FieldClass> {
    let trace = read(&event(members)).unwrap_or_else(|e| panic!("{e}"));
    let payload = trace.schema().streams[0].events[0].payload.clone().unwrap();
    payload.structure().unwrap().members.iter().map(|f| (*f.class).clone()).collect()
}

fn one(class: Value) -> FieldClass {
    types(json!([member("x", class)])).remove(0)
}

fn u(bits: u32) -> Value {
    json!({"type": "fixed-length-unsigned-integer", "length": bits, "byte-order": "little-endian", "alignment": 8})
}

#[test]
fn numbers() {
    let le = |n| Integer { align: 1, order: Some(ByteOrder::Little), ..Integer::new(n) };
    let class = |kind: &str, more: Value| {
        let mut class = json!({"type": kind, "length": 12, "byte-order": "little-endian"});
        class.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        one(class)
    };
    let integer = |kind: &str, more: Value| match class(kind, more).kind() {
        FieldClassKind::Integer(i) => i.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(integer("fixed-length-unsigned-integer", json!({})), le(12));
    assert_eq!(
        integer("fixed-length-signed-integer", json!({})),
        Integer { kind: IntegerKind::Signed, ..le(12) }
    );
    assert_eq!(
        integer("fixed-length-boolean", json!({})),
        Integer { kind: IntegerKind::Boolean, ..le(12) }
    );
    assert_eq!(
        integer("fixed-length-bit-array", json!({})),
        Integer { kind: IntegerKind::BitMap, ..le(12) }
    );
    let details = integer(
        "fixed-length-unsigned-integer",
        json!({"byte-order": "big-endian", "alignment": 16, "preferred-display-base": 16, "mappings": {"b": [[3, 4], [9, 9]], "a": [[0, 1]]}}),
    );
    assert_eq!(
        (details.order, details.align, details.base),
        (Some(ByteOrder::Big), 16, DisplayBase::Hexadecimal)
    );
    let mappings = details.mappings.unwrap();
    assert_eq!(
        (mappings.first(4).map(|l| &**l), mappings.first(9), mappings.first(2)),
        (Some("b"), mappings.first(3), None)
    );
    let flags = integer("fixed-length-bit-map", json!({"flags": {"first": [[0, 0]]}}));
    assert_eq!(
        (flags.kind, flags.mappings.unwrap().first(0).map(|l| &**l)),
        (IntegerKind::BitMap, Some("first"))
    );
    for (order, bits, reversed) in [
        ("little-endian", "first-to-last", false),
        ("little-endian", "last-to-first", true),
        ("big-endian", "first-to-last", true),
        ("big-endian", "last-to-first", false),
    ] {
        let i = integer(
            "fixed-length-unsigned-integer",
            json!({"byte-order": order, "bit-order": bits}),
        );
        assert_eq!(i.reversed, reversed, "{order} {bits}");
    }
    assert!(
        matches!(one(json!({"type": "variable-length-unsigned-integer"})).kind(), FieldClassKind::Integer(i) if i.bits == 0 && !i.signed())
    );
    assert!(
        matches!(one(json!({"type": "variable-length-signed-integer"})).kind(), FieldClassKind::Integer(i) if i.bits == 0 && i.signed())
    );
    let float = class("fixed-length-floating-point-number", json!({"length": 16}));
    assert!(matches!(float.kind(), FieldClassKind::Float(f) if f.bits == 16 && f.align == 1));
}

#[test]
fn texts_and_compounds() {
    for (name, encoding) in [
        ("utf-8", Encoding::Utf8),
        ("utf-16le", Encoding::Utf16Le),
        ("utf-16be", Encoding::Utf16Be),
        ("utf-32le", Encoding::Utf32Le),
        ("utf-32be", Encoding::Utf32Be),
    ] {
        assert_eq!(
            *one(json!({"type": "null-terminated-string", "encoding": name})).kind(),
            FieldClassKind::NullTerminatedString(encoding)
        );
        let fixed = json!({"type": "static-length-string", "encoding": name, "length": 6});
        assert_eq!(*one(fixed).kind(), FieldClassKind::SizedString(Length::Static(6), encoding));
    }
    let location = json!({"origin": "event-record-payload", "path": ["n"]});
    let all = types(json!([
        member("n", u(8)),
        member("t", json!({"type": "dynamic-length-string", "length-field-location": location})),
        member(
            "b",
            json!({"type": "dynamic-length-blob", "length-field-location": {"path": ["n"]}})
        ),
        member(
            "a",
            json!({"type": "dynamic-length-array", "length-field-location": {"path": ["n"]}, "element-field-class": u(16), "minimum-alignment": 64})
        ),
        member(
            "s",
            json!({"type": "structure", "minimum-alignment": 32, "member-classes": [
                member("o", json!({"type": "optional", "selector-field-location": {"path": [null, "n"]}, "selector-field-ranges": [[1, 2]], "field-class": u(8)})),
                member("v", json!({"type": "variant", "selector-field-location": {"path": [null, "n"]}, "options": [
                    {"field-class": u(8), "selector-field-ranges": [[0, 9]]},
                    {"name": "y", "field-class": {"type": "null-terminated-string"}, "selector-field-ranges": [[10, 10], [20, 255]]}]})),
            ]})
        ),
        member("e", json!({"type": "structure"})),
        member(
            "f",
            json!({"type": "static-length-array", "length": 3, "element-field-class": u(8)})
        ),
    ]));
    let FieldClassKind::SizedString(Length::Dynamic(path), _) = all[1].kind() else { panic!() };
    assert!(matches!(path.origin, LocationOrigin::Scope(_)));
    assert!(
        matches!(all[2].kind(), FieldClassKind::Blob(Length::Dynamic(p), _) if p.origin == LocationOrigin::Up(0))
    );
    assert!(
        matches!(all[3].kind(), FieldClassKind::Array(Length::Dynamic(_), _, 64))
            && all[3].align() == 64
    );
    assert_eq!(all[4].align(), 32);
    let inner = &all[4].structure().unwrap().members;
    assert!(
        matches!(inner[0].class.kind(), FieldClassKind::Optional(p, Some(_), _) if p.origin == LocationOrigin::Up(1))
    );
    let FieldClassKind::Variant(v) = inner[1].class.kind() else { panic!() };
    assert_eq!(v.ranges, Some(vec![vec![(0, 9)], vec![(10, 10), (20, 255)]]));
    assert_eq!((&*v.options[0].name, &*v.options[1].name), ("", "y"));
    assert!(all[5].structure().unwrap().members.is_empty());
    assert!(matches!(all[6].kind(), FieldClassKind::Array(Length::Static(3), ..)));
}

#[test]
fn fragments() {
    let uuid: Vec<u8> = (0..16).collect();
    let role = |bits: u32, role: &str| {
        let mut class = u(bits);
        class["roles"] = json!([role, "of-the-future"]);
        class
    };
    let header = json!({"type": "structure", "member-classes": [member("m", role(32, "packet-magic-number")),
        member("u", json!({"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]}))]});
    let bytes = [
        format!("\x1e{}", json!({"type": "preamble", "version": 2, "uuid": uuid, "attributes": {"x": 1}})).into_bytes(),
        sequence(&[]).split_off(sequence(&[]).len()),
        [
            json!({"type": "field-class-alias", "name": "byte", "field-class": u(8)}),
            json!({"type": "trace-class", "name": "t", "environment": {"hostname": "h", "n": -3}, "packet-header-field-class": header, "extra": []}),
            json!({"type": "clock-class", "id": "c", "frequency": 1000, "precision": 3, "description": "d", "uid": "u",
                   "origin": "unix-epoch", "offset-from-origin": {"seconds": -2, "cycles": 5}}),
            json!({"type": "clock-class", "id": "other", "frequency": 1, "origin": {"name": "x", "uid": "y"}}),
            json!({"type": "data-stream-class", "id": 4, "name": "s", "default-clock-class-id": "c",
                   "event-record-header-field-class": {"type": "structure", "member-classes": [member("id", role(8, "event-record-class-id")), member("t", role(32, "default-clock-timestamp"))]},
                   "event-record-common-context-field-class": {"type": "structure", "member-classes": [member("x", json!("byte"))]}}),
            json!({"type": "event-record-class", "id": 9, "data-stream-class-id": 4, "name": "p:e",
                   "attributes": {"lttng.org,2009": {"log-level": "debug:line", "emf-uri": "http://x"}, "z": 1}}),
        ]
        .iter()
        .flat_map(|f| format!("\n\x1e {}\r\n", serde_json::to_string_pretty(f).unwrap()).into_bytes())
        .collect(),
    ]
    .concat();
    let whole = |pieces: usize| {
        let mut trace = Trace::new();
        for piece in bytes.chunks(pieces) {
            trace.metadata(piece).unwrap();
        }
        assert!(!trace.unfinished());
        trace
    };
    let trace = whole(usize::MAX);
    let schema = trace.schema();
    assert_eq!(
        (schema.uuid, schema.name.as_deref()),
        (Some(crate::schema::Uuid::from_bytes(uuid.try_into().unwrap())), Some("t"))
    );
    assert_eq!(schema.env("n"), Some(&EnvValue::Integer(-3)));
    let clock = &schema.clocks[0];
    assert_eq!(
        (clock.frequency, clock.precision, clock.unix_epoch, schema.clocks[1].unix_epoch),
        (1000, 3, true, false)
    );
    assert_eq!(clock.nanoseconds(2), -2_000_000_000 + 7_000_000);
    let plan = &trace.streams()[0];
    assert_eq!((plan.id, plan.clock), (4, Some(0)));
    let event = plan.event(9).unwrap();
    assert_eq!(
        (&*event.name, event.log_level, event.emf_uri.as_deref()),
        ("p:e", Some(13), Some("http://x"))
    );
    assert_eq!(&*event.nodes()[1].path, "x", "the common context, of an alias");
    for pieces in [1, 2, 7] {
        assert_eq!(format!("{:?}", whole(pieces).schema()), format!("{schema:?}"));
    }
    // Decodes a packet of it.
    let mut packet = vec![0xc1, 0x1f, 0xfc, 0xc1];
    packet.extend(0..16);
    packet.extend([9, 5, 0, 0, 0, 77, 9, 6, 0, 0, 0, 78]);
    let decoded = by_plan(&trace, &packet, true);
    assert!(decoded.sound);
    assert_eq!(
        decoded.events,
        [(0, 5, vec![Call::Unsigned(1, 77)]), (0, 6, vec![Call::Unsigned(1, 78)])]
    );
}

#[test]
fn what_only_ctf_2_has_is_decoded() {
    let fragments = event(json!([
        member("leb", json!({"type": "variable-length-unsigned-integer"})),
        member("sleb", json!({"type": "variable-length-signed-integer"})),
        member(
            "bool",
            json!({"type": "fixed-length-boolean", "length": 8, "byte-order": "little-endian"})
        ),
        member(
            "there",
            json!({"type": "optional", "selector-field-location": {"path": ["bool"]}, "field-class": u(16)})
        ),
        member("wide", json!({"type": "null-terminated-string", "encoding": "utf-16le"})),
        member(
            "rev",
            json!({"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "little-endian", "bit-order": "last-to-first"})
        ),
        member(
            "blob",
            json!({"type": "dynamic-length-blob", "length-field-location": {"path": ["leb"]}})
        ),
        member(
            "half",
            json!({"type": "fixed-length-floating-point-number", "length": 16, "byte-order": "big-endian"})
        ),
    ]));
    let trace = read(&fragments).unwrap();
    let packet = [
        &[0x83, 0x00, 0x7e, 0x01, 0x34, 0x12][..],
        &[b'a', 0, 0, b'b', 0, 0],
        &[0b0000_0011, 1, 2, 3, 0x3c, 0x00],
    ]
    .concat();
    let decoded = by_plan(&trace, &packet, true);
    assert_eq!(decoded, by_types(trace.schema(), &packet));
    let calls = vec![
        Call::Unsigned(1, 3),
        Call::Signed(2, -2),
        Call::Unsigned(3, 1),
        Call::Open(4, 1),
        Call::Unsigned(5, 0x1234),
        Call::Close(4),
        Call::Text(6, vec![b'a', 0, 0, b'b']),
        Call::Unsigned(7, 0b1100_0000),
        Call::Blob(8, vec![1, 2, 3]),
        Call::Float(9, 1.0_f64.to_bits()),
    ];
    assert_eq!((decoded.events, decoded.sound), (vec![(0, 0, calls)], true));
}

#[test]
fn roles_by_name() {
    for (name, role) in [
        ("packet-magic-number", Role::Magic),
        ("data-stream-class-id", Role::StreamClass),
        ("data-stream-id", Role::Stream),
        ("packet-total-length", Role::PacketSize),
        ("packet-content-length", Role::ContentSize),
        ("packet-end-default-clock-timestamp", Role::End),
        ("packet-sequence-number", Role::Sequence),
        ("discarded-event-record-counter-snapshot", Role::Discarded),
        ("event-record-class-id", Role::EventClass),
    ] {
        let mut class = u(32);
        class["roles"] = json!([name]);
        let class = one(class);
        assert!(matches!(class.kind(), FieldClassKind::Integer(i) if i.roles.has(role)), "{name}");
    }
}
