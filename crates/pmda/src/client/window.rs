//! Times as users of PCP write them: -S, -T, -O, -A, -t, -Z.

use std::ffi::{CString, c_char, c_int};
use std::fmt;
use std::ptr;
use std::time::Duration;

use pcp_sys as sys;

use super::context::{Context, status};
use crate::cstring;
use crate::error::Error;

/// The part of an archive that was asked for, in ns since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first moment.
    pub start: i64,
    /// The last one.
    pub finish: i64,
}

/// The time zone of times that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeZone {
    /// That of the context's host.
    Host,
    /// As in TZ.
    Named(String),
}

impl Context {
    /// Sets the time zone.
    ///
    /// # Errors
    /// libpcp's.
    pub fn zone(&self, zone: &TimeZone) -> Result<(), Error> {
        self.here()?;
        match zone {
            // SAFETY: pmNewContextZone(3) is of the current context.
            TimeZone::Host => status(unsafe { sys::pmNewContextZone() }),
            TimeZone::Named(name) => {
                let name = cstring::cut(name);
                // SAFETY: pmNewZone(3) copies the name.
                status(unsafe { sys::pmNewZone(name.as_ptr()) })
            }
        }
        .map(drop)
    }

    /// The whole archive.
    ///
    /// # Errors
    /// libpcp's.
    pub fn whole(&self) -> Result<Window, Error> {
        self.here()?;
        // SAFETY: zeros are a sound label.
        let mut label: sys::pmLogLabel = unsafe { std::mem::zeroed() };
        // SAFETY: pmGetArchiveLabel(3) fills the label that it is given.
        status(unsafe { sys::pmGetArchiveLabel(&raw mut label) })?;
        let mut end = sys::stamp(0, 0);
        // SAFETY: pmGetArchiveEnd(3) fills the time that it is given.
        status(unsafe { sys::pmGetArchiveEnd(&raw mut end) })?;
        Ok(Window { start: nanoseconds(&sys::label_start(&label)), finish: nanoseconds(&end) })
    }

    /// The part of an archive that four texts say: -S, -T, -A and -O.
    ///
    /// # Errors
    /// What is wrong with them, in libpcp's words.
    pub fn window(&self, times: &[Option<String>; 4]) -> Result<Window, String> {
        let whole = self.whole().map_err(|e| e.to_string())?;
        let texts = times.each_ref().map(|text| text.as_deref().map(cstring::cut));
        let [start, finish, align, origin] = texts.each_ref().map(pointer);
        let (first, last) = (stamp(whole.start), stamp(whole.finish));
        let (mut from, mut to, mut at) = (sys::stamp(0, 0), sys::stamp(0, 0), sys::stamp(0, 0));
        let mut error: *mut c_char = ptr::null_mut();
        // SAFETY: pmParseTimeWindow(3): texts may be null, and the times are there.
        let code = unsafe {
            sys::pmParseTimeWindow(
                start,
                finish,
                align,
                origin,
                &raw const first,
                &raw const last,
                &raw mut from,
                &raw mut to,
                &raw mut at,
                &raw mut error,
            )
        };
        said(code, error)?;
        let begin = if texts[3].is_some() { &at } else { &from };
        Ok(Window { start: nanoseconds(begin), finish: nanoseconds(&to).min(whole.finish) })
    }
}

/// `-t`: `2 sec`, `1.5`.
///
/// # Errors
/// What is wrong with it, in libpcp's words.
pub fn interval(text: &str) -> Result<Duration, String> {
    let text = cstring::cut(text);
    let mut found = sys::stamp(0, 0);
    let mut error: *mut c_char = ptr::null_mut();
    // SAFETY: pmParseInterval(3) fills the time, or sets the error.
    let code = unsafe { sys::pmParseInterval(text.as_ptr(), &raw mut found, &raw mut error) };
    said(code, error)?;
    Ok(Duration::from_nanos(u64::try_from(nanoseconds(&found)).unwrap_or_default()))
}

/// The message of a parser of libpcp, which is to be freed.
fn said(code: c_int, error: *mut c_char) -> Result<(), String> {
    if code >= 0 {
        return Ok(());
    }
    // SAFETY: pmParseInterval(3), pmParseTimeWindow(3): null, or a C string.
    let text = unsafe { cstring::copy(error) };
    if !error.is_null() {
        // SAFETY: pmParseInterval(3), pmParseTimeWindow(3): of malloc(3), and not used any more.
        unsafe { libc::free(error.cast()) };
    }
    Err(text.unwrap_or_else(|| "no time".to_owned()).trim_end().to_owned())
}

fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}

fn nanoseconds(stamp: &sys::Stamp) -> i64 {
    let (seconds, nanoseconds) = sys::stamp_parts(stamp);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

fn stamp(at: i64) -> sys::Stamp {
    sys::stamp(at.div_euclid(1_000_000_000), at.rem_euclid(1_000_000_000))
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.start, self.finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_pcps() {
        assert_eq!(interval("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(interval("2 min"), Ok(Duration::from_secs(120)));
        assert!(interval("soon").is_err());
    }
}
