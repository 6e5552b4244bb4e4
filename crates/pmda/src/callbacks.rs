//! The functions that libpcp_pmda calls. Each converts its arguments, runs the handler inside
//! `catch_unwind`, and maps the result to a status.

use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use pcp_event::Pmid;
use pcp_sys as sys;

use crate::fetch::{Budget, FetchRequest, Profile};
use crate::hosted::{with, with_handler};
use crate::ids::{Attribute, ContextId, InDom, LabelTarget, TextTarget};
use crate::process::{thread_time, work_time, work_time_with};
use crate::store::StoreRequest;
use crate::{cstring, labels, store};

/// A panic becomes `PM_ERR_GENERIC` instead of unwinding into C. The panic hook has reported it.
fn guard(f: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or(sys::PM_ERR_GENERIC)
}

/// Sets all callbacks, before pmdaInit(3).
pub(crate) fn register(dispatch: &mut sys::pmdaInterface) {
    // SAFETY: the union member `seven` is the one in use: pmdaDaemon(3) was called with
    // PMDA_INTERFACE_7.
    let seven = unsafe { &mut dispatch.version.seven };
    // profile and desc stay libpcp_pmda's defaults, which use the metric table.
    seven.instance = Some(instance);
    seven.fetch = Some(fetch);
    seven.text = Some(text);
    seven.store = Some(pmstore);
    seven.pmid = Some(pmid);
    seven.name = Some(name);
    seven.children = Some(children);
    seven.attribute = Some(attribute);
    seven.label = Some(label);
    // SAFETY: dispatch is initialised; the functions live for ever.
    unsafe { sys::pmdaSetLabelCallBack(dispatch, Some(instance_labels)) };
    // SAFETY: as above.
    unsafe { sys::pmdaSetEndContextCallBack(dispatch, Some(end_context)) };
}

/// Sets the callback that pmdaInit(3) overwrites: results must not be freed.
pub(crate) fn register_result(dispatch: &mut sys::pmdaInterface) {
    // SAFETY: dispatch is initialised; the function lives for ever.
    unsafe { sys::pmdaSetResultCallBack(dispatch, Some(sent)) };
}

unsafe extern "C" fn fetch(
    n: c_int,
    pmids: *mut sys::pmID,
    result: *mut *mut sys::PmdaResult,
    ext: *mut sys::pmdaExt,
) -> c_int {
    guard(|| {
        let count = usize::try_from(n).unwrap_or_default();
        let pmids = if count == 0 {
            &[]
        } else {
            // SAFETY: libpcp_pmda passes n PMIDs.
            unsafe { std::slice::from_raw_parts(pmids, count) }
        };
        // SAFETY: libpcp_pmda passes its own state.
        let context = ContextId(unsafe { (*ext).e_context });
        // SAFETY: as above; pmdaProfile(3) keeps the last profile there.
        let profile = unsafe { (*ext).e_prof };
        // SAFETY: the profile does not change during a callback.
        let profile = unsafe { Profile::new(profile) };
        let request = FetchRequest { context, pmids, profile };
        let answer = with(|hosted| {
            let handler = Rc::clone(&hosted.handler);
            let limits = handler.borrow().fetch_limits();
            let now = work_time_with(hosted.allowance.began());
            hosted.results.begin(pmids.len(), Budget::new(pmids.len(), limits, now, work_time));
            handler.borrow_mut().fetch(&request, &mut hosted.tables, &mut hosted.results);
            // With this flag pmcd reports changed names to its clients.
            let changed = std::mem::take(&mut hosted.names_changed);
            let status = if changed { sys::PMCD_NAMES_CHANGE } else { 0 };
            hosted.results.finish(u8::try_from(status).unwrap_or_default())
        });
        let Some(answer) = answer else { return sys::PM_ERR_GENERIC };
        // SAFETY: libpcp_pmda passes a place for the result, which it reads before the next
        // request.
        unsafe { *result = answer };
        0
    })
}

/// Frees nothing: the answer is in Rust's memory.
unsafe extern "C" fn sent(_: *mut sys::PmdaResult) {}

unsafe extern "C" fn instance(
    indom: sys::pmInDom,
    inst: c_int,
    name: *mut c_char,
    result: *mut *mut sys::pmInResult,
    ext: *mut sys::pmdaExt,
) -> c_int {
    guard(|| {
        with_handler(|handler, tables| handler.refresh(InDom(indom), tables));
        // SAFETY: the arguments of this callback are passed on unchanged; the domain's table stays
        // until the next refresh.
        unsafe { sys::pmdaInstance(indom, inst, name, result, ext) }
    })
}

unsafe extern "C" fn text(
    ident: c_int,
    kind: c_int,
    buffer: *mut *mut c_char,
    ext: *mut sys::pmdaExt,
) -> c_int {
    guard(|| {
        let (id, bits) = (ident.cast_unsigned(), kind.cast_unsigned());
        let target = if bits & sys::PM_TEXT_PMID != 0 {
            TextTarget::Metric(Pmid(id))
        } else {
            TextTarget::InDom(InDom(id))
        };
        let one_line = bits & sys::PM_TEXT_ONELINE != 0;
        let found = with_handler(|handler, _| handler.text(target, one_line)).flatten();
        let Some(found) = found else {
            // SAFETY: the arguments of this callback are passed on unchanged.
            return unsafe { sys::pmdaText(ident, kind, buffer, ext) };
        };
        let place = with(|hosted| {
            hosted.text = cstring::cut(&found);
            hosted.text.as_ptr().cast_mut()
        });
        let Some(place) = place else { return sys::PM_ERR_TEXT };
        // SAFETY: libpcp_pmda passes a place for the pointer and copies the text before the next
        // request.
        unsafe { *buffer = place };
        0
    })
}

