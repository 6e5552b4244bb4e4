//! Contexts.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int};
use std::fmt;
use std::ptr;

use pcp_sys as sys;

use super::fetched::{Fetched, Raw};
use super::lists::{Names, instances, labels};
use crate::cstring;
use crate::error::Error;
use crate::ids::InDom;

/// Bytes of a host's name.
const MOST_HOST: usize = 256;
/// Bytes of units.
const MOST_UNITS: usize = 64;
/// Bytes of a text that is stored: a `pmValueBlock` has 24 bits for it.
const MOST_TEXT: usize = 1 << 20;

/// What a context is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// pmcd of a host: `local:`, `web1`.
    Host(String),
    /// Archives: a name, a directory, several with commas between them.
    Archive(String),
}

/// A context of libpcp. It is used by one thread.
pub struct Context {
    handle: c_int,
    archive: bool,
    /// See [`Self::agents_changed`].
    changed: Cell<bool>,
}

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Desc {
    /// The metric.
    pub pmid: u32,
    /// `PM_TYPE_*`.
    pub ty: u32,
    /// Its instance domain; `None`: it has one value.
    pub indom: Option<InDom>,
    /// It only grows.
    pub is_counter: bool,
}

impl Desc {
    /// Event records, with nanoseconds if `true`.
    #[must_use]
    pub const fn is_events(self) -> Option<bool> {
        match self.ty {
            sys::PM_TYPE_EVENT => Some(false),
            sys::PM_TYPE_HIGHRES_EVENT => Some(true),
            _ => None,
        }
    }

    /// Its values are numbers.
    #[must_use]
    pub const fn is_number(self) -> bool {
        self.ty <= sys::PM_TYPE_DOUBLE
    }
}

impl Context {
    /// Connects to a host, or opens an archive.
    ///
    /// # Errors
    /// libpcp's.
    pub fn new(of: &Source) -> Result<Self, Error> {
        let (kind, name) = match of {
            Source::Host(name) => (sys::PM_CONTEXT_HOST, name),
            Source::Archive(name) => (sys::PM_CONTEXT_ARCHIVE, name),
        };
        let name = cstring::cut(name);
        let kind = c_int::try_from(kind).unwrap_or_default();
        // SAFETY: pmNewContext(3) copies the name.
        let handle = status(unsafe { sys::pmNewContext(kind, name.as_ptr()) })?;
        let archive = matches!(of, Source::Archive(_));
        Ok(Self { handle, archive, changed: Cell::new(false) })
    }

    /// Whether it is of an archive.
    #[must_use]
    pub const fn is_archive(&self) -> bool {
        self.archive
    }

    /// The host of pmcd, or of the archive.
    #[must_use]
    pub fn host(&self) -> String {
        let mut buffer = [0u8; MOST_HOST];
        let size = c_int::try_from(buffer.len()).unwrap_or_default();
        let buffer = buffer.as_mut_ptr().cast::<c_char>();
        // SAFETY: pmGetContextHostName(3) writes a C string of at most `size` bytes.
        let name = unsafe { sys::pmGetContextHostName_r(self.handle, buffer, size) };
        // SAFETY: pmGetContextHostName(3): it returns the buffer, with a C string.
        unsafe { cstring::copy(name) }.unwrap_or_default()
    }

    /// Connects again after pmcd was away.
    ///
    /// # Errors
    /// It is still away.
    pub fn reconnect(&self) -> Result<(), Error> {
        // SAFETY: a handle of ours.
        status(unsafe { sys::pmReconnectContext(self.handle) })?;
        self.changed.set(false);
        Ok(())
    }

    /// Whether an agent of pmcd has started or ended, as fetches have said since the last call: a new one knows
    /// nothing of what was stored or fetched before.
    #[must_use]
    pub fn agents_changed(&self) -> bool {
        self.changed.take()
    }

    /// Makes it libpcp's current one.
    pub(super) fn here(&self) -> Result<(), Error> {
        // SAFETY: a handle of ours.
        status(unsafe { sys::pmUseContext(self.handle) }).map(drop)
    }

