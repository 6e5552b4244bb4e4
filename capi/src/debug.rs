//! The log lines of libpcp_pmda: warnings in the PMDA's log, and diagnostics with `-Dlibpmda`. Both
//! use functions of libpcp if it is loaded; this library does not need it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
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

/// Writes a line with `pmNotifyErr`, or to standard error in a process without libpcp.
#[cold]
pub(crate) fn notify(priority: c_int, text: &str) {
    let mut notify = NOTIFY.load(Ordering::Relaxed);
    if notify == 0 {
        notify = symbol(c"pmNotifyErr") as usize;
        NOTIFY.store(notify, Ordering::Relaxed);
    }
    let Ok(line) = CString::new(text.replace('\0', "")) else { return };
    if notify == 0 {
        eprintln!("{text}");
        return;
    }
    // SAFETY: dlsym(3) found libpcp's pmNotifyErr, whose type this is.
    let call = unsafe { std::mem::transmute::<usize, Notify>(notify) };
    // SAFETY: a format with one string, and a C string.
    unsafe { call(priority, c"%s".as_ptr(), line.as_ptr()) }
}

/// A line of `-Dlibpmda`; its text is built only with that option.
#[inline(always)]
pub(crate) fn report(text: impl FnOnce() -> String) {
    if on() {
        notify(libc::LOG_DEBUG, &text());
    }
}

/// The name of an event in diagnostics, where libpcp_pmda shows its address.
pub(crate) fn event(seq: Option<u64>) -> String {
    seq.map_or_else(|| "(nil)".into(), |seq| format!("0x{:x}", seq.wrapping_add(1)))
}

/// The beginning of an event, as `__pmdaEventPrint` shows it: its last byte is assumed to be a NUL.
pub(crate) fn print(event: &[u8]) -> String {
    let shown = event.len().min(64).saturating_sub(1);
    let show = |b: &u8| match b {
        b' ' | b'\t'..=b'\r' => ' ',
        b'!'..=b'~' => char::from(*b),
        _ => '.',
    };
    event.iter().take(shown).map(show).collect()
}
