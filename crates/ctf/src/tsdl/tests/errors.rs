//! Errors and limits.

use super::*;

/// The faulty text, the line of the error (the trace block is the first), and words of the message.
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
    // Each structure contains the previous one twice.
    let mut text = format!("{TRACE}struct s0 {{ string x; }};");
    for n in 1..30 {
        text += &format!("struct s{n} {{ struct s{} a; struct s{} b; }};", n - 1, n - 1);
    }
    assert_eq!(
        limit(&format!("{text}event {{ name = e; fields := struct s29; }};")),
        "fields of a class"
    );
    assert_eq!(limit(&format!("{text}stream {{ event.header := struct s29; }};")), "fields");
    // Nested arrays, deeper than the limit.
    let mut text = format!("{TRACE}struct s0 {{ string x; }};");
    for n in 1..30 {
        text += &format!("struct s{n} {{ struct s{} a[2]; }};", n - 1);
    }
    assert_eq!(limit(&text), "depth of types");
    // Many classes with the same structure.
    let members: String = (0..16_000).map(|n| format!("string f{n};")).collect();
    let mut text = format!(
        "{TRACE}struct a {{ {members} }};stream {{ event.header := struct {{ integer {{ size = 8; }} id; }}; }};"
    );
    for n in 0..10 {
        text += &format!("event {{ id = {n}; name = e; fields := struct a; }};");
    }
    assert_eq!(limit(&text), "fields of a trace");
}
