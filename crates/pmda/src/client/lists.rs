//! Lists that libpcp allocates.

use std::ffi::{c_char, c_int};
use std::ptr;

use pcp_sys as sys;

use super::context::status;
use crate::cstring;
use crate::error::Error;
use crate::ids::InDom;

/// Names, each with a number.
pub(super) struct Names;

impl Names {
    /// Copies both lists and frees them.
    ///
    /// # Safety
    /// Both must be null or lists of `number`, the names C strings; the lists are each one block of malloc(3).
    pub(super) unsafe fn take(
        number: c_int,
        names: *mut *mut c_char,
        numbers: *mut c_int,
    ) -> (Vec<String>, Vec<c_int>) {
        let length = usize::try_from(number).unwrap_or_default();
        if length == 0 || names.is_null() || numbers.is_null() {
            return (Vec::new(), Vec::new());
        }
        // SAFETY: the caller promises a list of so many.
        let texts = unsafe { std::slice::from_raw_parts(names, length) };
        // SAFETY: the caller promises C strings.
        let texts = texts.iter().map(|text| unsafe { cstring::copy(*text) }.unwrap_or_default());
        let texts = texts.collect();
        // SAFETY: the caller promises a list of so many.
        let found = unsafe { std::slice::from_raw_parts(numbers, length) }.to_vec();
        // SAFETY: the caller promises one block of malloc(3), which is not used any more.
        unsafe { libc::free(names.cast()) };
        // SAFETY: the caller promises one block of malloc(3), which is not used any more.
        unsafe { libc::free(numbers.cast()) };
        (texts, found)
    }
}

/// Of the current context.
pub(super) fn instances(of: InDom, archive: bool) -> Result<Vec<(i32, String)>, Error> {
    let (mut numbers, mut names) = (ptr::null_mut(), ptr::null_mut());
    let ask = if archive { sys::pmGetInDomArchive } else { sys::pmGetInDom };
    // SAFETY: pmGetInDom(3) sets both pointers to lists of as many as it returns.
    let number = status(unsafe { ask(of.0, &raw mut numbers, &raw mut names) })?;
    // SAFETY: pmGetInDom(3): so many of both, each list of one block of malloc(3).
    let (names, numbers) = unsafe { Names::take(number, names, numbers) };
    Ok(numbers.into_iter().zip(names).collect())
}

/// Of the current context.
pub(super) fn labels(of: InDom) -> Result<Vec<(u32, String)>, Error> {
    let mut sets = ptr::null_mut();
    // SAFETY: pmGetInstancesLabels(3) sets the pointer to as many sets as it returns.
    let number = status(unsafe { sys::pmGetInstancesLabels(of.0, &raw mut sets) })?;
    let length = usize::try_from(number).unwrap_or_default();
    if sets.is_null() || length == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: pmGetInstancesLabels(3): so many sets.
    let all = unsafe { std::slice::from_raw_parts(sets, length) };
    let mut found = Vec::with_capacity(length);
    for set in all.iter().filter(|set| set.nlabels > 0 && !set.json.is_null()) {
        let size = usize::try_from(set.jsonlen()).unwrap_or_default();
        // SAFETY: pmLookupLabels(3): so many bytes of text.
        let json = unsafe { std::slice::from_raw_parts(set.json.cast::<u8>(), size) };
        let end = json.iter().position(|byte| *byte == 0).unwrap_or(size);
        let json = json.get(..end).unwrap_or_default();
        found.push((set.inst, String::from_utf8_lossy(json).into_owned()));
    }
    // SAFETY: pmFreeLabelSets(3): the sets of pmGetInstancesLabels(3), which nothing uses any more.
    unsafe { sys::pmFreeLabelSets(sets, number) };
    Ok(found)
}
