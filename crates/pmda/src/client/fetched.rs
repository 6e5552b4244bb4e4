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
        // SAFETY: pmFetch(3): it is whole until pmFreeResult(3), which `drop` calls.
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
            // SAFETY: pmFetch(3): each points to a set that lives as long as the result.
            self.set(*place).is_some_and(|set| unsafe { (*set).pmid } == metric)
        })
    }

    fn set(&self, place: usize) -> Option<*const sys::pmValueSet> {
        let all = usize::try_from(self.result().numpmid).unwrap_or_default();
        if place >= all {
            return None;
        }
        // SAFETY: pmFetch(3): the field of a result that is there. No reference: the array is longer than its type says.
        let sets = unsafe { &raw const (*self.result.as_ptr()).vset };
        // SAFETY: pmFetch(3): there are `numpmid` of them.
        let set = unsafe { sets.cast::<*const sys::pmValueSet>().add(place) };
        // SAFETY: pmFetch(3): each is a pointer that was set.
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
        // SAFETY: pmFetch(3): each points to a set that lives as long as the result. One of an error has no values.
        let number = unsafe { (*set).numval };
        if let Some(error) = Error::of_status(number) {
            return Err(error);
        }
        let left = usize::try_from(number).unwrap_or_default();
        // SAFETY: pmFetch(3): the field of a set that is there.
        let format = unsafe { (*set).valfmt };
        // SAFETY: pmFetch(3): the field of a set that is there. No reference: the array is longer than its type says.
        let next = unsafe { &raw const (*set).vlist }.cast::<sys::pmValue>();
        Ok(Values { next, left, format, of: PhantomData })
    }
}

impl Drop for Fetched {
    fn drop(&mut self) {
        // SAFETY: pmFreeResult(3): a result of pmFetch(3), which nothing uses any more.
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
        // SAFETY: pmFetch(3): a set has `numval` values, and this is one of them.
        let value = unsafe { self.next.read() };
        // SAFETY: pmFetch(3): a set has `numval` values; at most one behind the last.
        self.next = unsafe { self.next.add(1) };
        if u32::try_from(self.format) == Ok(sys::PM_VAL_INSITU) {
            // SAFETY: pmFetch(3): that form has the number itself.
            return Some((value.inst, Raw::Number(unsafe { value.value.lval })));
        }
        // SAFETY: pmFetch(3): all other forms have a pointer.
        let block = unsafe { value.value.pval };
        if block.is_null() {
            return Some((value.inst, Raw::Block(0, &[])));
        }
        // SAFETY: pmFetch(3): it points to a block, whose first word is its length with that word, and its type.
        let word = unsafe { block.cast::<u32>().read() };
        let length = usize::try_from(word & 0x00ff_ffff).unwrap_or_default();
        // SAFETY: pmFetch(3): so many bytes, which live as long as the result.
        let bytes = unsafe { std::slice::from_raw_parts(block.cast::<u8>(), length) };
        Some((value.inst, Raw::Block(word >> 24, bytes)))
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

    /// The number, also one that is not whole.
    #[must_use]
    pub fn float(self, desc: super::Desc) -> Option<f64> {
        match self {
            Self::Block(_, bytes) if desc.ty == sys::PM_TYPE_DOUBLE => {
                Some(f64::from_ne_bytes(bytes.get(4..)?.first_chunk().copied()?))
            }
            Self::Block(_, bytes) if desc.ty == sys::PM_TYPE_FLOAT => {
                Some(f32::from_ne_bytes(bytes.get(4..)?.first_chunk().copied()?).into())
            }
            other => other.number(desc).map(|number| number as f64),
        }
    }
}
