//! Tests of the sections of the PMDA itself; `sources/registry_tests.rs` tests the whole file.

use std::net::SocketAddr;
use std::time::Duration;

use super::*;

/// Two sources, one with a section that has a key.
#[derive(Clone, Debug, Default, PartialEq)]
struct Two {
    demo: Demo,
    other: Demo,
}

crate::section! {
    /// `[demo]`
    #[allow(unreachable_pub, reason = "a test")]
    Demo;

    /// Where peers connect to.
    #[serde(deserialize_with = "units::listen")]
    listen: Option<SocketAddr> = None, r#""""#, "ADDRESS:PORT";
}

impl Sections for Two {
    const NAMES: &'static [&'static str] = &["demo", "other"];
    const KEYS: &'static [&'static [Key]] = &[Demo::KEYS, Demo::KEYS];

    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let section = if name == "demo" { &mut self.demo } else { &mut self.other };
        *section = map.next_value()?;
        Ok(())
    }
}

fn parse(text: &str) -> Result<Config<Two>, String> {
    Config::parse(text).map_err(|e| e.to_string())
}

#[test]
fn an_empty_file_is_the_defaults() {
    assert_eq!(parse(""), Ok(Config::default()));
}

#[test]
fn units_are_understood() {
    let text = "[events]\nmemory='1 MiB'\n[limits]\nstale='2min'\n[demo]\nlisten='[::1]:7'\n\
        [log]\nlevel='DEBUG'";
    let c = parse(text).expect("sound");
    assert_eq!((c.events.memory, c.limits.stale), (1 << 20, Duration::from_secs(120)));
    assert_eq!(c.sources.demo.listen.map(|a| a.port()), Some(7));
    assert_eq!(c.log.level, log::LevelFilter::Debug);
}

#[test]
fn errors_name_the_place_and_what_is_allowed() {
    for (text, parts) in [
        (
            "[demo]\nlissen = 'x'",
            &["line 2", "column 1", "unknown field `lissen`", "`listen`"] as &[_],
        ),
        ("[demmo]", &["line 1, column 2", "unknown field `demmo`", "`demo`, `other`, `events`"]),
        ("[demo]\nlisten = '127.0.0.1'", &["line 2", "column 10", "ADDRESS:PORT"]),
        ("[demo]\nlisten = '127.0.0.1:99999'", &["ADDRESS:PORT"]),
        ("[events]\nmemory = '12 parsecs'", &["line 2, column 10", "KiB", "MiB"]),
        ("[events]\nmemory = 1", &["line 2", "between 256KiB and 16GiB"]),
        ("[events]\nmax_records = 0", &["between 1 and 100000"]),
        ("[events]\nallow_users = 3", &["line 2, column 15", "expected a sequence"]),
        (
            "[events]\n\nmax_record = 1",
            &["line 3, column 1", "unknown field `max_record`", "`max_records`", "`demo`"],
        ),
        ("[events.demo]\nallow = 1", &["line 2, column 1", "unknown field `allow`"]),
        ("[access]\nallow_hosts = ['x']", &["line 2, column 15"]),
        ("[trees]\ncount = 101", &["line 2", "between 1 and 100"]),
        ("events = 1", &["line 1, column 10", "expected a table"]),
        ("[limits]\nstale = '5 fortnights'", &["line 2", "10s", "min"]),
        ("[log]\nlevel = 'loud'", &["error", "warn", "info", "debug", "trace"]),
        ("[demo\n", &["line 1"]),
    ] {
        let message = parse(text).expect_err("must be refused");
        for part in parts {
            assert!(message.contains(part), "{text:?} gave {message:?}, without {part:?}");
        }
    }
}

#[test]
fn a_source_or_a_kind_of_request_has_its_own_rights_or_those_of_its_section() {
    let text = "[events]\nallow_uids=[5]\n[events.demo]\nallow_groups=['perf']\n\
        [access]\nallow_users=['ann']\n[access.filter]\nallow_remote=true";
    let rights = parse(text).expect("sound").rights();
    assert_eq!(rights.events[0].groups, ["perf"]);
    assert_eq!((&rights.events[0].uids[..], &rights.events[1].uids[..]), (&[][..], &[5][..]));
    assert_eq!(rights.control.users, ["ann"]);
    assert!(rights.filter.users.is_empty() && rights.filter.remote && !rights.control.remote);
    let error = parse("[access.controll]\n").expect_err("must be refused");
    assert!(error.contains("unknown field `controll`"));
}

#[test]
fn clients_of_pmproxy_read_and_store_only_if_told_so() {
    for (text, reads, stores) in [
        ("", false, false),
        ("[access]\npmproxy = 'remote'", false, false),
        ("[access]\npmproxy = 'read'", true, false),
        ("[access]\npmproxy = 'store'\n[access.control]\nallow_uids = [7]", true, true),
    ] {
        let rights = parse(text).expect("sound").rights();
        assert!(rights.events.iter().all(|allow| allow.pmproxy == reads), "{text}");
        assert!(
            [&rights.control, &rights.filter].iter().all(|allow| allow.pmproxy == stores),
            "{text}"
        );
    }
    let error = parse("[access]\npmproxy = 'all'").expect_err("must be refused");
    assert!(error.contains("`remote`, `read`, `store`"), "{error}");
}

#[test]
fn a_reload_reports_what_needs_a_restart() {
    let old = parse("").expect("sound");
    let new = parse("[events]\nmax_records = 5").expect("sound");
    assert!(old.needs_restart(&new).is_empty());
    let new = parse("[limits]\npending = 5").expect("sound");
    assert_eq!(old.needs_restart(&new), ["limits.pending"]);
}

#[test]
fn the_default_limits_are_those_of_the_store() {
    assert_eq!(parse("").expect("sound").limits(), Limits::default());
}

#[test]
fn patterns_of_texts_say_where_they_are_wrong() {
    let config = parse(
        "[redact]\npatterns = ['(?i)key=\\w+', '\\d{16}']\nreplace = '#'\n[labels]\ncommand = true",
    )
    .expect("sound");
    let limits = config.limits();
    assert_eq!(limits.redact.text("a Key=1 of 4111111111111111"), "a # of #");
    assert!(limits.command_label && Config::<Two>::default().limits().redact.is_empty());
    let many = format!("[redact]\npatterns = [{}]", "'x',".repeat(33));
    for (text, parts) in [
        (
            "[redact]\npatterns = ['a',\n  '(b']",
            &["line 2, column 12", "\"(b\": unclosed group"][..],
        ),
        ("[redact]\npatterns = ['a*']", &["line 2, column 12", "where there is nothing"]),
        ("[redact]\nreplace = ''", &["line 2, column 11", "1 to 16 ASCII"]),
        ("[redact]\nreplace = 'a b'", &["line 2, column 11"]),
        ("[redact]\npattern = []", &["line 2, column 1", "`patterns`"]),
        ("[labels]\ncommand = 1", &["line 2, column 11"]),
        (&many, &["line 2, column 12", "at most 32 patterns, not 33"]),
    ] {
        let error = parse(text).expect_err(text).to_string();
        for part in parts {
            assert!(error.contains(part), "{part} is not in: {error}");
        }
    }
}
