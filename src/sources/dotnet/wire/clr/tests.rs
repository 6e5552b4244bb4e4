use super::*;

#[test]
fn names_of_lttng_have_versions() {
    assert_eq!(by_lttng_name("GCStart_V2"), Some((1, 2)));
    assert_eq!(by_lttng_name("ExceptionCatchStart"), Some((250, 0)));
    assert_eq!(by_lttng_name("MethodLoadVerbose_V1"), Some((143, 1)));
    assert_eq!(by_lttng_name("Contention"), None);
    assert_eq!(by_lttng_name("GCStart_Vx"), None);
}

/// Fields of event classes of .NET Core 3.1 (docs/protocols/dotnet.md 5), as babeltrace lists them:
/// their sizes in bits, `s` for texts.
#[test]
fn classes_of_lttng_have_the_layouts_of_the_table() {
    for (name, fields) in [
        ("GCStart_V2", "32 32 32 32 16 64"),
        ("GCEnd_V1", "32 32 16"),
        ("GCSuspendEEBegin_V1", "32 32 16"),
        ("GCRestartEEEnd_V1", "16"),
        ("GCAllocationTick_V3", "32 32 16 64 64 s 32 64"),
        ("GCFinalizersEnd_V1", "32 16"),
        ("ExceptionThrown_V1", "s s 64 32 16 16"),
        ("ExceptionCatchStart", "64 64 s 16"),
        ("ContentionStart_V1", "8 16"),
        ("ContentionStop", "8 16"),
        ("ContentionStop_V1", "8 16 64"),
        ("ThreadPoolWorkerThreadAdjustmentAdjustment", "64 32 32 16"),
        ("ThreadPoolWorkerThreadStart", "32 32 16"),
        ("MethodJittingStarted_V1", "64 64 32 32 s s s 16"),
        ("AssemblyLoad_V1", "64 64 64 32 s 16"),
        ("TieredCompilationBackgroundJitStart", "16 32"),
    ] {
        let (id, version) = by_lttng_name(name).expect(name);
        // A text is its NUL.
        let size = |field: &str| field.parse().map_or(2, |bits: usize| bits / 8);
        let payload = vec![0; fields.split(' ').map(size).sum()];
        let typed = |decoded| !matches!(decoded, Decoded::Known | Decoded::Unknown);
        assert!(decode(id, version, 8, &payload).is_ok_and(typed), "{name}");
        assert_eq!(decode(id, version, 8, &payload[1..]), Err(Short), "{name}");
    }
}

#[test]
fn what_follows_a_payload_does_not_matter() {
    let ids = 0..310;
    for (id, version) in ids.flat_map(|id| (0..6).map(move |version| (id, version))) {
        for fill in [0, 1, 255] {
            let payload = [fill; 130];
            let whole = |length: &usize| {
                decode(id, version, 4 + 4 * (version & 1), &payload[..*length]).is_ok()
            };
            let Some(least) = (0..130).find(whole) else { continue };
            assert!((least..130).all(|length| whole(&length)), "{id} {version} {fill}");
        }
    }
}

#[test]
fn versions_append_fields() {
    let mut payload: Vec<u8> = (0..110).collect();
    let Ok(Decoded::HeapStats { size0, handles, size4, promoted4, .. }) = decode(4, 2, 8, &payload)
    else {
        panic!("statistics")
    };
    assert_eq!(size0, u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(handles, u32::from_le_bytes([88, 89, 90, 91]));
    assert_eq!(size4, u64::from_le_bytes([94, 95, 96, 97, 98, 99, 100, 101]));
    assert!(promoted4 > 0);
    payload.truncate(94);
    assert_eq!(decode(4, 2, 8, &payload), Err(Short));
    let Ok(Decoded::HeapStats { size4: 0, promoted4: 0, .. }) = decode(4, 1, 8, &payload) else {
        panic!("statistics without pinned objects")
    };
    payload.extend([9; 100]);
    assert!(matches!(decode(4, 7, 8, &payload), Ok(Decoded::HeapStats { .. })), "a newer version");
    assert_eq!(decode(1, 0, 8, &payload), Ok(Decoded::Unknown));
    assert_eq!(decode(9999, 0, 8, &payload), Ok(Decoded::Unknown));
}
