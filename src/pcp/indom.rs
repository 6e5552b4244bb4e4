//! Instance domains as libpcp_pmda sees them: tables of numbers and names that pmdaInstance(3) and
//! pmdaLabel(3) read.

use std::collections::HashSet;
use std::ffi::CString;

use super::state::Domains;
use super::sys;
use crate::catalogue::{AGENT_INDOM, Catalogue};

/// The number of an instance domain, as of `pmInDom_build(3)`: domain 9 bits, serial 22 bits.
pub(super) const fn number(domain: u32, serial: u32) -> sys::pmInDom {
    (domain & 0x1ff) << 22 | serial & 0x3f_ffff
}

/// The serial number in it.
pub(super) const fn serial(indom: sys::pmInDom) -> u32 {
    indom & 0x3f_ffff
}

/// The table that pmdaInit(3) gets: it stays where it is as long as this lives. Rows of a domain
/// are made again when somebody asks for it and it has changed.
#[derive(Debug)]
pub(super) struct Tables {
    domains: Vec<sys::pmdaIndom>,
    rows: Vec<Vec<sys::pmdaInstid>>,
    /// The rows point to these.
    names: Vec<Vec<CString>>,
    stale: HashSet<u32>,
}

impl Tables {
    pub(super) fn new(domain: u32, catalogue: &Catalogue) -> Self {
        let of_sources = catalogue.indoms().map(|(_, indom, _)| indom.serial);
        let serials = std::iter::once(AGENT_INDOM).chain(of_sources);
        let empty = |s| sys::pmdaIndom {
            it_indom: number(domain, s),
            it_numinst: 0,
            it_set: std::ptr::null_mut(),
        };
        let domains: Vec<_> = serials.map(empty).collect();
        let (rows, names) = domains.iter().map(|_| (Vec::new(), Vec::new())).unzip();
        Self { domains, rows, names, stale: HashSet::new() }
    }

    /// For pmdaInit(3): first row and number of rows.
    pub(super) fn raw(&mut self) -> (*mut sys::pmdaIndom, i32) {
        (self.domains.as_mut_ptr(), i32::try_from(self.domains.len()).unwrap_or(i32::MAX))
    }

    /// Instances of a domain have come or gone.
    pub(super) fn changed(&mut self, serial: u32) {
        self.stale.insert(serial);
    }

    /// Before libpcp_pmda reads the instances of a domain.
    pub(super) fn refresh(&mut self, indom: sys::pmInDom, instances: &Domains) {
        if !self.stale.remove(&serial(indom)) {
            return;
        }
        let all = self.domains.iter_mut().zip(&mut self.rows).zip(&mut self.names);
        let Some(((domain, rows), names)) = all.into_iter().find(|((d, _), _)| d.it_indom == indom)
        else {
            return;
        };
        let (ids, words): (Vec<u32>, Vec<CString>) = instances
            .names(serial(indom))
            .into_iter()
            .map(|(id, name)| (id, super::text::c_string(&name)))
            .unzip();
        *names = words;
        let row = |(id, name): (u32, &CString)| sys::pmdaInstid {
            i_inst: id.cast_signed(),
            i_name: name.as_ptr().cast_mut(),
        };
        *rows = ids.into_iter().zip(&*names).map(row).collect();
        (domain.it_set, domain.it_numinst) =
            (rows.as_mut_ptr(), i32::try_from(rows.len()).unwrap_or(i32::MAX));
    }
}
