//! Handles of arrays: the lowest free number, as in C, found without a lock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::c_int;
use std::sync::{Mutex, OnceLock, PoisonError};

use pcp_event::{Array, HighRes, LowRes, Resolution};

use crate::ctypes::{EINVAL, PM_ERR_NOCONTEXT};
use crate::slot::Slot;

/// Initial bytes of memory of an array, as in C.
const FIRST: usize = 508;
const NO_MEMORY: c_int = -libc::ENOMEM;
/// Slots of the first chunk. Each further chunk has twice as many as the one before; slots never
/// move.
const CHUNK: usize = 64;
/// Number of chunks: 2^26 arrays in all.
const CHUNKS: usize = 20;

/// The first chunk is static: few PMDAs need more slots.
static FIRST_SLOTS: [Slot<Any>; CHUNK] = [const { Slot::empty() }; CHUNK];
static SLOTS: [OnceLock<Box<[Slot<Any>]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];
static FREE: Mutex<Free> = Mutex::new(Free { used: 0, freed: BinaryHeap::new() });

/// Unused numbers: `freed`, and all from `used` on.
struct Free {
    used: usize,
    freed: BinaryHeap<Reverse<usize>>,
}

/// An array of either resolution.
#[derive(Debug)]
pub(crate) enum Any {
    Low(Array<LowRes>),
    High(Array<HighRes>),
}

/// The two resolutions, as kinds of an [`Any`].
pub(crate) trait Kind: Resolution + Sized {
    fn wrap(array: Array<Self>) -> Any;
    fn get(any: &mut Any) -> Option<&mut Array<Self>>;
}

impl Kind for LowRes {
    fn wrap(array: Array<Self>) -> Any {
        Any::Low(array)
    }

    #[inline]
    fn get(any: &mut Any) -> Option<&mut Array<Self>> {
        if let Any::Low(array) = any { Some(array) } else { None }
    }
}

impl Kind for HighRes {
    fn wrap(array: Array<Self>) -> Any {
        Any::High(array)
    }

    #[inline]
    fn get(any: &mut Any) -> Option<&mut Array<Self>> {
        if let Any::High(array) = any { Some(array) } else { None }
    }
}

/// The array as one of resolution `K`. libpcp_pmda's arrays have no resolution until a record is
/// added, so an array without records takes the requested one, unless it is a queue's.
#[cold]
fn convert<'a, K: Kind>(slot: &Slot<Any>, place: &'a mut Option<Any>) -> Option<&'a mut Array<K>> {
    let empty = match place {
        Some(Any::Low(a)) => a.is_empty(),
        Some(Any::High(a)) => a.is_empty(),
        None => false,
    };
    if empty && !slot.is_fixed() {
        reset::<K>(place);
    }
    place.as_mut().and_then(K::get)
}

/// Removes all records; the next records are of resolution `K`.
#[inline]
pub(crate) fn reset<K: Kind>(place: &mut Option<Any>) {
    match place.as_mut().and_then(K::get) {
        Some(array) => array.reset(),
        None => reset_other::<K>(place),
    }
}

/// The memory of an array suffices for one of the other resolution.
#[cold]
fn reset_other<K: Kind>(place: &mut Option<Any>) {
    let memory = match place.take() {
        Some(Any::Low(a)) => a.into_bytes(),
        Some(Any::High(a)) => a.into_bytes(),
        None => return,
    };
    *place = Some(K::wrap(Array::over(memory)));
}

#[inline]
fn slot(handle: c_int) -> Option<&'static Slot<Any>> {
    // A negative handle becomes a very large index.
    match FIRST_SLOTS.get(handle.cast_unsigned() as usize) {
        None => later_slot(handle),
        found => found,
    }
}

#[cold]
fn later_slot(handle: c_int) -> Option<&'static Slot<Any>> {
    let n = usize::try_from(handle).ok()? + CHUNK;
    let chunk = n.ilog2() - CHUNK.ilog2();
    SLOTS.get(chunk as usize)?.get()?.get(n - (CHUNK << chunk))
}

/// A new array; its handle, or a negative status.
pub(crate) fn create<K: Kind>() -> c_int {
    create_slot::<K>().map_or_else(|e| e, |(handle, _)| handle)
}

