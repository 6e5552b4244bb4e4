//! Errors and limits.

use super::*;

#[test]
fn faults_say_what_and_where() {
    let stream = json!({"type": "data-stream-class"});
    let payload = |class: Value| event(json!([member("x", class)]));
    let cases: Vec<(Vec<Value>, &str)> = vec![
        (vec![json!({})], "fragment: no type"),
        (vec![json!({"type": 3})], "type: no string"),
        (vec![json!({"type": "new-thing"})], "not supported: fragment new-thing"),
        (vec![json!({"type": "preamble", "version": 2})], "a second preamble"),
        (
            vec![json!({"type": "trace-class"}), json!({"type": "trace-class"})],
            "a second trace class",
        ),
        (vec![stream.clone(), json!({"type": "trace-class"})], "behind stream classes"),
        (vec![stream.clone(), stream.clone()], "stream 0 a second time"),
        (
            vec![json!({"type": "data-stream-class", "default-clock-class-id": "c"})],
            "default-clock-class-id: no such clock",
        ),
        (vec![json!({"type": "clock-class", "id": "c"})], "no frequency"),
        (vec![json!({"type": "clock-class", "id": "c", "frequency": 0})], "frequency 0"),
        (vec![json!({"type": "clock-class", "id": "c", "frequency": -1})], "frequency: negative"),
        (vec![json!({"type": "clock-class", "id": "c", "frequency": 1.5})], "no whole number"),
        (vec![json!({"type": "event-record-class"})], "no stream 0"),
        (
            vec![json!({"type": "field-class-alias", "name": "a", "field-class": "b"})],
            "field-class: no such alias",
        ),
        (
            vec![json!({"type": "data-stream-class", "packet-context-field-class": u(8)})],
            "packet-context-field-class: no structure",
        ),
        (payload(json!({"type": "odd"})), "not supported: field class odd"),
        (payload(json!([])), "payload-field-class/member-classes/0/field-class: no type"),
        (payload(json!({"type": "fixed-length-unsigned-integer", "length": 8})), "no byte-order"),
        (
            payload(
                json!({"type": "fixed-length-unsigned-integer", "byte-order": "little-endian"}),
            ),
            "no length",
        ),
        (
            payload(
                json!({"type": "fixed-length-unsigned-integer", "length": 0, "byte-order": "little-endian"}),
            ),
            "length: no bits",
        ),
        (
            payload(
                json!({"type": "fixed-length-unsigned-integer", "length": 65, "byte-order": "little-endian"}),
            ),
            "not supported: integer of 65 bits",
        ),
        (
            payload(
                json!({"type": "fixed-length-floating-point-number", "length": 128, "byte-order": "little-endian"}),
            ),
            "not supported: floating-point number of 128",
        ),
        (
            payload(
                json!({"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "middle"}),
            ),
            "byte-order: no byte order",
        ),
        (
            payload(
                json!({"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "big-endian", "alignment": 12}),
            ),
            "no power of two",
        ),
        (
            payload(
                json!({"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "big-endian", "mappings": {"a": [[3, 2]]}}),
            ),
            "mappings/a/0: no range",
        ),
        (
            payload(json!({"type": "null-terminated-string", "encoding": "latin-1"})),
            "encoding: no encoding",
        ),
        (
            payload(
                json!({"type": "dynamic-length-string", "length-field-location": {"path": []}}),
            ),
            "path: no names",
        ),
        (
            payload(
                json!({"type": "dynamic-length-string", "length-field-location": {"path": ["n"]}}),
            ),
            "no field n before it",
        ),
        (
            payload(
                json!({"type": "dynamic-length-string", "length-field-location": {"path": [null, "n"]}}),
            ),
            "no field n before it",
        ),
        (
            payload(
                json!({"type": "dynamic-length-string", "length-field-location": {"path": ["a", null]}}),
            ),
            "no names",
        ),
        (
            payload(
                json!({"type": "dynamic-length-string", "length-field-location": {"origin": "sky", "path": ["n"]}}),
            ),
            "no origin",
        ),
        (event(json!([member("a", u(8)), member("a", u(8))])), "a name a second time"),
        (
            event(json!([
                member("a", u(8)),
                member(
                    "b",
                    json!({"type": "optional", "selector-field-location": {"path": ["a"]}, "field-class": u(8)})
                )
            ])),
            "optional without ranges",
        ),
        (
            vec![
                json!({"type": "data-stream-class", "event-record-header-field-class": {"type": "structure", "member-classes": [
            member("t", json!({"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "big-endian", "roles": ["default-clock-timestamp"]}))]}}),
            ],
            "without a clock",
        ),
    ];
    for (fragments, words) in cases {
        let Err(e) = read(&fragments) else { panic!("no fault in {fragments:?}") };
        assert!(e.to_string().contains(words), "{e}, not {words:?}");
    }
    let mut trace = Trace::new();
    let e = trace.metadata(b"\x1e{\"type\": \"trace-class\"}").unwrap_err();
    assert!(e.to_string().contains("before the preamble"), "{e}");
    for (preamble, words) in [
        (json!({"type": "preamble", "version": 3}), "not supported: version 3"),
        (
            json!({"type": "preamble", "version": 2, "extensions": {"my.org": {}}}),
            "not supported: extension my.org",
        ),
        (json!({"type": "preamble", "version": 2, "uuid": [1, 2]}), "not 16 bytes"),
        (json!({"type": "preamble", "version": 2, "uuid": [300]}), "no byte"),
    ] {
        let e = Trace::new().metadata(format!("\x1e{preamble}").as_bytes()).unwrap_err();
        assert!(e.to_string().contains(words), "{e}");
    }
}

#[test]
fn sequences_that_are_none() {
    for (text, words) in [
        ("\x1e[1]", "between fragments"),
        ("\x1e{\"a\": 1\x1e{}", "without an end"),
        ("\x1e{\"type\": }", "expected value"),
        ("\x1e{}x", "fragment: no type"),
    ] {
        let e = Trace::new().metadata(text.as_bytes()).unwrap_err();
        assert!(e.to_string().contains(words), "{text:?}: {e}");
    }
    // After an error the next fragment is parsed.
    let stream = json!({"type": "data-stream-class"});
    let text = [
        sequence(&[]),
        b"\x1e{\"type\": \"odd\"}\n\x1e{\"cut\": {\n".to_vec(),
        format!("\x1e{stream}").into_bytes(),
    ]
    .concat();
    let (mut trace, mut faults) = (Trace::new(), Vec::new());
    for e in trace.metadata_errors(&text) {
        let (MetadataError::Malformed { line, .. } | MetadataError::Unsupported { line, .. }) = e
        else {
            panic!("{e}")
        };
        faults.push(line);
    }
    assert_eq!((faults, trace.streams().len()), (vec![2, 3], 1));
    // Deep nesting and large fragments are rejected.
    let deep = format!(
        "\x1e{{\"type\": \"preamble\", \"x\": {}1{}}}",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    assert!(Trace::new().metadata(deep.as_bytes()).is_err());
    let large =
        format!("\x1e{{\"x\": \"{}\"}}", "x".repeat(usize::try_from(limits::FRAGMENT).unwrap()));
    let e = Trace::new().metadata(large.as_bytes()).unwrap_err();
    assert!(matches!(e, MetadataError::Limit { limit: "bytes of a fragment", .. }), "{e}");
    let mut nested = json!({"type": "structure"});
    for _ in 0..40 {
        nested = json!({"type": "structure", "member-classes": [member("x", nested)]});
    }
    let e = read(&event(json!([member("x", nested)]))).unwrap_err();
    assert!(matches!(e, MetadataError::Limit { limit: "depth of types", .. }), "{e}");
}
