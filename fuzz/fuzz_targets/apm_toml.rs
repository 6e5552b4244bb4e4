//! Texts of apm.toml. A text is refused with a message that names a place within it, or it is a
//! configuration: the same when read again and with a comment behind it, with all bounds in order,
//! and with lines of `--check` that a terminal can show.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pmdaapm::config::Config;
use pmdaapm::sources::registry::Sections;

type Whole = Config<Sections>;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let config = match Whole::parse(text) {
        Ok(config) => config,
        Err(e) => {
            if let Some(span) = e.span() {
                assert!(span.start <= span.end && span.end <= text.len(), "{span:?}");
            }
            let shown = e.to_string();
            assert!(!shown.trim().is_empty());
            assert_eq!(Whole::parse(text).map_err(|e| e.to_string()), Err(shown));
            return;
        }
    };
    assert_eq!(Whole::parse(&format!("{text}\n# more\n")).as_ref(), Ok(&config));
    assert!(config.needs_restart(&config).is_empty());
    let limits = config.limits();
    assert!(config.event_memory() <= limits.memory);
    assert!(limits.peer_memory <= limits.memory || limits.memory == 0, "{limits:?}");
    assert!(limits.instances > 0 && limits.name_length > 0 && limits.max_records > 0, "{limits:?}");
    let _ = config.rights();
    for line in config.sources.describe() {
        assert!(!line.contains(char::is_control), "{line:?}");
    }
});
