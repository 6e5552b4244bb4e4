//! Backend of the [`log`] facade: PCP's log file (stderr, which pmdaOpenLog(3) has redirected), in
//! the form of pmNotifyErr(3), one write(2) per line, with a limit on the rate of lines.

use std::io::Write;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Lines written at once, and lines per second in the long run. Errors are always written.
const BURST: f64 = 200.0;
const PER_SECOND: f64 = 1.0;

/// The logger of a PMDA: at most 200 lines at once and one a second after that, errors excepted.
#[derive(Debug)]
pub struct Log {
    name: OnceLock<String>,
    bucket: Mutex<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Option<Instant>,
    dropped: u64,
}

static LOG: Log = Log {
    name: OnceLock::new(),
    bucket: Mutex::new(Bucket { tokens: BURST, at: None, dropped: 0 }),
};

/// Read once: not every thread may open files later.
static ZONE: LazyLock<TimeZone> = LazyLock::new(TimeZone::system);

impl Log {
    /// Installs the process's logger, whose lines begin with the program's name and process number.
    /// Later calls change only the level.
    pub fn install(name: &str, level: log::LevelFilter) {
        LOG.name.get_or_init(|| name.to_owned());
        LazyLock::force(&ZONE);
        let _ = log::set_logger(&LOG);
        log::set_max_level(level);
    }
}

impl Bucket {
    /// Whether a line is written: `Some(n)` after `n` dropped lines.
    fn take(&mut self, now: Instant) -> Option<u64> {
        let passed = self.at.map_or(0.0, |at| now.duration_since(at).as_secs_f64());
        self.at = Some(now);
        self.tokens = (self.tokens + passed * PER_SECOND).min(BURST);
        if self.tokens < 1.0 {
            self.dropped += 1;
            return None;
        }
        self.tokens -= 1.0;
        Some(std::mem::take(&mut self.dropped))
    }
}

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let allowed =
            self.bucket.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now());
        let dropped = match allowed {
            Some(dropped) => dropped,
            None if record.level() == log::Level::Error => 0,
            None => return,
        };
        let name = self.name.get().map_or("pmda", String::as_str);
        let mut text = String::new();
        if dropped > 0 {
            let dropped = format!("{dropped} lines left out: too many at once");
            text = line(name, log::Level::Warn, &dropped);
        }
        text += &line(name, record.level(), &record.args().to_string());
        // A failure cannot be reported anywhere else.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    fn flush(&self) {}
}

fn line(name: &str, level: log::Level, text: &str) -> String {
    let word = match level {
        log::Level::Error => "Error",
        log::Level::Warn => "Warning",
        log::Level::Info => "Info",
        log::Level::Debug | log::Level::Trace => "Debug",
    };
    // The text may come from outside: control characters must not split the line.
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("[{}] {name}({}) {word}: {clean}\n", local_time(), std::process::id())
}

/// `Sat Nov 21 03:10:54`, as pmNotifyErr(3) writes.
fn local_time() -> String {
    Timestamp::now().to_zoned(ZONE.clone()).strftime("%a %b %e %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_flood_is_cut_and_counted() {
        let mut b = Bucket { tokens: BURST, at: None, dropped: 0 };
        let start = Instant::now();
        let written = (0..1000).filter(|_| b.take(start).is_some()).count();
        assert_eq!(written, 200);
        assert_eq!(b.take(start + Duration::from_secs(1)), Some(800));
        assert_eq!(b.take(start + Duration::from_secs(1)), None);
    }

    #[test]
    fn one_line_stays_one_line() {
        let text = line("pmdasimple", log::Level::Warn, "a\nb\x1b[31m");
        assert_eq!(text.matches('\n').count(), 1);
        let end = format!("] pmdasimple({}) Warning: a b [31m\n", std::process::id());
        assert!(text.ends_with(&end) && text.starts_with('['), "{text}");
    }
}