    /// The metric of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn lookup(&self, name: &str) -> Result<Desc, Error> {
        self.here()?;
        let name = cstring::cut(name);
        let mut pmid = 0;
        let mut one = name.as_ptr();
        // SAFETY: pmLookupName(3): one name, and room for one id.
        status(unsafe { sys::pmLookupName(1, &raw mut one, &raw mut pmid) })?;
        self.describe(pmid)
    }

    fn describe(&self, pmid: u32) -> Result<Desc, Error> {
        self.here()?;
        // SAFETY: zeros are a sound descriptor.
        let mut desc: sys::pmDesc = unsafe { std::mem::zeroed() };
        // SAFETY: pmLookupDesc(3) fills the descriptor that it is given.
        status(unsafe { sys::pmLookupDesc(pmid, &raw mut desc) })?;
        let indom = (desc.indom != sys::PM_INDOM_NULL).then_some(InDom(desc.indom));
        let is_counter = u32::try_from(desc.sem) == Ok(sys::PM_SEM_COUNTER);
        Ok(Desc { pmid, ty: u32::try_from(desc.type_).unwrap_or(u32::MAX), indom, is_counter })
    }

    /// The units of a metric as PCP writes them: `nanosec`, `byte`, `count / sec`; `""`: none.
    ///
    /// # Errors
    /// libpcp's.
    pub fn units(&self, metric: Desc) -> Result<String, Error> {
        self.here()?;
        // SAFETY: zeros are a sound descriptor.
        let mut desc: sys::pmDesc = unsafe { std::mem::zeroed() };
        // SAFETY: pmLookupDesc(3) fills the descriptor that it is given.
        status(unsafe { sys::pmLookupDesc(metric.pmid, &raw mut desc) })?;
        let mut buffer = [0u8; MOST_UNITS];
        let size = c_int::try_from(buffer.len()).unwrap_or_default();
        let units = &raw const desc.units;
        // SAFETY: pmUnitsStr_r(3) reads the units and writes a C string of at most `size` bytes.
        let text = unsafe { sys::pmUnitsStr_r(units, buffer.as_mut_ptr().cast(), size) };
        // SAFETY: pmUnitsStr_r(3): it returns the buffer, with a C string.
        Ok(unsafe { cstring::copy(text) }.unwrap_or_default())
    }

    /// The name of a metric.
    ///
    /// # Errors
    /// It has none.
    pub fn name(&self, pmid: u32) -> Result<String, Error> {
        self.here()?;
        let mut name = ptr::null_mut();
        // SAFETY: pmNameID(3) sets the pointer to a string that is to be freed.
        status(unsafe { sys::pmNameID(pmid, &raw mut name) })?;
        // SAFETY: pmNameID(3): null, or a C string.
        let found = unsafe { cstring::copy(name) };
        // SAFETY: pmNameID(3): of malloc(3), and not used any more.
        unsafe { libc::free(name.cast()) };
        Ok(found.unwrap_or_default())
    }

    /// The names below a name, and whether they are metrics.
    ///
    /// # Errors
    /// There is no such name.
    pub fn children(&self, of: &str) -> Result<Vec<(String, bool)>, Error> {
        self.here()?;
        let of = cstring::cut(of);
        let (mut names, mut leaves) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: pmGetChildrenStatus(3) sets both pointers to lists of as many as it returns.
        let number = status(unsafe {
            sys::pmGetChildrenStatus(of.as_ptr(), &raw mut names, &raw mut leaves)
        })?;
        // SAFETY: pmGetChildrenStatus(3): so many of both, each list of one block of malloc(3).
        let (names, leaves) = unsafe { Names::take(number, names, leaves) };
        let leaf = c_int::try_from(sys::PMNS_LEAF_STATUS).unwrap_or_default();
        Ok(names.into_iter().zip(leaves.into_iter().map(|status| status == leaf)).collect())
    }

    /// Numbers and names of the instances of a domain: of an archive all that there are at any time.
    ///
    /// # Errors
    /// libpcp's.
    pub fn instances(&self, of: InDom) -> Result<Vec<(i32, String)>, Error> {
        self.here()?;
        instances(of, self.archive)
    }

    /// Numbers of the instances of a domain with their own labels, as objects of JSON.
    ///
    /// # Errors
    /// libpcp's.
    pub fn labels(&self, of: InDom) -> Result<Vec<(u32, String)>, Error> {
        self.here()?;
        labels(of)
    }

    /// Values of metrics. Of an archive, those of the next record; `None`: there is no more.
    ///
    /// # Errors
    /// libpcp's.
    pub fn fetch(&self, metrics: &[u32]) -> Result<Option<Fetched>, Error> {
        self.here()?;
        let mut metrics = metrics.to_vec();
        let number = c_int::try_from(metrics.len()).map_err(|_| Error::TOOBIG)?;
        let mut result = ptr::null_mut();
        // SAFETY: pmFetch(3): so many ids; the result is to be freed with pmFreeResult(3).
        let code = unsafe { sys::pmFetch(number, metrics.as_mut_ptr(), &raw mut result) };
        // pmFetch(3): a status above 0 says what has changed in pmcd.
        if u32::try_from(code).is_ok_and(|changes| changes & sys::PMCD_AGENT_CHANGE != 0) {
            self.changed.set(true);
        }
        // SAFETY: pmFetch(3): the result is ours if the status is no error.
        unsafe { fetched(code, result) }
    }

    /// What `read` makes of the first value of a metric.
    pub fn first<T>(&self, name: &str, read: impl FnOnce(Raw<'_>, Desc) -> Option<T>) -> Option<T> {
        let desc = self.lookup(name).ok()?;
        let fetched = self.fetch(&[desc.pmid]).ok()??;
        let (_, value) = fetched.values(0).ok()?.next()?;
        read(value, desc)
    }

    /// The next record of an archive with all that was logged in it, also one that says that there was no logger;
    /// `None`: there is no more.
    ///
    /// # Errors
    /// libpcp's.
    pub fn next_record(&self) -> Result<Option<Fetched>, Error> {
        self.here()?;
        let mut result = ptr::null_mut();
        // SAFETY: pmFetchArchive(3): the result is to be freed with pmFreeResult(3).
        let code = unsafe { sys::pmFetchArchive(&raw mut result) };
        // SAFETY: pmFetchArchive(3): the result is ours if the status is no error.
        unsafe { fetched(code, result) }
    }

    /// Where the next fetch of an archive begins, in ns since 1970.
    ///
    /// # Errors
    /// libpcp's.
    pub fn forward_from(&self, at: i64) -> Result<(), Error> {
        self.here()?;
        let stamp = sys::stamp(at.div_euclid(1_000_000_000), at.rem_euclid(1_000_000_000));
        let mode = c_int::try_from(sys::PM_MODE_FORW).unwrap_or_default();
        // SAFETY: pmSetMode(3) reads the time.
        status(unsafe { sys::set_mode(mode, &stamp) }).map(drop)
    }

    /// Stores a text for all instances of a metric, also for those to come.
    ///
    /// # Errors
    /// The agent refuses it.
    pub fn store_text(&self, metric: u32, text: &str) -> Result<(), Error> {
        self.here()?;
        if text.len() > MOST_TEXT {
            return Err(Error::TOOBIG);
        }
        let text: CString = cstring::cut(text);
        let bytes = text.as_bytes_with_nul();
        // The header of a pmValueBlock, then the text.
        let length = u32::try_from(bytes.len() + 4).map_err(|_| Error::TOOBIG)?;
        let mut block = vec![length | sys::PM_TYPE_STRING << 24];
        block.extend(bytes.chunks(4).map(|part| {
            let mut word = [0; 4];
            word.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
            u32::from_ne_bytes(word)
        }));
        let mut set = sys::pmValueSet {
            pmid: metric,
            numval: 1,
            valfmt: c_int::try_from(sys::PM_VAL_SPTR).unwrap_or_default(),
            vlist: [sys::pmValue {
                // PM_IN_NULL.
                inst: -1,
                value: sys::pmValue__bindgen_ty_1 { pval: block.as_mut_ptr().cast() },
            }],
        };
        let result =
            sys::pmResult { timestamp: sys::stamp(0, 0), numpmid: 1, vset: [&raw mut set] };
        // SAFETY: pmStore(3) reads one set with one value, whose block lives here.
        status(unsafe { sys::pmStore(&raw const result) }).map(drop)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: a handle of ours, which nothing uses any more.
        unsafe { sys::pmDestroyContext(self.handle) };
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.handle)
    }
}

/// What a fetch brought; `None`: the end of the archive.
///
/// # Safety
/// `result` must be that of the fetch, which nobody else frees.
unsafe fn fetched(code: c_int, result: *mut sys::pmResult) -> Result<Option<Fetched>, Error> {
    if code == sys::PM_ERR_EOL {
        return Ok(None);
    }
    status(code)?;
    let result = ptr::NonNull::new(result).ok_or(Error::GENERIC)?;
    // SAFETY: the caller promises that it is of a fetch, which has not failed, and ours.
    Ok(Some(unsafe { Fetched::new(result) }))
}

/// A status that is no error.
pub(super) fn status(code: c_int) -> Result<c_int, Error> {
    Error::of_status(code).map_or(Ok(code), Err)
}
