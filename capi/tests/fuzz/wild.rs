//! Callbacks that call back into the library: events still come in order and once, and filters are
//! released once.

use super::*;

/// State of callbacks that may make any call.
struct Wild<'a> {
    api: &'a Api,
    rng: Rng,
    handles: Vec<c_int>,
    /// The number of the next event.
    next: u64,
    depth: u32,
    filters: Vec<*mut WildFilter>,
    names: u64,
    /// Callbacks call back.
    calls: bool,
}

struct WildFilter {
    wild: *mut c_void,
    set: bool,
    released: u32,
}

unsafe extern "C-unwind" fn wild_apply(filter: *mut c_void, _: *mut c_void, _: usize) -> c_int {
    let filter = filter.cast::<WildFilter>();
    // SAFETY: a filter that was set: they are never freed.
    assert_eq!(unsafe { (*filter).released }, 0);
    // SAFETY: as above.
    let wild = unsafe { (*filter).wild }.cast::<Wild<'_>>();
    Wild::act(wild);
    // SAFETY: the sequence is still running.
    c_int::from(unsafe { (*wild).rng.one_in(3) })
}

unsafe extern "C-unwind" fn wild_release(filter: *mut c_void) {
    let filter = filter.cast::<WildFilter>();
    // SAFETY: as above.
    unsafe { (*filter).released += 1 };
    // SAFETY: as above.
    Wild::act(unsafe { (*filter).wild }.cast());
}

unsafe extern "C-unwind" fn wild_decode(
    array: c_int,
    event: *mut c_void,
    size: usize,
    time: *mut timeval,
    data: *mut c_void,
) -> c_int {
    let wild = data.cast::<Wild<'_>>();
    // SAFETY: an event of `size` bytes.
    let copy = unsafe { std::slice::from_raw_parts(event.cast::<u8>(), size) }.to_vec();
    // SAFETY: the sequence is still running.
    let api = unsafe { (*wild).api };
    // A callback may have ended the queue, and its array, already.
    // SAFETY: the queue passes a time.
    match unsafe { (api.pmdaEventAddMissedRecord)(array, time, 0) } {
        0 => add(api, array, &copy, time),
        status => assert_eq!(status, -12376),
    }
    Wild::act(wild);
    // SAFETY: as above: the event is this fetch's own.
    unsafe { event.cast::<u8>().write_bytes(0, size + 1) };
    // SAFETY: as above.
    if unsafe { (*wild).rng.one_in(10) } { ENODATA } else { 1 }
}

