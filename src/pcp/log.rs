//! Backend of the `log` facade: PCP's log file (stderr, which pmdaOpenLog has redirected), in the
//! form of pmNotifyErr(3), one write(2) a line, and never more than a burst of lines whatever peers
//! do.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Lines that may come at once, and per second in the long run. Errors are always written: they are
/// few by construction.
const BURST: f64 = 200.0;
const PER_SECOND: f64 = 1.0;

/// The logger.
#[derive(Debug)]
pub struct Log {
    bucket: Mutex<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Option<Instant>,
    dropped: u64,
}

static LOG: Log = Log { bucket: Mutex::new(Bucket { tokens: BURST, at: None, dropped: 0 }) };

impl Log {
    /// Makes it the process's logger. Later calls change only the level.
    pub fn install(level: log::LevelFilter) {
        let _ = log::set_logger(&LOG);
        set_level(level);
    }
}

/// Lines above this level are not written.
pub fn set_level(level: log::LevelFilter) {
    log::set_max_level(level);
}

impl Bucket {
    /// `Some(n)`: write the line, and say that `n` were dropped before it.
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
        let mut text = String::new();
        if dropped > 0 {
            text = line(log::Level::Warn, &format!("{dropped} lines left out: too many at once"));
        }
        text += &line(record.level(), &record.args().to_string());
        // Nowhere to complain to if this fails.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    fn flush(&self) {}
}

fn line(level: log::Level, text: &str) -> String {
    let word = match level {
        log::Level::Error => "Error",
        log::Level::Warn => "Warning",
        log::Level::Info => "Info",
        log::Level::Debug | log::Level::Trace => "Debug",
    };
    // A peer's words may end up in here: one line stays one line.
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("[{}] pmdaapm({}) {word}: {clean}\n", local_time(), std::process::id())
}

/// `Sat Nov 21 03:10:54`, as pmNotifyErr writes.
fn local_time() -> String {
    let mut buffer = [0u8; 64];
    // SAFETY: time(2) accepts a null pointer.
    let now = unsafe { libc::time(std::ptr::null_mut()) };
    // SAFETY: tm is plain data.
    let mut tm: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the call; localtime_r(3) is thread-safe.
    unsafe { libc::localtime_r(&raw const now, &raw mut tm) };
    // SAFETY: strftime(3) writes at most the given number of bytes and returns how many without the
    // NUL, or 0.
    let n = unsafe {
        libc::strftime(
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            c"%a %b %e %H:%M:%S".as_ptr(),
            &raw const tm,
        )
    };
    String::from_utf8_lossy(buffer.get(..n).unwrap_or_default()).into_owned()
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
        let text = line(log::Level::Warn, "a\nb\x1b[31m");
        assert_eq!(text.matches('\n').count(), 1);
        assert!(text.ends_with("Warning: a b [31m\n") && text.starts_with('['), "{text}");
    }
}
