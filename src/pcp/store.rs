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

/// All values of a `pmdaResult`, which libpcp_pmda has decoded and which lives during the callback.
///
/// C declares `vset` and `vlist` with one element and allocates as many as the counts say, so they are walked by raw
/// pointers that stem from the whole structure.
pub(super) fn requests(result: *const sys::PmdaResult) -> Vec<Request> {
    let mut all = Vec::new();
    // SAFETY: a valid result, see above.
    let count = unsafe { (*result).numpmid };
    // SAFETY: as above; only an address is taken.
    let sets = unsafe { &raw const (*result).vset }.cast::<*const sys::pmValueSet>();
    for i in 0..usize::try_from(count).unwrap_or_default() {
        // SAFETY: i is below numpmid.
        let place = unsafe { sets.add(i) };
        // SAFETY: as above.
        let set = unsafe { place.read() };
        // SAFETY: each element points to a value set of the same result.
        let pmid = unsafe { (*set).pmid };
        // SAFETY: as above.
        let format = unsafe { (*set).valfmt };
        // SAFETY: as above.
        let values = unsafe { (*set).numval };
        // SAFETY: as above; only an address is taken.
        let list = unsafe { &raw const (*set).vlist }.cast::<sys::pmValue>();
        for j in 0..usize::try_from(values).unwrap_or_default() {
            // SAFETY: j is below numval.
            let value = unsafe { list.add(j) };
            // SAFETY: as above.
            let inst = unsafe { (*value).inst };
            all.push(Request { pmid, inst: inst.cast_unsigned(), text: text(format, value) });
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
    // SAFETY: pmExtractValue has set the atom.
    let atom = unsafe { atom.assume_init() };
    // SAFETY: a string was asked for, so `cp` is the member in use.
    let s = unsafe { atom.cp };
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
        let all = self.domains.instances(serial);
        let who = self.contexts.get(&ctx).and_then(|c| c.uid).map_or("an unknown user".into(), |uid| format!("uid {uid}"));
        let mut taken = false;
        // pmproxy stores to no instance in particular when none is named: that means all who are connected.
        let everyone = request.inst == super::fetch::NO_INSTANCE;
        let meant = all.into_iter().flatten().filter(|(inst, p)| **inst == request.inst || everyone && p.life.up());
        let mut known = everyone;
        for (_, peer) in meant {
            known = true;
            log::info!("{}: {} {text:?} requested by {who}", peer.agent_name(), row.name);
            if peer.post(Control::Request(verb, text.clone())) {
                taken = true;
            } else {
                peer.set_answer(verb, "not connected");
            }
        }
        match (known, taken) {
            (false, _) => sys::PM_ERR_INST,
            (true, false) => sys::PM_ERR_AGAIN,
            (true, true) => 0,
        }
    }
}
