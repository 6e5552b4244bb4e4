use super::*;

/// Of a JVM 21 in a container, whose user is `app`.
const MAPS: &[u8] = b"\
5581d8a6b000-5581d8a6c000 r--p 00000000 08:01 1310 /opt/java/bin/java
7f2c3c000000-7f2c3c021000 rw-p 00000000 00:00 0 
7f2c58000000-7f2c58200000 r--p 00000000 08:01 1322                       /opt/java/lib/server/libjvm.so
7f2c58200000-7f2c59000000 r-xp 00200000 08:01 1322                       /opt/java/lib/server/libjvm.so
7f2c59000000-7f2c590c0000 rw-p 01000000 08:01 1322                       /opt/java/lib/server/libjvm.so
7f2c5a0f8000-7f2c5a100000 rw-s 00000000 00:2f 7341                       /tmp/hsperfdata_app/17
7ffd1c000000-7ffd1c021000 rw-p 00000000 00:00 0                          [stack]
";

fn with(line: &str) -> Vec<u8> {
    [MAPS, line.as_bytes(), b"\n"].concat()
}

fn area(line: &str, pid: u32) -> Option<Mapping> {
    locate(line.as_bytes(), pid).area
}

#[test]
fn a_jvm_has_a_region_and_a_library() {
    let found = locate(MAPS, 17);
    let area = found.area.as_ref().unwrap();
    assert_eq!(&*area.path, b"/tmp/hsperfdata_app/17");
    assert_eq!((area.range, area.device), ((0x7f2c_5a0f_8000, 0x7f2c_5a10_0000), (0, 0x2f)));
    assert_eq!(area.inode, 7341);
    assert_eq!(name(&area.path), b"hsperfdata_app/17");
    let library = found.library.as_ref().unwrap();
    assert_eq!((library.range.0, library.inode), (0x7f2c_5800_0000, 1322));
    assert_eq!(&*library.path, b"/opt/java/lib/server/libjvm.so");
    assert_eq!(name(&library.path), b"");
    assert_eq!((found.other, found.openj9), (false, false));
    assert!(found.is_jvm());
}

#[test]
fn the_region_of_another_process_is_not_its_own() {
    let found = locate(MAPS, 18);
    assert_eq!((found.area.as_ref(), found.other), (None, true));
    assert!(found.is_jvm());
    // Its parent's and its own.
    let both = with("7f3000000000-7f3000008000 rw-s 00000000 00:2f 9 /tmp/hsperfdata_app/18");
    let found = locate(&both, 18);
    assert_eq!((found.area.unwrap().inode, found.other), (9, true));
}

#[test]
fn deleted_and_odd_paths() {
    let line = "7f0-7f8 rw-s 00000000 fd:10 77    /srv/my jail/tmp/hsperfdata_a b/1 (deleted)\n";
    let found = area(line, 1).unwrap();
    assert_eq!(&*found.path, b"/srv/my jail/tmp/hsperfdata_a b/1");
    assert_eq!((name(&found.path), found.device), (&b"hsperfdata_a b/1"[..], (0xfd, 0x10)));
    let found = area(r"7f0-7f8 rw-s 00000000 fd:10 77 /tmp/hsperfdata_a\012b/1", 1).unwrap();
    assert_eq!(&*found.path, b"/tmp/hsperfdata_a\nb/1");
    // The folder of JDK 28's -XX:AltTempDir may have such a name too.
    let found = area("7f0-7f8 rw-s 0 0:1 7 /x/hsperfdata_old/hsperfdata_uid12345/4", 4).unwrap();
    assert_eq!(name(&found.path), b"hsperfdata_uid12345/4");
    let bytes = [b"1-2 rw-s 0 0:1 7 /tmp/hsperfdata_\xff\xfe/4".as_slice(), b"\n"].concat();
    assert!(locate(&bytes, 4).area.is_some());
}

#[test]
fn what_is_no_region() {
    for line in [
        // Read by somebody, private, not from its begin.
        "7f0-7f8 r--s 00000000 00:2f 7 /tmp/hsperfdata_app/17",
        "7f0-7f8 rw-p 00000000 00:2f 7 /tmp/hsperfdata_app/17",
        "7f0-7f8 rw-s 00001000 00:2f 7 /tmp/hsperfdata_app/17",
        // Not such a name.
        "7f0-7f8 rw-s 00000000 00:2f 7 /tmp/hsperfdata_/17",
        "7f0-7f8 rw-s 00000000 00:2f 7 /tmp/hsperfdata_app/17/x",
        "7f0-7f8 rw-s 00000000 00:2f 7 /tmp/hsperfdata_app/+17",
        "7f0-7f8 rw-s 00000000 00:2f 7 /tmp/hsperfdata_app/",
        "7f0-7f8 rw-s 00000000 00:2f 7 /tmp/hsperfdata_app/99999999999",
        "7f0-7f8 rw-s 00000000 00:2f 7 /tmp/xhsperfdata_app/17",
        // Not such lines.
        "7f0 rw-s 00000000 00:2f 7 /tmp/hsperfdata_app/17",
        "7f0-7f8 rw-s zero 00:2f 7 /tmp/hsperfdata_app/17",
        "7f0-7f8 rw-s 00000000 00 7 /tmp/hsperfdata_app/17",
        "7f0-7f8 rw-s 00000000 00:2f /tmp/hsperfdata_app/17",
        "/hsperfdata_app/17",
        "/hsperfdata_",
        "",
    ] {
        assert_eq!(locate(line.as_bytes(), 17), Located::default(), "{line}");
    }
    let long = format!("1-2 rw-s 0 0:1 7 /{}/hsperfdata_a/17", "x".repeat(4096));
    assert_eq!(locate(long.as_bytes(), 17), Located::default());
}

