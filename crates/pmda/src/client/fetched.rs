//! What a fetch brought.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr::NonNull;

use pcp_sys as sys;

use crate::error::Error;

/// A result of pmFetch(3).
#[derive(Debug)]
pub struct Fetched {
    result: NonNull<sys::pmResult>,
}

/// A value as PCP has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raw<'a> {
    /// One of 32 bits.
    Number(i32),
    /// Its type, and its bytes with the header of a `pmValueBlock` of 4 before them.
    Block(u32, &'a [u8]),
}

impl Fetched {
    /// # Safety
    /// It must be a result of pmFetch(3) that nobody else frees.
    pub(super) unsafe fn new(result: NonNull<sys::pmResult>) -> Self {
        Self { result }
    }

    fn result(&self) -> &sys::pmResult {
        // SAFETY: as `new` says.
        unsafe { self.result.as_ref() }
    }

    /// When it was, in ns since 1970.
    #[must_use]
    pub fn time(&self) -> i64 {
        let (seconds, nanoseconds) = sys::stamp_parts(&self.result().timestamp);
        seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
    }

    /// A record that says that there was no logger, and has no values.
    #[must_use]
    pub fn is_mark(&self) -> bool {
        self.result().numpmid == 0
    }

    /// The place of a metric, of which a record of an archive has some.
    #[must_use]
    pub fn place(&self, metric: u32) -> Option<usize> {
        let all = usize::try_from(self.result().numpmid).unwrap_or_default();
        (0..all).find(|place| {
            // SAFETY: each points to a set.
            self.set(*place).is_some_and(|set| unsafe { (*set).pmid } == metric)
        })
    }

    fn set(&self, place: usize) -> Option<*const sys::pmValueSet> {
        let all = usize::try_from(self.result().numpmid).unwrap_or_default();
        if place >= all {
            return None;
        }
        let sets = (&raw const self.result().vset).cast::<*const sys::pmValueSet>();
        // SAFETY: pmFetch(3): there are `numpmid` of them.
        let set = unsafe { sets.add(place) };
        // SAFETY: as above.
        Some(unsafe { set.read() })
    }

    /// The values of the `place`th metric that was asked for, and their instances.
    ///
    /// # Errors
    /// There are none for the reason that it gives.
    pub fn values(&self, place: usize) -> Result<Values<'_>, Error> {
        let Some(set) = self.set(place) else {
            return Ok(Values { next: std::ptr::null(), left: 0, format: 0, of: PhantomData });
        };
        // SAFETY: each points to a set.
        let head = unsafe { &*set };
        if let Some(error) = Error::of_status(head.numval) {
            return Err(error);
        }
        let left = usize::try_from(head.numval).unwrap_or_default();
        // SAFETY: the field of a set that is there.
        let next = unsafe { &raw const (*set).vlist }.cast::<sys::pmValue>();
        Ok(Values { next, left, format: head.valfmt, of: PhantomData })
    }
}

impl Drop for Fetched {
    fn drop(&mut self) {
        // SAFETY: as `new` says.
        unsafe { sys::pmFreeResult(self.result.as_ptr()) };
    }
}

/// Instances and values of a metric.
#[derive(Debug)]
pub struct Values<'a> {
    next: *const sys::pmValue,
    left: usize,
    format: c_int,
    of: PhantomData<&'a Fetched>,
}

impl<'a> Iterator for Values<'a> {
    type Item = (i32, Raw<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: a set has `numval` values.
        let value = unsafe { self.next.read() };
        // SAFETY: as above; at most one behind the last.
        self.next = unsafe { self.next.add(1) };
        if u32::try_from(self.format) == Ok(sys::PM_VAL_INSITU) {
            // SAFETY: that form has the number itself.
            return Some((value.inst, Raw::Number(unsafe { value.value.lval })));
        }
        // SAFETY: all other forms have a pointer.
        let block = unsafe { value.value.pval };
        if block.is_null() {
            return Some((value.inst, Raw::Block(0, &[])));
        }
        // SAFETY: it points to a block, whose first word is its type and its length with that word.
        let head = unsafe { &*block };
        let length = usize::try_from(head.vlen()).unwrap_or_default();
        // SAFETY: as above; the block lives as long as the result.
        let bytes = unsafe { std::slice::from_raw_parts(block.cast::<u8>(), length) };
        Some((value.inst, Raw::Block(head.vtype(), bytes)))
    }
}

impl<'a> Raw<'a> {
    /// A text.
    #[must_use]
    pub fn text(self) -> Option<std::borrow::Cow<'a, str>> {
        let Self::Block(kind, bytes) = self else { return None };
        if kind != sys::PM_TYPE_STRING {
            return None;
        }
        let text = bytes.get(4..).unwrap_or_default();
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        Some(String::from_utf8_lossy(text.get(..end).unwrap_or_default()))
    }

    /// A whole number; one in place is of 32 bits, with a sign if its metric says so.
    #[must_use]
    pub fn number(self, desc: super::Desc) -> Option<i64> {
        match self {
            Self::Number(n) if desc.ty == sys::PM_TYPE_32 => Some(n.into()),
            Self::Number(n) if desc.ty == sys::PM_TYPE_U32 => Some(n.cast_unsigned().into()),
            Self::Number(_) => None,
            Self::Block(_, bytes) => {
                let eight = bytes.get(4..)?.first_chunk().copied()?;
                match desc.ty {
                    sys::PM_TYPE_64 => Some(i64::from_ne_bytes(eight)),
                    sys::PM_TYPE_U64 => i64::try_from(u64::from_ne_bytes(eight)).ok(),
                    _ => None,
                }
            }
        }
    }
}
