//! Instance domains: tables of numbers and names that pmdaInstance(3) and pmdaLabel(3) read.

use std::ffi::{CString, c_int};

use pcp_sys as sys;

use crate::cstring;
use crate::ids::InDom;

/// All instance domains. `rows[i]` and `names[i]` belong to `domains[i]`.
#[derive(Debug, Default)]
pub(super) struct InDoms {
    domains: Vec<sys::pmdaIndom>,
    rows: Vec<Vec<sys::pmdaInstid>>,
    /// The rows point to these names.
    names: Vec<Vec<CString>>,
    /// libpcp_pmda has the address of `domains`: no domain may be added.
    fixed: bool,
}

impl InDoms {
    pub(super) fn add(&mut self, indom: InDom) {
        assert!(!self.fixed, "instance domain {indom:?} added after the start");
        self.domains.push(sys::pmdaIndom {
            it_indom: indom.0,
            it_numinst: 0,
            it_set: std::ptr::null_mut(),
        });
        self.rows.push(Vec::new());
        self.names.push(Vec::new());
    }

    pub(super) fn set<'n>(
        &mut self,
        indom: InDom,
        instances: impl IntoIterator<Item = (u32, &'n str)>,
    ) {
        let all = self.domains.iter_mut().zip(&mut self.rows).zip(&mut self.names);
        let found = all.into_iter().find(|((domain, _), _)| domain.it_indom == indom.0);
        let Some(((domain, rows), names)) = found else { return };
        let (ids, words): (Vec<u32>, Vec<CString>) =
            instances.into_iter().map(|(id, name)| (id, cstring::cut(name))).unzip();
        *names = words;
        let row = |(id, name): (u32, &CString)| sys::pmdaInstid {
            i_inst: id.cast_signed(),
            i_name: name.as_ptr().cast_mut(),
        };
        *rows = ids.into_iter().zip(&*names).map(row).collect();
        domain.it_set = rows.as_mut_ptr();
        domain.it_numinst = c_int::try_from(rows.len()).unwrap_or(c_int::MAX);
    }

    pub(super) fn numbers(&self, indom: InDom) -> Vec<u32> {
        let at = self.domains.iter().position(|domain| domain.it_indom == indom.0);
        let rows = at.and_then(|at| self.rows.get(at)).into_iter().flatten();
        rows.map(|row| row.i_inst.cast_unsigned()).collect()
    }

    pub(super) fn fix(&mut self) -> (*mut sys::pmdaIndom, c_int) {
        self.fixed = true;
        (self.domains.as_mut_ptr(), c_int::try_from(self.domains.len()).unwrap_or(c_int::MAX))
    }
}
