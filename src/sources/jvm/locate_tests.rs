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
    assert_eq!((area.inode, area.deleted), (7341, false));
    assert_eq!(area.map_file(), "7f2c5a0f8000-7f2c5a100000");
    assert_eq!(area.name(), b"hsperfdata_app/17");
    let library = found.library.as_ref().unwrap();
    assert_eq!((library.range.0, library.inode), (0x7f2c_5800_0000, 1322));
    assert_eq!(&*library.path, b"/opt/java/lib/server/libjvm.so");
    assert_eq!(library.name(), b"");
    assert_eq!((found.other, found.openj9), (None, false));
    assert!(found.is_jvm() && !found.is_native_image());
}

#[test]
fn the_region_of_another_process_is_not_its_own() {
    let found = locate(MAPS, 18);
    assert_eq!((found.area.as_ref(), found.other), (None, Some(17)));
    assert!(found.is_jvm());
    // Its parent's and its own.
    let both = with("7f3000000000-7f3000008000 rw-s 00000000 00:2f 9 /tmp/hsperfdata_app/18");
    let found = locate(&both, 18);
    assert_eq!((found.area.unwrap().inode, found.other), (9, Some(17)));
}

#[test]
fn deleted_and_odd_paths() {
    let line = "7f0-7f8 rw-s 00000000 fd:10 77    /srv/my jail/tmp/hsperfdata_a b/1 (deleted)\n";
    let found = area(line, 1).unwrap();
    assert_eq!((&*found.path, found.deleted), (&b"/srv/my jail/tmp/hsperfdata_a b/1"[..], true));
    assert_eq!((found.name(), found.device), (&b"hsperfdata_a b/1"[..], (0xfd, 0x10)));
    let found = area(r"7f0-7f8 rw-s 00000000 fd:10 77 /tmp/hsperfdata_a\012b/1", 1).unwrap();
    assert_eq!(&*found.path, b"/tmp/hsperfdata_a\nb/1");
    // The folder of JDK 28's -XX:AltTempDir may have such a name too.
    let found = area("7f0-7f8 rw-s 0 0:1 7 /x/hsperfdata_old/hsperfdata_uid12345/4", 4).unwrap();
    assert_eq!(found.name(), b"hsperfdata_uid12345/4");
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
    let long = format!("1-2 rw-s 0 0:1 7 /{}/hsperfdata_a/17", "x".repeat(limits::PATH));
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
    assert!(locate(native, 17).is_native_image());
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
    assert!(found.library.unwrap().deleted);
}

/// A path of the same part again and again is parsed once.
#[test]
fn many_parts_in_a_line() {
    let parts = "/hsperfdata_a".repeat(300);
    let line = format!("1-2 rw-s 0 0:1 7 {parts}/17\n").repeat(100);
    assert_eq!(lines(line.as_bytes(), FOLDER).count(), 100);
    assert_eq!(locate(line.as_bytes(), 17).area.unwrap().name(), b"hsperfdata_a/17");
}

#[test]
fn cut_anywhere_it_is_harmless() {
    for end in 0..MAPS.len() {
        locate(&MAPS[..end], 17);
    }
}
