//! Values that a client stores (pmstore(1), pmStore(3)).

use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use pcp_event::{Pmid, Value, ValueType};
use pcp_sys as sys;

use crate::cstring;
use crate::error::Error;
use crate::ids::ContextId;

/// A store request of one client context.
#[derive(Debug)]
pub struct StoreRequest<'a> {
    /// The storing context.
    pub context: ContextId,
    /// The values, in the order of the request.
    pub values: Vec<StoreValue<'a>>,
}

/// One value of a store request.
#[derive(Clone, Copy, Debug)]
pub struct StoreValue<'a> {
    /// The metric.
    pub pmid: Pmid,
    /// The instance; [`IN_NULL`](crate::IN_NULL) for a metric without instances.
    pub inst: u32,
    format: c_int,
    value: *const sys::pmValue,
    request: PhantomData<&'a sys::PmdaResult>,
}

impl StoreValue<'_> {
    /// The value, decoded as type `ty`: the client has encoded it by the metric's descriptor.
    ///
    /// # Errors
    /// The request has no value of this type, or `ty` is neither a number nor a string.
    pub fn get(&self, ty: ValueType) -> Result<Value, Error> {
        let number = ty as u8 <= ValueType::F64 as u8;
        if !number && ty != ValueType::Text {
            return Err(Error::TYPE);
        }
        let mut atom = MaybeUninit::<sys::pmAtomValue>::uninit();
        let (from, value) = (c_int::from(ty as u8), self.value);
        // SAFETY: pmExtractValue(3): the value is of a request that lives as long as `self`; the
        // atom is writable.
        let sts = unsafe { sys::pmExtractValue(self.format, value, from, atom.as_mut_ptr(), from) };
        if let Some(error) = Error::of_status(sts) {
            return Err(error);
        }
        // SAFETY: on success the atom is set.
        let atom = unsafe { atom.assume_init() };
        Ok(match ty {
            // SAFETY: the member of the requested type, here and below.
            ValueType::I32 => Value::I32(unsafe { atom.l }),
            // SAFETY: as above.
            ValueType::U32 => Value::U32(unsafe { atom.ul }),
            // SAFETY: as above.
            ValueType::I64 => Value::I64(unsafe { atom.ll }),
            // SAFETY: as above.
            ValueType::U64 => Value::U64(unsafe { atom.ull }),
            // SAFETY: as above.
            ValueType::F32 => Value::F32(unsafe { atom.f }),
            // SAFETY: as above.
            ValueType::F64 => Value::F64(unsafe { atom.d }),
            _ => {
                // SAFETY: as above.
                let s = unsafe { atom.cp };
                // SAFETY: a string was requested, so `cp` is a C string.
                let text = unsafe { cstring::copy(s) }.unwrap_or_default();
                // SAFETY: pmExtractValue(3): the caller frees string values.
                unsafe { libc::free(s.cast()) };
                Value::Text(text.into())
            }
        })
    }

    /// The value as a string.
    ///
    /// # Errors
    /// The request has no string.
    pub fn text(&self) -> Result<String, Error> {
        match self.get(ValueType::Text)? {
            Value::Text(text) => Ok(text.into()),
            _ => Err(Error::TYPE),
        }
    }
}

/// All values of a request.
///
/// C declares `vset` and `vlist` with one element and allocates as many as the counts require. They
/// are therefore walked by raw pointers derived from the whole structure.
///
/// # Safety
/// `result` must be a decoded store request of libpcp_pmda that lives and does not change for `'a`.
pub(crate) unsafe fn values<'a>(result: *const sys::PmdaResult) -> Vec<StoreValue<'a>> {
    let mut all = Vec::new();
    // SAFETY: a valid result, as the caller promises.
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
        let count = unsafe { (*set).numval };
        if count <= 0 {
            continue;
        }
        // SAFETY: as above; a set with values has a format.
        let format = unsafe { (*set).valfmt };
        // SAFETY: as above; only an address is taken.
        let list = unsafe { &raw const (*set).vlist }.cast::<sys::pmValue>();
        for j in 0..usize::try_from(count).unwrap_or_default() {
            // SAFETY: j is below numval.
            let value = unsafe { list.add(j) };
            // SAFETY: as above.
            let inst = unsafe { (*value).inst }.cast_unsigned();
            let request = PhantomData;
            all.push(StoreValue { pmid: Pmid(pmid), inst, format, value, request });
        }
    }
    all
}
