use super::*;

#[test]
fn patterns() {
    for (pattern, host, session, fits) in [
        ("*/*", "vm", "s1", true),
        ("web*/app-*", "web7", "app-live", true),
        ("web*/app-*", "db1", "app-live", false),
        ("vm/s1", "vm", "s10", false),
        ("s1", "anything", "s1", true),
    ] {
        assert_eq!(
            Pattern::parse(pattern).unwrap().fits(host, session),
            fits,
            "{pattern} {host} {session}"
        );
    }
    for wrong in ["", "/", "a/", "/b", "a/b/c", &"x".repeat(1025)] {
        assert_eq!(Pattern::parse(wrong), None, "{wrong}");
    }
}
