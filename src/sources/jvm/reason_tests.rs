use super::*;
use crate::sources::jvm::locate::{Mapping, locate};

fn start<'a>(command: &'a str, environment: &'a str) -> Start<'a> {
    Start { command: command.as_bytes(), environment: environment.as_bytes() }
}

fn hotspot() -> Located {
    let found = locate(b"10-20 r-xp 00000000 08:01 12 /j/libjvm.so\n", 1);
    assert!(found.library.is_some());
    found
}

fn of(command: &str, environment: &str) -> Option<Absence> {
    Absence::of(&hotspot(), start(command, environment), 12345)
}

#[test]
fn options_of_the_jvm_count_and_not_those_of_the_program() {
    let file = Some(Absence::NoFile { uid: 12345 });
    for (command, environment, reason) in [
        ("java\0-XX:-UsePerfData\0-jar\0x.jar\0", "", Some(Absence::Off)),
        ("java\0-Xmx1g\0-XX:+PerfDisableSharedMem\0Main\0", "", Some(Absence::Private)),
        (
            "java\0-cp\0-XX:-UsePerfData\0-XX:+PerfDisableSharedMem\0Main\0",
            "",
            Some(Absence::Private),
        ),
        ("java\0-XX:-UsePerfData\0-XX:+UsePerfData\0Main\0", "", file.clone()),
        ("java\0-XX:+PerfDisableSharedMem\0-XX:-PerfDisableSharedMem\0Main\0", "", file.clone()),
        ("java\0Main\0-XX:-UsePerfData\0", "", file.clone()),
        ("java\0-jar\0x.jar\0-XX:-UsePerfData\0", "", file.clone()),
        ("java\0--module=a/b.C\0-XX:-UsePerfData\0", "", file.clone()),
        (
            "java\0Main\0",
            "A=1\0JAVA_TOOL_OPTIONS=-Xmx1g -XX:+PerfDisableSharedMem\0",
            Some(Absence::Private),
        ),
        ("java\0Main\0", "XJAVA_TOOL_OPTIONS=-XX:-UsePerfData\0", file.clone()),
        ("java\0-XX:+UsePerfData\0Main\0", "JDK_JAVA_OPTIONS=-XX:-UsePerfData\0", file.clone()),
        ("java\0-XX:+UsePerfData\0Main\0", "_JAVA_OPTIONS=-XX:-UsePerfData\0", Some(Absence::Off)),
        ("", "", file),
    ] {
        assert_eq!(of(command, environment), reason, "{command:?} {environment:?}");
    }
}

#[test]
fn other_reasons() {
    let mapping = Mapping {
        range: (1, 2),
        path: b"/tmp/hsperfdata_a/1".as_slice().into(),
        device: (0, 1),
        inode: 7,
        deleted: false,
    };
    let of = |located: &Located| Absence::of(located, Start::default(), 0);
    assert_eq!(of(&Located { area: Some(mapping), ..hotspot() }), None);
    assert_eq!(of(&Located { other: Some(7), ..hotspot() }), Some(Absence::Other(7)));
    assert_eq!(of(&Located { openj9: true, ..hotspot() }), Some(Absence::OpenJ9));
    assert_eq!(of(&Located::default()), None);
}

#[test]
fn words() {
    for (reason, words) in [
        (
            Absence::Private,
            "it keeps its performance data to itself (-XX:+PerfDisableSharedMem): start it without that \
             option",
        ),
        (
            Absence::NoFile { uid: 12345 },
            "it keeps its performance data to itself: its user id 12345 has no name in its passwd, or its \
             /tmp cannot be written",
        ),
        (
            Absence::Off,
            "it keeps no performance data (-XX:-UsePerfData): start it without that option",
        ),
        (Absence::OpenJ9, "OpenJ9 has no performance data of this kind"),
        (Absence::Other(7), "its performance data is that of process 7"),
        (
            Absence::Denied { user: "app".into() },
            "only user app may read its performance data: run the PMDA as root, or give it \
             CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE",
        ),
    ] {
        assert_eq!(reason.to_string(), words);
    }
}

#[test]
fn room_for_what_was_missing() {
    for (used, overflow, size) in [
        (4088, 8096, "65536"),
        (32_760, 40_000, "262144"),
        (1 << 20, 1, "4194304"),
        (0, u64::MAX, "16777216"),
    ] {
        let words = overflow_words(used, overflow);
        assert!(words.ends_with(&format!("(-XX:PerfDataMemorySize={size})")), "{words}");
    }
}

#[test]
fn variables() {
    let environment = b"A=1\0OTEL_SERVICE_NAME=shop=x\0OTEL_SERVICE_NAME=y\0B";
    assert_eq!(variable(environment, "OTEL_SERVICE_NAME"), Some(&b"shop=x"[..]));
    assert_eq!(variable(environment, "A"), Some(&b"1"[..]));
    assert_eq!((variable(environment, "B"), variable(environment, "OTEL")), (None, None));
}
