//! The functions that libpcp_pmda calls: each recovers its arguments, runs a safe function behind
//! `catch_unwind`, and maps the result to a status. Nothing else happens here.

use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::fetch::Profile;
use super::state::{State, with};
use super::{label, process, store, sys, text};
use crate::store::Stat;

/// No panic crosses into C: it becomes `PM_ERR_GENERIC`. The panic hook has counted and logged it.
fn guard(f: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or(sys::PM_ERR_GENERIC)
}

/// Fills in all callbacks.
pub(super) fn register(dispatch: &mut sys::pmdaInterface) {
    // SAFETY: the union member `seven` is the one in use: pmdaDaemon was called with
    // PMDA_INTERFACE_7.
    let seven = unsafe { &mut dispatch.version.seven };
    // profile and desc keep libpcp_pmda's own: they work on the metric table.
    seven.instance = Some(instance);
    seven.fetch = Some(fetch);
    seven.text = Some(help);
    seven.store = Some(pmstore);
    seven.pmid = Some(pmid);
    seven.name = Some(name);
    seven.children = Some(children);
    seven.attribute = Some(attribute);
    seven.label = Some(labels);
    // SAFETY: dispatch is initialised; the functions live for ever.
    unsafe { sys::pmdaSetLabelCallBack(dispatch, Some(instance_labels)) };
    // SAFETY: as above.
    unsafe { sys::pmdaSetEndContextCallBack(dispatch, Some(end_context)) };
}

/// After pmdaInit(3), which sets libpcp_pmda's own: results are not to be freed.
pub(super) fn register_result(dispatch: &mut sys::pmdaInterface) {
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
        let started = crate::clock::now().mono;
        let count = usize::try_from(n).unwrap_or_default();
        // SAFETY: libpcp_pmda passes n PMIDs.
        let asked = unsafe { std::slice::from_raw_parts(pmids, count) };
        // SAFETY: libpcp_pmda passes its own state.
        let ctx = unsafe { (*ext).e_context };
        // SAFETY: as above; pmdaProfile(3) keeps the last profile there.
        let profile = unsafe { (*ext).e_prof };
        // SAFETY: it does not change during a callback.
        let profile = unsafe { Profile::new(profile) };
        let answer = with(|s| {
            let answer = s.fetch(asked, ctx, &profile, started);
            let took =
                u64::try_from((crate::clock::now().mono - started).as_nanos()).unwrap_or(u64::MAX);
            s.store.stats.add(Stat::FetchCount, 1);
            s.store.stats.add(Stat::FetchTime, took);
            s.store.stats.raise(Stat::FetchMax, took);
            answer
        });
        let Some(answer) = answer else { return sys::PM_ERR_GENERIC };
        // SAFETY: libpcp_pmda passes a place for the result, which it reads before the next
        // request.
        unsafe { *result = answer };
        0
    })
}

/// Results are in our own memory: nothing is to be freed when one has been sent.
unsafe extern "C" fn sent(_: *mut sys::PmdaResult) {}

unsafe extern "C" fn instance(
    indom: sys::pmInDom,
    inst: c_int,
    name: *mut c_char,
    result: *mut *mut sys::pmInResult,
    ext: *mut sys::pmdaExt,
) -> c_int {
    guard(|| {
        with(|s| s.refresh(indom));
        // SAFETY: the arguments of this callback are passed on unchanged; the domain's table stays
        // until the next refresh.
        unsafe { sys::pmdaInstance(indom, inst, name, result, ext) }
    })
}

unsafe extern "C" fn help(
    ident: c_int,
    kind: c_int,
    buffer: *mut *mut c_char,
    _: *mut sys::pmdaExt,
) -> c_int {
    guard(|| {
        let found = with(|s| {
            let found = text::help(
                s.store.catalogue(),
                &s.entries,
                ident.cast_unsigned(),
                kind.cast_unsigned(),
            )?;
            s.scratch = text::c_string(&found);
            Some(s.scratch.as_ptr().cast_mut())
        });
        let Some(Some(words)) = found else { return sys::PM_ERR_TEXT };
        // SAFETY: libpcp_pmda passes a place for the pointer and copies the text before the next
        // request.
        unsafe { *buffer = words };
        0
    })
}

unsafe extern "C" fn pmstore(result: *mut sys::PmdaResult, ext: *mut sys::pmdaExt) -> c_int {
    guard(|| {
        // SAFETY: libpcp_pmda passes its own state.
        let ctx = unsafe { (*ext).e_context };
        let now = crate::clock::now().mono;
        with(|s| s.store(store::requests(result), ctx, now)).unwrap_or(sys::PM_ERR_GENERIC)
    })
}

unsafe extern "C" fn pmid(
    wanted: *const c_char,
    found: *mut sys::pmID,
    _: *mut sys::pmdaExt,
) -> c_int {
    guard(|| with(|s| s.names.pmid(wanted, found)).unwrap_or(sys::PM_ERR_NAME))
}

unsafe extern "C" fn name(
    wanted: sys::pmID,
    found: *mut *mut *mut c_char,
    _: *mut sys::pmdaExt,
) -> c_int {
    guard(|| with(|s| s.names.name(wanted, found)).unwrap_or(sys::PM_ERR_PMID))
}

unsafe extern "C" fn children(
    parent: *const c_char,
    traverse: c_int,
    kids: *mut *mut *mut c_char,
    status: *mut *mut c_int,
    _: *mut sys::pmdaExt,
) -> c_int {
    guard(|| with(|s| s.names.children(parent, traverse, kids, status)).unwrap_or(sys::PM_ERR_NAME))
}

unsafe extern "C" fn attribute(
    ctx: c_int,
    key: c_int,
    value: *const c_char,
    _: c_int,
    _: *mut sys::pmdaExt,
) -> c_int {
    guard(|| {
        let value = text::to_string(value);
        with(|s| s.contexts.get(ctx).who.learn(key, value));
        0
    })
}

unsafe extern "C" fn labels(
    ident: c_int,
    level: c_int,
    set: *mut *mut sys::pmLabelSet,
    ext: *mut sys::pmdaExt,
) -> c_int {
    guard(|| {
        let json = with(|s| {
            label::of(s.store.catalogue(), &s.entries, ident.cast_unsigned(), level.cast_unsigned())
        })
        .flatten();
        if let Some(json) = json {
            let sts = label::add(set, &json);
            if sts < 0 {
                return sts;
            }
        }
        if level.cast_unsigned() == sys::PM_LABEL_INSTANCES {
            with(|s| s.refresh(ident.cast_unsigned()));
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
    // There may be a hundred thousand instances: those for which there is no time have no labels in
    // this answer.
    let labels = |s: &mut State| {
        if s.turn.go_on(process::thread_time) { s.instance_labels(indom, inst) } else { None }
    };
    guard(|| match with(labels).flatten() {
        Some(json) => label::add(set, &json),
        None => 0,
    })
}

unsafe extern "C" fn end_context(ctx: c_int) {
    guard(|| {
        with(|s| s.forget_context(ctx));
        0
    });
}