impl Wild<'_> {
    /// Makes a random call, whose callbacks may act in turn.
    fn act(this: *mut Self) {
        let (api, what, context, handle, deep) = {
            // SAFETY: one thread; the reference ends before a call that may come back here.
            let wild = unsafe { &mut *this };
            if wild.depth > 3 || (wild.depth > 0 && !wild.calls) {
                return;
            }
            let handle = wild.handles[wild.rng.below(wild.handles.len() as u64) as usize];
            (
                wild.api,
                wild.rng.below(32),
                wild.rng.below(CONTEXTS as u64) as c_int,
                handle,
                wild.depth > 0,
            )
        };
        // SAFETY: as above, also below.
        unsafe { (*this).depth += 1 };
        match what {
            0..=9 => {
                // SAFETY: as above.
                let mut event = unsafe {
                    (*this).next += 1;
                    (*this).next.to_le_bytes()
                };
                let mut time = timeval { tv_sec: 1, tv_usec: 1 };
                // SAFETY: an event and a time that outlive the call.
                unsafe {
                    (api.pmdaEventQueueAppend)(handle, event.as_mut_ptr().cast(), 8, &raw mut time)
                };
            }
            10..=12 => _ = (api.pmdaEventNewClient)(context),
            13 => _ = (api.pmdaEventEndClient)(context),
            14..=16 => _ = (api.pmdaEventSetAccess)(context, handle, c_int::from(what < 16)),
            17..=18 => {
                let filter = Box::into_raw(Box::new(WildFilter {
                    wild: this.cast(),
                    set: false,
                    released: 0,
                }));
                // SAFETY: as above; filters are freed when the sequence is over.
                unsafe { (*this).filters.push(filter) };
                // SAFETY: a filter that is not freed meanwhile.
                let status = unsafe {
                    (api.pmdaEventSetFilter)(
                        context,
                        handle,
                        filter.cast(),
                        Some(wild_apply),
                        Some(wild_release),
                    )
                };
                // SAFETY: as above.
                unsafe { (*filter).set = status == 0 };
            }
            // SAFETY: null removes a filter.
            19 => _ = unsafe { (api.pmdaEventSetFilter)(context, handle, null_mut(), None, None) },
            20 if !deep || what % 2 == 0 => _ = (api.pmdaEventQueueShutdown)(handle),
            21 => {
                // SAFETY: as above.
                let (name, clients) = unsafe {
                    (*this).names += 1;
                    (
                        CString::new(format!("wild {}", (*this).names)).unwrap(),
                        (*this).rng.below(3) as c_uint,
                    )
                };
                // SAFETY: a C string.
                let handle = unsafe { (api.pmdaEventNewActiveQueue)(name.as_ptr(), 100, clients) };
                assert!(handle >= 0);
                // SAFETY: as above.
                unsafe {
                    let at = (*this).rng.below((*this).handles.len() as u64) as usize;
                    (&mut (*this).handles)[at] = handle;
                }
            }
            _ => {
                let mut atom = AtomValue { vbp: null_mut() };
                // SAFETY: an atom that outlives the call; the sequence does too.
                let status = unsafe {
                    (api.pmdaEventQueueRecords)(
                        handle,
                        &raw mut atom,
                        context,
                        Some(wild_decode),
                        this.cast(),
                    )
                };
                assert!(
                    [0, 1, EINVAL, ENODATA, -libc::EDEADLK, -12376].contains(&status),
                    "status {status}"
                );
                // In a callback other calls may have ended the queue meanwhile.
                if status == 1 && !deep {
                    // SAFETY: set by the call.
                    let all = unsafe { atom.vbp };
                    if !all.is_null() {
                        let (events, _) = shown(&bytes(all));
                        let numbers =
                            events.iter().map(|e| u64::from_le_bytes(e[..].try_into().unwrap()));
                        let numbers: Vec<u64> = numbers.collect();
                        assert!(numbers.windows(2).all(|w| w[0] < w[1]), "in order, and each once");
                    }
                }
            }
        }
        // SAFETY: as above.
        unsafe { (*this).depth -= 1 };
    }
}

pub(super) fn wild(ours: &Api, sequences: u64, seed: u64) {
    let mut released = 0;
    for n in 0..sequences {
        let mut wild = Wild {
            api: ours,
            rng: Rng((seed ^ 0x5555).wrapping_add(n).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            handles: vec![-1; 3],
            next: 0,
            depth: 0,
            filters: Vec::new(),
            names: n << 32,
            calls: true,
        };
        let this = &raw mut wild;
        for _ in 0..80 {
            Wild::act(this);
        }
        // SAFETY: there is no other reference now.
        unsafe { (*this).calls = false };
        // SAFETY: as above; callbacks do nothing any more.
        unsafe { (*this).depth = 1 };
        (0..CONTEXTS).for_each(|c| assert_eq!((ours.pmdaEventEndClient)(c), 0));
        for handle in 0..64 {
            (ours.pmdaEventQueueShutdown)(handle);
        }
        for filter in std::mem::take(&mut wild.filters) {
            // SAFETY: made by Box above; no filter is left in the library.
            let filter = unsafe { Box::from_raw(filter) };
            assert_eq!(
                filter.released,
                u32::from(filter.set),
                "sequence {n}: once if it was taken, else never"
            );
            released += filter.released;
        }
    }
    println!(
        "{sequences} sequences of seed {seed} with callbacks that call back, {released} filters released once"
    );
}
