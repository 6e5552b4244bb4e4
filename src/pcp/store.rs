//! `pmstore`: requests to peers.

use super::state::State;
use super::sys;
use super::text::to_string;
use crate::model::{Control, ControlVerb, Origin};
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// Most bytes of a request.
const REQUEST_MAX: usize = 4096;

/// One value of a store request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) pmid: u32,
    pub(super) inst: u32,
    pub(super) text: Result<String, c_int>,
}

/// All values of a `pmdaResult`.
pub(super) fn requests(result: *const sys::PmdaResult) -> Vec<Request> {
    let mut all = Vec::new();
    // SAFETY: libpcp_pmda passes a decoded result that lives during the callback.
    let Some(result) = (unsafe { result.as_ref() }) else { return all };
    let sets = result.vset.as_ptr();
    for i in 0..usize::try_from(result.numpmid).unwrap_or_default() {
        // SAFETY: vset is declared with one element and holds numpmid of them.
        let set = unsafe { *sets.add(i) };
        // SAFETY: each element points to a value set of the same result.
        let Some(set) = (unsafe { set.as_ref() }) else { continue };
        let values = set.vlist.as_ptr();
        for j in 0..usize::try_from(set.numval).unwrap_or_default() {
            // SAFETY: vlist is declared with one element and holds numval of them.
            let value = unsafe { values.add(j) };
            // SAFETY: as above.
            let inst = unsafe { (*value).inst };
            all.push(Request { pmid: set.pmid, inst: inst.cast_unsigned(), text: text(set.valfmt, value) });
        }
    }
    all
}

fn text(format: c_int, value: *const sys::pmValue) -> Result<String, c_int> {
    let mut atom = MaybeUninit::<sys::pmAtomValue>::uninit();
    let string = sys::PM_TYPE_STRING.cast_signed();
    // SAFETY: the value is of the result being stored; on success a malloc'ed C string is in `cp`.
    let sts = unsafe { sys::pmExtractValue(format, value, string, atom.as_mut_ptr(), string) };
    if sts < 0 {
        return Err(sts);
    }
    // SAFETY: pmExtractValue has set the string member.
    let s = unsafe { atom.assume_init().cp };
    let text = to_string(s).unwrap_or_default();
    // SAFETY: pmExtractValue(3): the caller frees string values.
    unsafe { libc::free(s.cast()) };
    Ok(text)
}

impl State {
    /// Passes a request on to the task that talks to the peer; the answer comes later, in the metric and the log.
    pub(super) fn request(&self, request: Request, ctx: i32) -> c_int {
        let Some(row) = self.entries.by_pmid(request.pmid) else { return sys::PM_ERR_PMID };
        let Origin::Control(verb) = row.origin else { return sys::PM_ERR_PERMISSION };
        let text = match request.text {
            Ok(text) if text.len() <= REQUEST_MAX && (verb == ControlVerb::List || !text.trim().is_empty()) => text,
            Ok(_) => return sys::PM_ERR_BADSTORE,
            Err(sts) => return sts,
        };
        let serial = super::entries::Entries::serial(row.area, row.source).unwrap_or_default();
        let Some(peer) = self.domains.peer(serial, request.inst) else { return sys::PM_ERR_INST };
        let who = self.contexts.get(&ctx).and_then(|c| c.uid).map_or("an unknown user".into(), |uid| format!("uid {uid}"));
        log::info!("{}: {} {text:?} requested by {who}", peer.agent_name(), row.name);
        if !peer.post(Control::Request(verb, text)) {
            peer.set_answer(verb, "not connected");
            return sys::PM_ERR_AGAIN;
        }
        0
    }
}
