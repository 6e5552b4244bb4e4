//! The log lines of libpcp_pmda: warnings in the PMDA's log, and diagnostics with `-Dlibpmda`. Both
//! use functions of libpcp if it is loaded; this library does not need it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::{self, Write};
use std::io::Write as _;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// `pmDebugOptions.libpmda`: the 16th of its ints. pcp/pmapi.h only appends, and PCP 3 had
/// `DBG_TRACE_LIBPMDA` as 1 << 15.
const LIBPMDA: usize = 15;

/// `pmNotifyErr`: a priority of syslog(3), a format, values.
type Notify = unsafe extern "C" fn(c_int, *const c_char, ...);

static OFF: c_int = 0;
/// The option of libpcp, or [`OFF`] while there is no libpcp.
static OPTION: AtomicPtr<c_int> = AtomicPtr::new((&raw const OFF).cast_mut());
static NOTIFY: AtomicUsize = AtomicUsize::new(0);

fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: dlsym(3) with a C string.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Looks for libpcp. Called when a queue or a client is created, which is before the first
/// diagnostic.
pub(crate) fn find() {
    if !std::ptr::eq(OPTION.load(Ordering::Relaxed), &raw const OFF) {
        return;
    }
    let options = symbol(c"pmDebugOptions").cast::<c_int>();
    if !options.is_null() {
        OPTION.store(options.wrapping_add(LIBPMDA), Ordering::Relaxed);
    }
}

/// `true` with `-Dlibpmda`.
#[inline(always)]
pub(crate) fn on() -> bool {
    let option = OPTION.load(Ordering::Relaxed);
    // SAFETY: `OFF`, or an int of pmDebugOptions of libpcp, which stays loaded as the PMDA uses it.
    // The read is volatile since pmSetDebug(3) writes it.
    unsafe { option.read_volatile() != 0 }
}

/// Lines of the log, each with a NUL behind it. Without memory the rest is missing.
#[derive(Default)]
pub(crate) struct Lines {
    text: Vec<u8>,
}

impl Lines {
    /// Adds a line.
    pub(crate) fn add(&mut self, line: fmt::Arguments<'_>) {
        let start = self.text.len();
        if self.write_fmt(line).is_err() || self.put(b"\0").is_err() {
            self.text.truncate(start);
        }
    }

    fn put(&mut self, bytes: &[u8]) -> fmt::Result {
        self.text.try_reserve(bytes.len()).map_err(|_| fmt::Error)?;
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the lines, without a lock of ours.
    pub(crate) fn notify(&self, priority: c_int) {
        for line in self.text.split_inclusive(|b| *b == 0) {
            if let Ok(line) = CStr::from_bytes_with_nul(line) {
                notify(priority, line);
            }
        }
    }
}

impl Write for Lines {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.as_bytes().split(|b| *b == 0).try_for_each(|part| self.put(part))
    }
}

/// Writes a line with `pmNotifyErr`, or to standard error in a process without libpcp.
#[cold]
fn notify(priority: c_int, line: &CStr) {
    let mut notify = NOTIFY.load(Ordering::Relaxed);
    if notify == 0 {
        notify = symbol(c"pmNotifyErr") as usize;
        NOTIFY.store(notify, Ordering::Relaxed);
    }
    if notify == 0 {
        let mut out = std::io::stderr().lock();
        let _ = out.write_all(line.to_bytes()).and_then(|()| out.write_all(b"\n"));
        return;
    }
    // SAFETY: dlsym(3) found libpcp's pmNotifyErr, whose type this is.
    let call = unsafe { std::mem::transmute::<usize, Notify>(notify) };
    // SAFETY: a format with one string, and a C string.
    unsafe { call(priority, c"%s".as_ptr(), line.as_ptr()) }
}

/// Writes a line.
#[cold]
pub(crate) fn say(priority: c_int, line: fmt::Arguments<'_>) {
    let mut lines = Lines::default();
    lines.add(line);
    lines.notify(priority);
}

/// A line of `-Dlibpmda`; its text is built only with that option.
macro_rules! report {
    ($($line:tt)*) => {
        if $crate::debug::on() {
            $crate::debug::say(libc::LOG_DEBUG, format_args!($($line)*));
        }
    };
}
pub(crate) use report;

/// The name of an event in diagnostics, where libpcp_pmda shows its address.
pub(crate) struct Event(pub(crate) Option<u64>);

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(seq) => write!(f, "0x{:x}", seq.wrapping_add(1)),
            None => f.write_str("(nil)"),
        }
    }
}

/// The beginning of an event, as `__pmdaEventPrint` shows it: its last byte is assumed to be a NUL.
pub(crate) struct Beginning<'e>(pub(crate) &'e [u8]);

impl fmt::Display for Beginning<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.len().min(64).saturating_sub(1);
        let show = |b: &u8| match b {
            b' ' | b'\t'..=b'\r' => ' ',
            b'!'..=b'~' => char::from(*b),
            _ => '.',
        };
        self.0.iter().take(shown).map(show).try_for_each(|c| f.write_char(c))
    }
}
