//! The callbacks of libpcp_pmda: metrics from the catalogue, values of cells and streams, filters
//! of client contexts, persistent ids.

mod access;
mod audit;
mod contexts;
mod credentials;
mod entries;
mod fetch;
mod help;
mod instances;
mod labels;
mod persistent_ids;
mod state_file;
mod store;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use access::{Access, Permits};
use contexts::Contexts;
use entries::Entries;
use fetch::{Columns, Fetch, FetchScope};
use instances::{Instances, Service};
use persistent_ids::PersistentIds;
use pmda::process::create_private;
use pmda::{
    Answered, Attribute, ContextId, Error, FetchRequest, Handler, LabelSet, LabelTarget, Results,
    StartError, StoreRequest, Tables, TextTarget,
};
use store::StoreCall;

use crate::catalogue::{AGENT_INDOM, CLUSTERS, SERVICE_INDOM, Stat};
use crate::clock::now;
use crate::model::{Rights, SourceId, TableId};
use crate::store::{Change, Peer, Row, Store};

/// Numbers of services of one source; 64 sources have 31 bits then.
const SERVICES: u32 = 1 << 25;

/// Requests with more CPU time are counted.
const LONG: Duration = Duration::from_millis(250);

/// The state of the main thread.
#[derive(Debug)]
pub struct Callbacks {
    store: Arc<Store>,
    entries: Entries,
    instances: Instances,
    ids: PersistentIds,
    contexts: Contexts,
    access: Access,
    scope: FetchScope,
    columns: Columns,
    /// New metrics that clients may see.
    shown: u64,
}

impl Callbacks {
    /// Registers the static metrics, restores what earlier runs left in `dir` (dynamic metrics and
    /// instances with their ids), then adds the metrics and rows that always exist.
    /// [`Handler::update`] adds the rest.
    ///
    /// # Errors
    /// The name space refuses a name.
    pub fn new(store: Arc<Store>, dir: &Path, tables: &mut Tables) -> Result<Self, StartError> {
        let catalogue = Arc::clone(store.catalogue());
        tables.add_indom(AGENT_INDOM);
        tables.add_indom(SERVICE_INDOM);
        for (_, indom, _) in catalogue.indoms() {
            tables.add_indom(indom.serial);
        }
        let mut entries = Entries::new(store.domain(), &catalogue);
        entries.push_static(tables)?;
        let (ids, restored) = PersistentIds::open(dir, &store, create_private);
        restored.metrics.iter().for_each(|metric| entries.push_dynamic(metric, tables));
        for (source, s) in catalogue.sources() {
            for spec in s.dynamic.map(|d| (d.initial)()).unwrap_or_default() {
                store.define(source, &spec);
            }
        }
        store.initial_rows();
        Ok(Self {
            store,
            entries,
            instances: Instances::default(),
            ids,
            contexts: Contexts::default(),
            access: Access::default(),
            scope: FetchScope::default(),
            columns: Columns::default(),
            shown: 0,
        })
    }

    /// Saves ids and names for the last time. To be called first when the process ends: pmcd does not
    /// wait for the rest.
    pub fn save_last(&mut self) {
        let changes = self.store.take_changes();
        self.apply(changes);
        self.ids.save_last();
    }

    /// To be called once a second.
    pub fn turn(&mut self, now: Duration) {
        self.access.audit.settle(now);
    }

    /// Sets the rights of clients.
    pub fn set_rights(&mut self, rights: &Rights) {
        self.access.permits = Permits::new(rights);
    }

