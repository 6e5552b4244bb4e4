//! The tables that libpcp_pmda reads: metrics, their names, instance domains.

mod cache;
mod indoms;
mod metric;
mod namespace;

use std::collections::HashMap;
use std::ffi::c_int;

pub use cache::InstanceCache;
use indoms::InDoms;
pub use metric::Metric;
pub(crate) use namespace::NameSpace;
use pcp_event::{Pmid, Semantics, Units, ValueType};
use pcp_sys as sys;

use crate::ids::InDom;

/// Metrics with their names, and instance domains with their instances.
///
/// Metrics may be added at any time and are never removed; instance domains are added before the
/// PMDA starts.
#[derive(Debug)]
pub struct Tables {
    domain: u32,
    metrics: Vec<sys::pmdaMetric>,
    names: NameSpace,
    indoms: InDoms,
    /// Rows of `metrics` by PMID; covers the first `indexed` rows.
    index: HashMap<u32, usize>,
    indexed: usize,
    /// Metrics were added after the table was last registered with libpcp_pmda.
    grown: bool,
}

impl Tables {
    pub(crate) fn new(domain: u32) -> Result<Self, crate::Error> {
        Ok(Self {
            domain,
            metrics: Vec::new(),
            names: NameSpace::new()?,
            indoms: InDoms::default(),
            index: HashMap::new(),
            indexed: 0,
            grown: false,
        })
    }

    /// Domain number of the PMDA: from [`PmdaInfo`](crate::PmdaInfo) or option `-d`.
    #[must_use]
    pub const fn domain(&self) -> u32 {
        self.domain
    }

    /// A metric of this PMDA: semantics instant, no unit, no instance domain.
    #[must_use]
    pub fn metric(&self, name: &str, cluster: u16, item: u16, ty: ValueType) -> Metric {
        Metric {
            name: name.to_owned(),
            pmid: Pmid::new(self.domain, cluster, item),
            ty,
            indom: None,
            sem: Semantics::Instant,
            units: Units::None,
        }
    }

    /// Adds metrics. Clients see metrics added after the start with their next fetch.
    ///
    /// Names are listed in the order of `metrics`, before names added earlier.
    ///
    /// # Errors
    /// The first name that the name space rejects. All metrics are added nevertheless; a metric
    /// with a rejected name can be fetched by its PMID only.
    pub fn add_metrics(&mut self, metrics: &[Metric]) -> Result<(), TableError> {
        self.metrics.extend(metrics.iter().map(Metric::row));
        self.grown |= !metrics.is_empty();
        let mut outcome = Ok(());
        // pmdaTree inserts each new name before its siblings.
        for metric in metrics.iter().rev() {
            if let Err(error) = self.names.insert(metric.pmid, &metric.name) {
                outcome = Err(TableError { name: metric.name.clone(), error });
            }
        }
        outcome
    }

    /// Adds an instance domain without instances. Returns its identifier.
    ///
    /// # Panics
    /// After the PMDA has started: libpcp_pmda reads the table in place.
    pub fn add_indom(&mut self, serial: u32) -> InDom {
        let indom = InDom::new(self.domain, serial);
        self.indoms.add(indom);
        indom
    }

    /// Replaces the instances of a domain: numbers and names. Ignores an unknown domain.
    pub fn set_instances<'n>(
        &mut self,
        indom: InDom,
        instances: impl IntoIterator<Item = (u32, &'n str)>,
    ) {
        self.indoms.set(indom, instances);
    }

    /// Numbers of a domain's instances, in the order in which they were set.
    #[must_use]
    pub fn instances(&self, indom: InDom) -> Vec<u32> {
        self.indoms.numbers(indom)
    }

    /// Type and instance domain of a metric; `None` for an unknown PMID.
    pub(crate) fn find(&mut self, pmid: u32) -> Option<(ValueType, Option<InDom>)> {
        let new = self.metrics.iter().enumerate().skip(self.indexed);
        self.index.extend(new.map(|(row, metric)| (metric.m_desc.pmid, row)));
        self.indexed = self.metrics.len();
        let desc = &self.metrics.get(*self.index.get(&pmid)?)?.m_desc;
        Some((
            metric::value_type(desc.type_)?,
            (desc.indom != sys::PM_INDOM_NULL).then_some(InDom(desc.indom)),
        ))
    }

    pub(crate) const fn names(&self) -> &NameSpace {
        &self.names
    }

    /// Whether metrics were added since the last call. If so, their names are complete, and the
    /// table must be registered with libpcp_pmda again.
    pub(crate) fn take_grown(&mut self) -> bool {
        if self.grown {
            self.names.rebuild();
        }
        std::mem::take(&mut self.grown)
    }

    /// First row and number of rows. The rows stay in place until metrics are added.
    pub(crate) fn metric_rows(&mut self) -> (*mut sys::pmdaMetric, c_int) {
        (self.metrics.as_mut_ptr(), c_int::try_from(self.metrics.len()).unwrap_or(c_int::MAX))
    }

    /// First row and number of rows. The rows stay in place as long as the tables live; from now on
    /// no instance domain can be added.
    pub(crate) fn indom_rows(&mut self) -> (*mut sys::pmdaIndom, c_int) {
        self.indoms.fix()
    }
}

/// A name that the name space rejects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableError {
    name: String,
    error: crate::Error,
}

impl std::fmt::Display for TableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.error)
    }
}

impl std::error::Error for TableError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_found_also_when_they_come_later() {
        let mut tables = Tables::new(253).expect("a name space");
        let indom = tables.add_indom(7);
        let first = tables.metric("a.one", 0, 1, ValueType::U32);
        let second = Metric { indom: Some(indom), ..tables.metric("a.two", 0, 2, ValueType::F64) };
        tables.add_metrics(std::slice::from_ref(&first)).expect("a name");
        assert_eq!(tables.find(first.pmid.0), Some((ValueType::U32, None)));
        assert_eq!(tables.find(second.pmid.0), None);
        tables.add_metrics(std::slice::from_ref(&second)).expect("a name");
        assert_eq!(tables.find(second.pmid.0), Some((ValueType::F64, Some(indom))));
        assert!(tables.take_grown() && !tables.take_grown());
        let nul = tables.metric("a\0b", 0, 3, ValueType::U32);
        assert!(tables.add_metrics(&[nul]).is_err());
    }

    #[test]
    fn instances_are_those_that_were_set_last() {
        let mut tables = Tables::new(253).expect("a name space");
        let (one, other) = (tables.add_indom(0), tables.add_indom(1));
        tables.set_instances(one, [(3, "c"), (1, "a")]);
        tables.set_instances(InDom(5), [(1, "a")]);
        assert_eq!((tables.instances(one), tables.instances(other)), (vec![3, 1], vec![]));
        tables.set_instances(one, []);
        assert!(tables.instances(one).is_empty());
    }
}
