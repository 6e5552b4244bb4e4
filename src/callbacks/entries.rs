//! The metric table of the callbacks.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use pmda::{Metric, TableError, Tables};

use crate::catalogue::{AGENT_INDOM, Catalogue, SERVICE_INDOM};
use crate::events::ParameterNames;
use crate::model::{
    EventLeaf, InDom, Place, Pmid, Semantics, SourceId, Units, ValueSource, ValueType, component,
};
use crate::store::DynamicMetric;

/// A metric and the source of its value.
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
    pub(super) units: Units,
    /// What a peer has brought, until a client sees it.
    pub(super) dynamic: Option<Arc<DynamicMetric>>,
}

/// All metrics.
#[derive(Debug)]
pub(super) struct Entries {
    domain: u32,
    catalogue: Arc<Catalogue>,
    rows: Vec<Row>,
    by_pmid: HashMap<u32, usize, RandomState>,
    /// Parameters by source and last component of their name: positions in `rows`, ascending.
    by_word: HashMap<(SourceId, String), Vec<usize>>,
    /// Dynamic metrics that leaves of `apm.runtime` and `apm.service` are made of, by their keys.
    rolled_up: HashMap<(SourceId, String), usize>,
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
        let mut found = self.called(name, from);
        // A field of a trace has the metric that is made from its own name.
        let own = name.split('.').map(component).collect::<Vec<_>>().join(".");
        if own != name {
            found.extend(self.called(&own, from));
        }
        found
    }

    fn grows(&self) -> bool {
        let source = self.entries.catalogue.source(self.source);
        let places = source.and_then(|source| source.dynamic).map_or(&[] as &[_], |d| d.places);
        places.iter().any(|(place, _)| *place == Place::Param)
    }

    fn time_unit(&self, pmid: Pmid) -> Option<u64> {
        let fields = self.entries.by_pmid(pmid.0)?.units.fields();
        let unit = *TIME_UNITS.get(usize::from(fields.scale_time))?;
        (fields.dim_time == 1 && fields.dim_space == 0 && fields.dim_count == 0).then_some(unit)
    }
}

/// Nanoseconds of `PM_TIME_*`.
const TIME_UNITS: &[u64] = &[1, 1000, 1_000_000, 1_000_000_000, 60_000_000_000, 3_600_000_000_000];

