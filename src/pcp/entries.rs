//! The metric table: `pmdaMetric` rows for libpcp_pmda, and beside each what the callbacks need to
//! answer for it.

use std::collections::HashMap;
use std::sync::Arc;

use super::sys;
use crate::catalogue::{AGENT_INDOM, Catalogue, Entry};
use crate::events::ParameterNames;
use crate::model::{InDom, Pmid, Semantics, SourceId, Units, ValueSource, ValueType};
use crate::store::DynamicMetric;

/// What the callbacks know of a metric.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) pmid: Pmid,
    pub(super) value: ValueSource,
    pub(super) ty: ValueType,
    pub(super) indom: InDom,
    pub(super) source: Option<SourceId>,
    pub(super) item: u16,
    pub(super) oneline: String,
    pub(super) help: String,
    pub(super) labels: Vec<(&'static str, String)>,
}

/// All metrics. `metrics[i]` and `rows[i]` belong together.
#[derive(Debug)]
pub(super) struct Entries {
    domain: u32,
    catalogue: Arc<Catalogue>,
    pub(super) metrics: Vec<sys::pmdaMetric>,
    rows: Vec<Row>,
    by_pmid: HashMap<u32, usize>,
    /// Parameters by their source and the last word of their name: rows in their order.
    by_word: HashMap<(SourceId, String), Vec<usize>>,
}

/// The parameters of a source's records by name.
#[derive(Debug)]
pub(super) struct Parameters<'e> {
    entries: &'e Entries,
    source: SourceId,
}

impl ParameterNames for Parameters<'_> {
    fn known(&self) -> usize {
        self.entries.rows.len()
    }

    fn find(&self, name: &str, from: usize) -> Vec<(Pmid, ValueType)> {
        let word = name.rsplit('.').next().unwrap_or_default();
        let rows = self
            .entries
            .by_word
            .get(&(self.source, word.to_owned()))
            .map_or(&[] as &[usize], Vec::as_slice);
        let new = rows.get(rows.partition_point(|row| *row < from)..).unwrap_or_default();
        let ends = |row: &&Row| {
            row.name.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        new.iter()
            .filter_map(|row| self.entries.rows.get(*row))
            .filter(ends)
            .map(|row| (row.pmid, row.ty))
            .collect()
    }
}

impl Entries {
    pub(super) fn new(domain: u32, catalogue: &Arc<Catalogue>) -> Self {
        Self {
            domain,
            catalogue: Arc::clone(catalogue),
            metrics: Vec::new(),
            rows: Vec::new(),
            by_pmid: HashMap::new(),
            by_word: HashMap::new(),
        }
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(super) fn by_pmid(&self, pmid: u32) -> Option<&Row> {
        self.rows.get(*self.by_pmid.get(&pmid)?)
    }

    /// The parameters of a source, for filters.
    pub(super) const fn parameters(&self, source: SourceId) -> Parameters<'_> {
        Parameters { entries: self, source }
    }

    /// Serial number of the instance domain of a metric.
    pub(super) fn serial(&self, row: &Row) -> Option<u32> {
        match row.indom {
            InDom::Null => None,
            InDom::Agents => Some(AGENT_INDOM),
            InDom::Peers => Some(self.catalogue.source(row.source?)?.indom.serial),
            InDom::Table(table) => Some(self.catalogue.table(row.source?, table)?.indom.serial),
        }
    }

    pub(super) fn push_static(&mut self, entry: &Entry) {
        let row = Row {
            name: entry.name.clone(),
            pmid: Pmid::new(self.domain, entry.cluster, entry.item),
            value: entry.value,
            ty: entry.ty,
            indom: entry.indom,
            source: entry.source,
            item: entry.item,
            oneline: entry.oneline.clone().into(),
            help: entry.help.clone().into(),
            labels: Vec::new(),
        };
        self.push(row, entry.sem, entry.units);
    }

    /// The metric, if it has values, and its parameter metric: the last rows.
    pub(super) fn push_dynamic(&mut self, metric: &Arc<DynamicMetric>) {
        let source = self.catalogue.source(metric.source);
        let Some((source, node)) = source.and_then(|s| Some((s.name, s.dynamic?.node))) else {
            return;
        };
        let row = Row {
            name: format!("apm.{source}.{}.{}", node.unwrap_or_default(), metric.spec.path),
            pmid: metric.pmid,
            value: ValueSource::Column(metric.column()),
            ty: metric.spec.ty,
            indom: InDom::Peers,
            source: Some(metric.source),
            item: metric.pmid.item(),
            oneline: metric.spec.oneline.clone(),
            help: metric.spec.help.clone(),
            labels: metric.spec.labels.clone(),
        };
        let (oneline, help) = metric.param_help(node.is_some());
        let param = Row {
            name: format!("apm.{source}.param.{}", metric.spec.path),
            pmid: metric.param,
            value: ValueSource::Param,
            indom: InDom::Null,
            oneline,
            help,
            ..row.clone()
        };
        if node.is_some() {
            self.push(row, metric.spec.sem, metric.spec.units);
        }
        // The value in a record is what the counter was then; a rate between records of several
        // processes means nothing.
        let sem = if metric.spec.sem == Semantics::Counter {
            Semantics::Instant
        } else {
            metric.spec.sem
        };
        self.push(param, sem, metric.spec.units);
    }

    fn push(&mut self, row: Row, sem: Semantics, units: Units) {
        let indom =
            self.serial(&row).map_or(sys::PM_INDOM_NULL, |s| super::indom::number(self.domain, s));
        let index = self.rows.len();
        self.by_pmid.insert(row.pmid.0, index);
        if let (ValueSource::Param, Some(source)) = (row.value, row.source) {
            let word = row.name.rsplit('.').next().unwrap_or_default();
            self.by_word.entry((source, word.to_owned())).or_default().push(index);
        }
        self.metrics.push(sys::pmdaMetric {
            m_user: std::ptr::null_mut(),
            m_desc: sys::pmDesc {
                pmid: row.pmid.0,
                type_: row.ty as i32,
                indom,
                sem: sem as i32,
                units: pack(units),
            },
        });
        self.rows.push(row);
    }
}

fn pack(units: Units) -> sys::pmUnits {
    let fields = units.fields();
    // SAFETY: pmUnits is bit-fields of integers, so all bits 0 is a value of it.
    let mut packed = unsafe { std::mem::zeroed::<sys::pmUnits>() };
    packed.set_dimSpace(fields.dim_space.into());
    packed.set_dimTime(fields.dim_time.into());
    packed.set_dimCount(fields.dim_count.into());
    packed.set_scaleSpace(fields.scale_space.into());
    packed.set_scaleTime(fields.scale_time.into());
    packed.set_scaleCount(fields.scale_count.into());
    packed
}