#[test]
fn other_virtual_machines() {
    let j9 = b"\
7f10-7f20 r--p 00000000 08:01 11 /opt/semeru/lib/default/libj9vm29.so
7f20-7f30 r-xp 00001000 08:01 11 /opt/semeru/lib/default/libj9vm29.so
7f40-7f50 r--p 00000000 08:01 12 /opt/semeru/lib/default/libjvm.so
7f50-7f60 r-xp 00001000 08:01 12 /opt/semeru/lib/default/libjvm.so
";
    let found = locate(j9, 1);
    assert!(found.openj9 && found.is_jvm() && found.library.is_some());
    let native = b"7f0-7f8 rw-s 00000000 00:2f 7 /tmp/hsperfdata_app/17\n";
    let found = locate(native, 17);
    assert!(found.area.is_some() && found.library.is_none() && !found.openj9);
    // A debugger has the library's symbols, and nothing of it to be executed.
    let debugger = b"7f10-7f20 r--p 00000000 08:01 12 /opt/java/lib/server/libjvm.so\n";
    assert!(!locate(debugger, 1).is_jvm());
    for other in [
        "/graal/lib/libjvmcicompiler.so",
        "/lib/libjvm.so.bak",
        "/lib/libjvm.somewhere/x",
        "/lib/notlibjvm.so",
    ] {
        let line = format!("7f10-7f20 r-xp 00000000 08:01 12 {other}\n");
        assert!(!locate(line.as_bytes(), 1).is_jvm(), "{other}");
    }
    // An upgrade has removed the library from under it.
    let found = locate(b"10-20 r-xp 00000000 08:01 12 /j/libjvm.so (deleted)\n", 1);
    assert_eq!(&*found.library.unwrap().path, b"/j/libjvm.so");
}

/// A path of the same part again and again is parsed once.
#[test]
fn many_parts_in_a_line() {
    let parts = "/hsperfdata_a".repeat(300);
    let line = format!("1-2 rw-s 0 0:1 7 {parts}/17\n").repeat(100);
    assert_eq!(lines(line.as_bytes(), FOLDER).count(), 100);
    assert_eq!(
        locate(line.as_bytes(), 17).area.map(|area| name(&area.path).to_vec()).unwrap(),
        b"hsperfdata_a/17"
    );
}

#[test]
fn cut_anywhere_it_is_harmless() {
    for end in 0..MAPS.len() {
        locate(&MAPS[..end], 17);
    }
}

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
        ("java\0-XX:-UsePerfData\0-XX:+UsePerfData\0Main\0", "", file),
        ("java\0-XX:+PerfDisableSharedMem\0-XX:-PerfDisableSharedMem\0Main\0", "", file),
        ("java\0Main\0-XX:-UsePerfData\0", "", file),
        ("java\0-jar\0x.jar\0-XX:-UsePerfData\0", "", file),
        ("java\0--module=a/b.C\0-XX:-UsePerfData\0", "", file),
        (
            "java\0Main\0",
            "A=1\0JAVA_TOOL_OPTIONS=-Xmx1g -XX:+PerfDisableSharedMem\0",
            Some(Absence::Private),
        ),
        ("java\0Main\0", "XJAVA_TOOL_OPTIONS=-XX:-UsePerfData\0", file),
        ("java\0-XX:+UsePerfData\0Main\0", "JDK_JAVA_OPTIONS=-XX:-UsePerfData\0", file),
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
    };
    let of = |located: &Located| Absence::of(located, Start::default(), 0);
    assert_eq!(of(&Located { area: Some(mapping), ..hotspot() }), None);
    assert_eq!(of(&Located { other: true, ..hotspot() }), None);
    assert_eq!(of(&Located { openj9: true, ..hotspot() }), Some(Absence::OpenJ9));
    assert_eq!(of(&Located::default()), None);
}

#[test]
fn absences_have_words() {
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
    ] {
        assert_eq!(reason.to_string(), words);
    }
}
