use super::*;

fn names(wanted: &Wanted) -> Vec<&str> {
    wanted.providers.iter().map(|p| p.name.as_str()).collect()
}

fn at(version: &str, config: &Config) -> Wanted {
    wanted(config, Version::parse(version), "apm-1", Extent::Meters)
}

fn of<'a>(wanted: &'a Wanted, name: &str) -> &'a Provider {
    wanted.providers.iter().find(|p| p.name == name).unwrap()
}

#[test]
fn a_session_is_counters_and_runtime_events() {
    for version in ["", "5.0.1", "8.0.0", "9.0.7", "10.0.9"] {
        let wanted = at(version, &Config::default());
        assert_eq!(names(&wanted), [SYSTEM_RUNTIME, RUNTIME], "{version}");
        let counters = of(&wanted, SYSTEM_RUNTIME);
        assert_eq!((counters.keywords, &*counters.arguments), (0, "EventCounterIntervalSec=1"));
        let runtime = of(&wanted, RUNTIME);
        assert_eq!((runtime.keywords, runtime.level), (0x1_C001, 4), "{version}");
        assert_eq!(runtime.only.is_empty(), version != "10.0.9", "{version}");
        assert_eq!((wanted.buffer, wanted.stacks, wanted.rundown), (16, false, 0));
        assert_eq!(wanted.left_out, 0);
    }
}

#[test]
fn programs_that_did_not_ask_for_counters_have_events_only() {
    let config = Config {
        counters: vec!["System.Net.Http".to_owned()],
        meters: vec!["Shop".to_owned()],
        providers: vec!["Shop-Orders".to_owned()],
        ..Config::default()
    };
    let wanted = wanted(&config, Version::parse("9.0.7"), "apm-1", Extent::Events);
    assert_eq!(names(&wanted), [RUNTIME, TASKS, "Shop-Orders"]);
    assert!(wanted.providers.iter().all(|entry| entry.arguments.is_empty()));
}

#[test]
fn what_costs_is_asked_for_only_if_configured() {
    let allocations = Config { allocations: true, ..Config::default() };
    let nine = at("9.0.7", &allocations);
    assert_eq!((of(&nine, RUNTIME).keywords, of(&nine, RUNTIME).level), (0x1_C001, 5));
    let ten = at("10.0.9", &allocations);
    assert_eq!((of(&ten, RUNTIME).keywords, of(&ten, RUNTIME).level), (0x800_0001_C001, 4));
    assert!(of(&ten, RUNTIME).only.contains(&303) && !of(&ten, RUNTIME).only.contains(&10));

    let locks = at("9.0.7", &Config { locks: true, ..Config::default() });
    assert!(locks.stacks, "a lock is named by a stack");
    assert_eq!(of(&locks, RUNTIME).keywords & 0x10, 0x10);

    let waits = Config { waits: true, ..Config::default() };
    assert_eq!(of(&at("8.0.1", &waits), RUNTIME).keywords & 0x400_0000_0000, 0);
    assert_eq!(of(&at("10.0.0", &waits), RUNTIME).keywords & 0x400_0000_0000, 0x400_0000_0000);
    assert!(of(&at("10.0.0", &waits), RUNTIME).only.contains(&301));

    let records = Config { records: vec!["method".into(), "assembly".into()], ..Config::default() };
    let ten = at("10.0.0", &records);
    assert_eq!((of(&ten, RUNTIME).keywords & 0x18, of(&ten, RUNTIME).level), (0x18, 5));
    assert!(!of(&ten, RUNTIME).only.contains(&10), "ticks of allocations are not asked for");
}

