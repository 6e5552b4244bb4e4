use super::*;

#[test]
fn names_of_lttng_have_versions() {
    assert_eq!(by_lttng_name("GCStart_V2"), Some((1, 2)));
    assert_eq!(by_lttng_name("ExceptionCatchStart"), Some((250, 0)));
    assert_eq!(by_lttng_name("MethodLoadVerbose_V1"), Some((143, 1)));
    assert_eq!(by_lttng_name("Contention"), None);
    assert_eq!(by_lttng_name("GCStart_Vx"), None);
}