/// A new array: its handle and its slot; a negative status without memory.
pub(crate) fn create_slot<K: Kind>() -> Result<(c_int, &'static Slot<Any>), c_int> {
    let array = any::<K>(0)?;
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    let n = free.freed.peek().map_or(free.used, |Reverse(n)| *n);
    let handle = c_int::try_from(n).map_err(|_| NO_MEMORY)?;
    let chunk = ((n + CHUNK).ilog2() - CHUNK.ilog2()) as usize;
    let place = SLOTS.get(chunk).ok_or(NO_MEMORY)?;
    if chunk > 0 && place.get().is_none() {
        let mut slots = Vec::new();
        slots.try_reserve_exact(CHUNK << chunk).map_err(|_| NO_MEMORY)?;
        slots.resize_with(CHUNK << chunk, Slot::empty);
        // Only here, with the lock.
        let _ = place.set(slots.into_boxed_slice());
    }
    let slot = slot(handle).ok_or(NO_MEMORY)?;
    // Room for all numbers: releasing an array needs no memory.
    let room = (free.used + 1).saturating_sub(free.freed.len());
    free.freed.try_reserve(room).map_err(|_| NO_MEMORY)?;
    if free.freed.pop().is_none() {
        free.used += 1;
    }
    drop(free);
    slot.with(|place| *place = Some(array));
    slot.fix(false);
    Ok((handle, slot))
}

/// Frees an array and its handle.
pub(crate) fn release(handle: c_int) -> c_int {
    let Some(array) = slot(handle).and_then(|s| s.with(Option::take)) else {
        return PM_ERR_NOCONTEXT;
    };
    drop(array);
    let n = usize::try_from(handle).unwrap_or_default();
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    free.freed.push(Reverse(n));
    0
}

/// An array without a handle, with room for `bytes` before it grows.
pub(crate) fn any<K: Kind>(bytes: usize) -> Result<Any, c_int> {
    Array::try_with_capacity(bytes.max(FIRST)).map(K::wrap).map_err(|_| NO_MEMORY)
}

/// Bytes of the array.
pub(crate) const fn bytes(any: &Any) -> usize {
    match any {
        Any::Low(array) => array.len(),
        Any::High(array) => array.len(),
    }
}

/// Removes all records of an array; the next are of resolution `K`, unless it is a queue's.
pub(crate) fn reset_handle<K: Kind>(handle: c_int) -> c_int {
    let Some(slot) = slot(handle) else { return PM_ERR_NOCONTEXT };
    slot.with(|place| {
        match place {
            Some(Any::Low(array)) if slot.is_fixed() => array.reset(),
            Some(Any::High(array)) if slot.is_fixed() => array.reset(),
            Some(_) => reset::<K>(place),
            None => return PM_ERR_NOCONTEXT,
        }
        0
    })
}

/// Runs `f` on an array of resolution `K`; the status for C. An array with records of the other
/// resolution is rejected.
#[inline(always)]
pub(crate) fn with<K: Kind>(handle: c_int, f: impl FnOnce(&mut Array<K>) -> c_int) -> c_int {
    // A negative handle becomes a very large index.
    match FIRST_SLOTS.get(handle.cast_unsigned() as usize) {
        Some(slot) => slot.with_slot(|slot, place| match place {
            Some(any) => match K::get(any) {
                Some(array) => f(array),
                None => converted::<K>(slot, place, f),
            },
            None => PM_ERR_NOCONTEXT,
        }),
        None => with_later::<K>(handle, f),
    }
}

#[cold]
#[inline(never)]
fn converted<K: Kind>(
    slot: &Slot<Any>,
    place: &mut Option<Any>,
    f: impl FnOnce(&mut Array<K>) -> c_int,
) -> c_int {
    convert::<K>(slot, place).map_or(EINVAL, f)
}

#[inline(never)]
fn with_later<K: Kind>(handle: c_int, f: impl FnOnce(&mut Array<K>) -> c_int) -> c_int {
    let Some(slot) = later_slot(handle) else { return PM_ERR_NOCONTEXT };
    slot.with_slot(|slot, place| match place {
        Some(_) => convert::<K>(slot, place).map_or(EINVAL, f),
        None => PM_ERR_NOCONTEXT,
    })
}