#[test]
fn meters_share_a_session_where_that_exists() {
    let config = Config {
        meters: ["Shop", "My*", r"Net\bytes", "a;b", "q\"", ""].map(str::to_owned).to_vec(),
        ..Config::default()
    };
    let nine = at("9.0.7", &config);
    assert_eq!(
        of(&nine, METERS).arguments,
        "SessionId=SHARED;Metrics=\"Shop,My*,Net\\bytes\";RefreshInterval=1;MaxTimeSeries=1000;\
         MaxHistograms=20;ClientId=apm-1"
    );
    assert_eq!((of(&nine, METERS).keywords, &*nine.meter_session), (2, "SHARED"));
    let more = Config { meter_series: 4000, meter_histograms: 300, ..config.clone() };
    let asked = of(&at("9.0.7", &more), METERS).arguments.clone();
    assert!(asked.contains(";MaxTimeSeries=4000;MaxHistograms=300;"), "{asked}");
    assert!(of(&at("6.0.1", &config), METERS).arguments.starts_with("SessionId=apm-1;"));
    let without = wanted(&config, Version::parse("9.0.7"), "apm-1", Extent::Counters);
    assert_eq!((names(&without), &*without.meter_session), (vec![SYSTEM_RUNTIME, RUNTIME], ""));
}

#[test]
fn entries_of_one_provider_are_joined() {
    let config = Config {
        counters: ["Shop", SYSTEM_RUNTIME].map(str::to_owned).to_vec(),
        providers: ["Shop:0xf0:5", "Other", "Third:1", &format!("{RUNTIME}:20"), "bad:x", "a:1:9"]
            .map(str::to_owned)
            .to_vec(),
        ..Config::default()
    };
    let ten = at("10.0.0", &config);
    assert_eq!(names(&ten), [SYSTEM_RUNTIME, RUNTIME, TASKS, "Shop", "Other", "Third"]);
    let shop = of(&ten, "Shop");
    assert_eq!((shop.keywords, shop.level), (0xf0, 5));
    assert_eq!(shop.arguments, "EventCounterIntervalSec=1");
    assert_eq!((of(&ten, "Other").keywords, of(&ten, "Other").level), (u64::MAX, 4));
    assert_eq!(of(&ten, RUNTIME).keywords, 0x1_C021);
    assert!(of(&ten, RUNTIME).only.is_empty(), "all of them are wanted");
    assert_eq!(ten.left_out, 2);
}

#[test]
fn a_provider_has_its_arguments() {
    let source = "Microsoft-Diagnostics-DiagnosticSource";
    let specs = "FilterAndPayloadSpecs=\"[AS]*\r\nHttp/Request:-Url=Request.Uri;b=c\"";
    let providers = vec![format!("{source}:800:5:{specs}"), "A:::K=V;W=X".to_owned()];
    let ten = at("10.0.0", &Config { providers, ..Config::default() });
    let entry = of(&ten, source);
    assert_eq!((entry.keywords, entry.level, &*entry.arguments), (0x800, 5, specs));
    assert_eq!((of(&ten, "A").level, &*of(&ten, "A").arguments), (4, "K=V;W=X"));
    assert_eq!(ten.left_out, 0);
}

#[test]
fn a_request_fits_its_size_of_16_bits() {
    let long = |i: usize| format!("{i:0>199}x");
    let config = Config {
        counters: (0..64).map(long).collect(),
        providers: (64..128).map(long).collect(),
        meters: (0..64).map(long).collect(),
        ..Config::default()
    };
    let wanted = at("10.0.0", &config);
    let bytes: usize = wanted.providers.iter().map(Provider::bytes).sum();
    assert!(bytes <= REQUEST && wanted.left_out > 0, "{bytes}, {}", wanted.left_out);
    assert_eq!(wanted.left_out + wanted.providers.len(), 4 + 128);
}

#[test]
fn a_profile_asks_for_samples_methods_and_stacks() {
    let wanted = profile(&Config::default());
    assert_eq!(names(&wanted), [SAMPLER, RUNTIME]);
    assert!(wanted.stacks && wanted.rundown == 0x2000_0018);
}

#[test]
fn versions_are_read_from_texts() {
    for (text, major, minor, patch) in [
        ("9.0.7", 9, 0, 7),
        ("10.0.0-preview.3.25171.5", 10, 0, 0),
        ("8.0.1+9ac5d", 8, 0, 1),
        ("6.0", 6, 0, 0),
        ("", 0, 0, 0),
        ("x.1", 0, 0, 0),
        ("99999999.1.1", 0, 0, 0),
    ] {
        let version = Version::parse(text);
        assert_eq!(version, Version { major, minor, patch }, "{text}");
    }
    assert!(Version::parse("10.0.1") > Version::parse("9.0.7"));
}
