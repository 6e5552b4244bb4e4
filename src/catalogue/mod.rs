//! All static metrics and instance domains of the PMDA, built and checked once from the tables of
//! the sources. The PMDA registers them; `pmns`, `help` and docs/metrics.md are generated from
//! them; source ids are positions in the catalogue.

mod agent;
mod check;
mod contradiction;
mod define;
mod entry;
mod roll_up;
mod self_metrics;
mod sound;
mod source_metrics;
mod table;
#[cfg(test)]
pub(crate) mod test_kit;

pub use agent::{AGENT_INDOM, AgentCell};
pub use contradiction::{CatalogueError, Contradiction};
pub use entry::Entry;
pub use roll_up::{Part, RollUp, SERVICE_INDOM, ServiceOf, ServiceRows, ServiceSum, Services};
pub use self_metrics::Stat;
pub use sound::assert_apart;
pub(crate) use sound::{OWN_CLUSTERS, is_static};
pub(crate) use table::EXTRA_CLUSTER;
pub use table::{
    CLUSTERS, ControlDef, DYNAMIC_CLUSTER, DYNAMIC_MAX, DYNAMIC_PARAM_CLUSTER, Dynamic, InDomDef,
    OTHER, PARAM_CLUSTER, ParamDef, RowLayout, SourceTable, TOTALS_FIRST, TableDef, Totals,
};

use contradiction::Contradictions;

use crate::model::{ControlId, SourceId, TableId};

/// All sources and static metrics.
#[derive(Clone, Debug)]
pub struct Catalogue {
    sources: Vec<SourceTable>,
    entries: Vec<Entry>,
    agents_help: String,
}

impl Catalogue {
    /// Builds the catalogue from the tables of all sources, in their order.
    ///
    /// # Errors
    /// Two names or ids are equal, or one is out of range: the error names all that are wrong, each
    /// with its places.
    pub fn new(sources: &[SourceTable]) -> Result<Self, CatalogueError> {
        let mut found = Contradictions::default();
        check::sources(sources, &mut found);
        let names: Vec<&str> = sources.iter().map(|s| s.name).collect();
        let mut entries = agent::entries(listed(&names).into());
        let mut truncated = "Texts that were cut, and other parameters that were left out, \
                             because their record would have been larger than 512 KiB, which is \
                             what every fetch can carry"
            .to_owned();
        for more in sources.iter().filter_map(|s| s.truncated_help) {
            truncated.push_str("; ");
            truncated.push_str(more);
        }
        truncated.push('.');
        for (n, source) in (0..).zip(sources) {
            entries.extend(source_metrics::entries(SourceId::new(n), source, &truncated));
        }
        entries.extend(roll_up::entries(sources));
        entries.extend(self_metrics::entries(sources));
        check::entries(&entries, &mut found);
        found.result()?;
        let (protocol, name) =
            sources.first().map_or(("protocol", "name:1234"), |s| (s.name, s.example));
        let agents_help = format!(
            "One instance for each peer: <protocol>::<name>, for example {protocol}::{name}. An \
             instance stays when the agent has gone, for limits.forget, and keeps its number over \
             restarts of the PMDA."
        );
        Ok(Self { sources: sources.to_vec(), entries, agents_help })
    }

    /// All static metrics.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The sources with their ids.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = (SourceId, &SourceTable)> + Clone {
        self.sources.iter().enumerate().map(|(n, source)| (id_of(n), source))
    }

    /// The table of a source.
    #[must_use]
    pub fn source(&self, id: SourceId) -> Option<&SourceTable> {
        let source = self.sources.get(id.index());
        debug_assert!(source.is_some(), "{id:?} is of another catalogue");
        source
    }

    /// The name of a source.
    #[must_use]
    pub fn name(&self, id: SourceId) -> &'static str {
        self.source(id).map_or("", |s| s.name)
    }

    /// The id of a source, if it is built in.
    #[must_use]
    pub fn id(&self, name: &str) -> Option<SourceId> {
        self.sources.iter().position(|s| s.name == name).map(id_of)
    }

    /// A table of a source.
    #[must_use]
    pub fn table(&self, source: SourceId, table: TableId) -> Option<&TableDef> {
        self.source(source)?.tables.get(table.index())
    }

    /// A control of a source.
    #[must_use]
    pub fn control(&self, source: SourceId, control: ControlId) -> Option<&ControlDef> {
        self.source(source)?.controls.get(control.index())
    }

    /// The source that a PMID cluster belongs to.
    #[must_use]
    pub fn of_cluster(&self, cluster: u16) -> Option<&SourceTable> {
        self.sources.iter().find(|s| (s.cluster..s.cluster + CLUSTERS).contains(&cluster))
    }

    /// All instance domains of sources: a word for one instance, definition (with serial number)
    /// and source.
    pub fn indoms(&self) -> impl Iterator<Item = (&'static str, &InDomDef, &SourceTable)> {
        let own = self.sources.iter().map(|s| (s.name, &s.indom, s));
        let tables =
            self.sources.iter().flat_map(|s| s.tables.iter().map(move |t| (t.name, &t.indom, s)));
        own.chain(tables)
    }

    /// One line and the full help text of an instance domain.
    #[must_use]
    pub fn indom_help(&self, serial: u32) -> Option<(&str, &str)> {
        if serial == AGENT_INDOM {
            return Some(("Agents of all protocols that are or were connected", &self.agents_help));
        }
        if serial == SERVICE_INDOM {
            return Some(("Services and programs of all protocols", SERVICES_HELP));
        }
        self.indoms()
            .find(|(_, indom, _)| indom.serial == serial)
            .map(|(_, i, _)| (i.oneline, i.help))
    }
}

/// Help of [`SERVICE_INDOM`].
const SERVICES_HELP: &str = "One instance for each service or program: NAMESPACE/SERVICE of the Java profiler, the \
     application or service of Zorka, the program of .NET and Mono; SOURCE::NAME if a source of a lower \
     cluster has the name too. Its label source says who. It stays when its processes have gone, so its counters go on over their restarts.";

fn id_of(position: usize) -> SourceId {
    // 4096 PMID clusters for all sources bound their number.
    SourceId::new(u16::try_from(position).unwrap_or(u16::MAX))
}

/// `a, b or c.`
fn listed(names: &[&str]) -> String {
    match names {
        [] => "None is built in.".into(),
        [one] => format!("{one}."),
        [first @ .., last] => format!("{} or {last}.", first.join(", ")),
    }
}

#[cfg(test)]
mod tests;