impl Parameters<'_> {
    /// The parameters from number `from` on with a name that ends so.
    fn called(&self, name: &str, from: usize) -> Vec<(Pmid, ValueType)> {
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

impl Row {
    /// Whether the values are event records, or tables of them.
    pub(super) const fn shows_records(&self) -> bool {
        matches!(
            self.value,
            ValueSource::Event(
                _,
                EventLeaf::Records
                    | EventLeaf::HighResRecords
                    | EventLeaf::Table
                    | EventLeaf::Slowest
            )
        )
    }
}

impl Entries {
    pub(super) fn new(domain: u32, catalogue: &Arc<Catalogue>) -> Self {
        Self {
            domain,
            catalogue: Arc::clone(catalogue),
            rows: Vec::new(),
            by_pmid: HashMap::default(),
            by_word: HashMap::new(),
            rolled_up: HashMap::new(),
        }
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The position of a metric in [`rows`](Self::rows).
    pub(super) fn position(&self, pmid: u32) -> Option<usize> {
        self.by_pmid.get(&pmid).copied()
    }

    pub(super) fn by_pmid(&self, pmid: u32) -> Option<&Row> {
        self.rows.get(self.position(pmid)?)
    }

    /// The dynamic metric with a key, if a leaf is made of it.
    pub(super) fn rolled_up(&self, source: SourceId, key: &str) -> Option<&Row> {
        self.rows.get(*self.rolled_up.get(&(source, key.to_owned()))?)
    }

    /// The parameters of a source by name, for filters.
    pub(super) const fn parameters(&self, source: SourceId) -> Parameters<'_> {
        Parameters { entries: self, source }
    }

    /// Serial number of the instance domain of a metric.
    pub(super) fn serial(&self, row: &Row) -> Option<u32> {
        match row.indom {
            InDom::Null => None,
            InDom::Agents => Some(AGENT_INDOM),
            InDom::Services => Some(SERVICE_INDOM),
            InDom::Peers => Some(self.catalogue.source(row.source?)?.indom.serial),
            InDom::Table(table) => Some(self.catalogue.table(row.source?, table)?.indom.serial),
        }
    }

    /// Adds the metrics of the catalogue.
    pub(super) fn push_static(&mut self, tables: &mut Tables) -> Result<(), TableError> {
        let catalogue = Arc::clone(&self.catalogue);
        let mut metrics = Vec::new();
        for entry in catalogue.entries() {
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
                units: entry.units,
                dynamic: None,
            };
            metrics.push(self.push(row, entry.sem));
        }
        tables.add_metrics(&metrics)
    }

    /// Adds a dynamic metric, if it has values, and its parameter metric, if it has one.
    pub(super) fn push_dynamic(&mut self, metric: &Arc<DynamicMetric>, tables: &mut Tables) {
        let catalogue = Arc::clone(&self.catalogue);
        let Some(source_table) = catalogue.source(metric.source) else { return };
        let (source, keeps) = (source_table.name, source_table.keeps_values);
        let spec = &metric.spec;
        let instant = spec.sem != Semantics::Counter;
        let row = Row {
            name: format!("apm.{source}.{}.{}", spec.place.node().unwrap_or_default(), spec.path),
            pmid: metric.pmid,
            value: match spec.place {
                Place::Peers(_) | Place::Rows(..) if keeps && instant => {
                    ValueSource::RecentColumn(metric.column())
                }
                _ => ValueSource::Column(metric.column()),
            },
            ty: spec.ty,
            indom: spec.place.indom(),
            source: Some(metric.source),
            item: metric.pmid.item(),
            oneline: spec.oneline.clone(),
            help: spec.help.clone(),
            labels: spec.labels.clone(),
            units: spec.units,
            dynamic: Some(Arc::clone(metric)),
        };
        let (oneline, help) = metric.param_help();
        let param = Row {
            name: format!("apm.{source}.param.{}", spec.path),
            pmid: metric.param,
            value: ValueSource::Param,
            indom: InDom::Null,
            oneline,
            help,
            ..row.clone()
        };
        if source_table.rolls_up(&spec.key) {
            self.rolled_up.insert((metric.source, spec.key.clone()), self.rows.len());
        }
        if spec.place.node().is_some() {
            let metric = self.push(row, spec.sem);
            add(tables, &metric);
        }
        if spec.place.has_param() {
            // A record has the counter's value at its time; a rate between records of several
            // processes means nothing.
            let sem = if instant { spec.sem } else { Semantics::Instant };
            let param = self.push(param, sem);
            add(tables, &param);
        }
    }

    fn push(&mut self, row: Row, sem: Semantics) -> Metric {
        let index = self.rows.len();
        self.by_pmid.insert(row.pmid.0, index);
        if let (ValueSource::Param, Some(source)) = (row.value, row.source) {
            let word = row.name.rsplit('.').next().unwrap_or_default();
            self.by_word.entry((source, word.to_owned())).or_default().push(index);
        }
        let indom = self.serial(&row).map(|serial| pmda::InDom::new(self.domain, serial));
        let metric = Metric {
            name: row.name.clone(),
            pmid: row.pmid,
            ty: row.ty,
            indom,
            sem,
            units: row.units,
        };
        self.rows.push(row);
        metric
    }
}

fn add(tables: &mut Tables, metric: &Metric) {
    if let Err(e) = tables.add_metrics(std::slice::from_ref(metric)) {
        log::error!("name space: {e}");
    }
}