    /// Applies the changes of the store.
    fn apply(&mut self, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Metric(metric) => self.ids.add_metric(metric),
                Change::Drop(metric) => self.ids.drop_metric(&metric),
                Change::Again(metric) => self.ids.add_again(&metric),
                Change::Join(peer) => self.join(&peer),
                Change::Leave(peer) => self.leave(&peer),
                Change::JoinRow(source, table, row) => self.join_row(source, table, &row),
                Change::LeaveRow(source, table, row) => self.leave_row(source, table, &row),
                Change::RowHas(source, table, row, column) => {
                    self.row_has(source, table, &row, column);
                }
            }
        }
    }

    /// Instance domains of a peer.
    fn serials(&self, peer: &Peer) -> [u32; 2] {
        let source = self.store.catalogue().source(peer.source);
        [source.map_or(AGENT_INDOM, |s| s.indom.serial), AGENT_INDOM]
    }

    fn join(&mut self, peer: &Arc<Peer>) {
        let Some(ids) = self.ids.book.join_peer(peer) else {
            return log::error!("{} is not shown: no instance number is left", peer.agent_name());
        };
        for (serial, id) in self.serials(peer).into_iter().zip(ids) {
            self.instances.add_peer(serial, id, peer);
        }
    }

    fn leave(&mut self, peer: &Arc<Peer>) {
        let left = self.ids.book.leave_peer(peer, &self.store.limits(), now());
        for (serial, id) in self.serials(peer).into_iter().zip(left.into_iter().flatten()) {
            self.instances.remove_peer(serial, id);
        }
    }

    fn join_row(&mut self, source: SourceId, table: TableId, row: &Arc<Row>) {
        let Some(def) = self.store.catalogue().table(source, table) else { return };
        match self.ids.book.join_row(source, table, row) {
            Some(id) => {
                self.instances.add_row(def.indom.serial, id, row);
                if let Some(inst) = self.service_inst(source, table, id) {
                    let protocol = self.store.catalogue().name(source);
                    let row = Arc::clone(row);
                    self.instances.add_service(inst, Service { source, protocol, row });
                }
            }
            None => {
                log::error!("{} {} is not shown: no instance number is left", def.name, row.key);
            }
        }
    }

    fn leave_row(&mut self, source: SourceId, table: TableId, row: &Arc<Row>) {
        let Some(def) = self.store.catalogue().table(source, table) else { return };
        if let Some(id) = self.ids.book.leave_row(source, table, row, now()) {
            self.instances.remove_row(def.indom.serial, id);
            if let Some(inst) = self.service_inst(source, table, id) {
                self.instances.remove_service(inst);
            }
        }
    }

    /// The number in `apm.service` of a row of a source's services, which stays as the row's own does:
    /// the source's number in its upper bits.
    fn service_inst(&self, source: SourceId, table: TableId, id: u32) -> Option<u32> {
        let of = self.store.catalogue().source(source)?;
        let is_service = of.service.is_some_and(|service| service.table == table);
        (is_service && id < SERVICES).then(|| u32::from(of.cluster / CLUSTERS) * SERVICES + id)
    }

    fn row_has(&mut self, source: SourceId, table: TableId, row: &Arc<Row>, column: u16) {
        let Some(def) = self.store.catalogue().table(source, table) else { return };
        if let Some(id) = self.ids.book.row_id(source, table, row) {
            self.instances.row_has(def.indom.serial, id, row, column);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Handler for Callbacks {
    fn update(&mut self, tables: &mut Tables) {
        let changes = self.store.take_changes();
        if !changes.is_empty() {
            self.apply(changes);
            self.ids.changed();
        }
        self.ids.turn();
        for metric in self.ids.ready(now().monotonic) {
            self.entries.push_dynamic(&metric, tables);
            self.shown += 1;
        }
    }

    fn refresh(&mut self, indom: pmda::InDom, tables: &mut Tables) {
        self.instances.refresh(indom, tables);
    }

    fn fetch(&mut self, request: &FetchRequest<'_>, _: &mut Tables, results: &mut Results) {
        let started = now().monotonic;
        let Self { store, entries, instances, contexts, access, scope, columns, .. } = self;
        let shown = self.shown;
        Fetch { store, entries, instances, contexts, access, scope, columns, shown, now: started }
            .answer(request, results);
        let took = nanoseconds(now().monotonic.saturating_sub(started));
        store.stats.add(Stat::FetchCount, 1);
        store.stats.add(Stat::FetchTime, took);
        store.stats.raise(Stat::FetchMax, took);
    }

    fn store(&mut self, request: &StoreRequest<'_>) -> Result<(), Error> {
        let Self { store, entries, instances, contexts, access, .. } = self;
        let call = StoreCall { store, entries, instances, contexts, access, now: now().monotonic };
        call.answer(request)
    }

    fn text(&mut self, target: TextTarget, one_line: bool) -> Option<String> {
        help::of(target, one_line, self.store.catalogue(), &self.entries)
    }

    fn labels(&mut self, target: LabelTarget) -> Option<LabelSet> {
        labels::of(target, self.store.catalogue(), &self.entries, &self.instances)
    }

    fn attribute(&mut self, context: ContextId, attribute: Attribute) {
        self.contexts.get(context).who.set(attribute);
    }

    fn end_context(&mut self, context: ContextId) {
        self.contexts.forget(context);
        self.store.forget_reader(context.0.cast_unsigned());
    }

    fn answered(&mut self, report: Answered) {
        let stats = &self.store.stats;
        stats.add(Stat::PduCount, 1);
        stats.add(Stat::PduTime, nanoseconds(report.time));
        stats.raise(Stat::PduMax, nanoseconds(report.time));
        stats.add(Stat::PduOver, (report.time > LONG).into());
        stats.add(Stat::PduCut, report.cut.into());
    }
}