unsafe extern "C" fn pmstore(result: *mut sys::PmdaResult, ext: *mut sys::pmdaExt) -> c_int {
    guard(|| {
        // SAFETY: libpcp_pmda passes its own state.
        let context = ContextId(unsafe { (*ext).e_context });
        // SAFETY: libpcp_pmda passes the decoded request, which lives during the callback.
        let values = unsafe { store::values(result) };
        let request = StoreRequest { context, values };
        match with_handler(|handler, _| handler.store(&request)) {
            Some(Ok(())) => 0,
            Some(Err(error)) => error.code(),
            None => sys::PM_ERR_GENERIC,
        }
    })
}

unsafe extern "C" fn pmid(
    wanted: *const c_char,
    found: *mut sys::pmID,
    _: *mut sys::pmdaExt,
) -> c_int {
    guard(|| {
        // SAFETY: the arguments of this callback are passed on unchanged.
        with(|hosted| unsafe { hosted.tables.names().pmid(wanted, found) })
            .unwrap_or(sys::PM_ERR_NAME)
    })
}

unsafe extern "C" fn name(
    wanted: sys::pmID,
    found: *mut *mut *mut c_char,
    _: *mut sys::pmdaExt,
) -> c_int {
    guard(|| {
        // SAFETY: the arguments of this callback are passed on unchanged.
        with(|hosted| unsafe { hosted.tables.names().name(wanted, found) })
            .unwrap_or(sys::PM_ERR_PMID)
    })
}

unsafe extern "C" fn children(
    parent: *const c_char,
    traverse: c_int,
    kids: *mut *mut *mut c_char,
    status: *mut *mut c_int,
    _: *mut sys::pmdaExt,
) -> c_int {
    guard(|| {
        // SAFETY: the arguments of this callback are passed on unchanged.
        with(|hosted| unsafe { hosted.tables.names().children(parent, traverse, kids, status) })
            .unwrap_or(sys::PM_ERR_NAME)
    })
}

unsafe extern "C" fn attribute(
    context: c_int,
    key: c_int,
    value: *const c_char,
    _: c_int,
    _: *mut sys::pmdaExt,
) -> c_int {
    guard(|| {
        // SAFETY: libpcp_pmda passes null or a C string.
        let value = unsafe { cstring::copy(value) };
        let attribute = Attribute::new(key, value);
        with_handler(|handler, _| handler.attribute(ContextId(context), attribute));
        0
    })
}

unsafe extern "C" fn label(
    ident: c_int,
    level: c_int,
    set: *mut *mut sys::pmLabelSet,
    ext: *mut sys::pmdaExt,
) -> c_int {
    guard(|| {
        let (id, bits) = (ident.cast_unsigned(), level.cast_unsigned());
        let target = match bits {
            sys::PM_LABEL_DOMAIN => Some(LabelTarget::Domain),
            sys::PM_LABEL_INDOM => Some(LabelTarget::InDom(InDom(id))),
            sys::PM_LABEL_CLUSTER => Some(LabelTarget::Cluster(Pmid(id).cluster())),
            sys::PM_LABEL_ITEM => Some(LabelTarget::Metric(Pmid(id))),
            _ => None,
        };
        let found = target.and_then(|target| with_handler(|handler, _| handler.labels(target)));
        if let Some(found) = found.flatten() {
            // SAFETY: `set` is libpcp_pmda's.
            let sts = unsafe { labels::add(set, &found) };
            if sts < 0 {
                return sts;
            }
        }
        if bits == sys::PM_LABEL_INSTANCES {
            with_handler(|handler, tables| handler.refresh(InDom(id), tables));
        }
        // SAFETY: the arguments of this callback are passed on unchanged; instances come through
        // `instance_labels`.
        unsafe { sys::pmdaLabel(ident, level, set, ext) }
    })
}

unsafe extern "C" fn instance_labels(
    indom: sys::pmInDom,
    inst: u32,
    set: *mut *mut sys::pmLabelSet,
) -> c_int {
    guard(|| {
        // A domain may have 100,000 instances: instances beyond the time limit get no labels in
        // this answer.
        if with(|hosted| hosted.allowance.next(thread_time)) != Some(true) {
            return 0;
        }
        let target = LabelTarget::Instance(InDom(indom), inst);
        match with_handler(|handler, _| handler.labels(target)).flatten() {
            // SAFETY: `set` is libpcp_pmda's.
            Some(found) => unsafe { labels::add(set, &found) },
            None => 0,
        }
    })
}

unsafe extern "C" fn end_context(context: c_int) {
    guard(|| {
        with_handler(|handler, _| handler.end_context(ContextId(context)));
        0
    });
}
