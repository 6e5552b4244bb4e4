//! The metrics of the PMDA itself, `apm.self.*`: one row each.

use super::entry::Entry;
use super::table::SourceTable;
use crate::model::{InDom, Semantics, Units, ValueSource, ValueType};

/// PMID cluster of `apm.self`.
const CLUSTER: u16 = 0;

macro_rules! stats {
    ($($id:ident $name:literal $ty:ident $sem:ident $units:ident $oneline:literal $help:literal;)*) => {
        /// A statistic; its number is its PMID item.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Stat { $(#[doc = $oneline] $id),* }

        /// One row of the table.
        #[derive(Clone, Copy, Debug)]
        pub(super) struct Row {
            pub(super) stat: Stat,
            pub(super) name: &'static str,
            pub(super) ty: ValueType,
            pub(super) sem: Semantics,
            pub(super) units: Units,
            pub(super) oneline: &'static str,
            pub(super) help: &'static str,
        }

        /// All rows in order of their items.
        pub(super) const ROWS: &[Row] = &[$(Row {
            stat: Stat::$id, name: $name, ty: ValueType::$ty, sem: Semantics::$sem, units: Units::$units,
            oneline: $oneline, help: $help,
        }),*];
    };
}

stats! {
    Version "version" Text Discrete None "Version of pmdaapm" "The version of the pmdaapm binary that answers.";
    Uptime "uptime" U64 Counter Nanoseconds "Time since the PMDA started" "Grows by one second a second; starts again at 0 with each start of the PMDA.";
    ConfigFile "config.file" Text Discrete None "Configuration file in use" "Path of the configuration file, or the word defaults when there is none.";
    ConfigReloads "config.reloads" U64 Counter Count "Configuration reloads that took effect" "SIGHUP makes the PMDA read its configuration again.";
    ConfigErrors "config.errors" U64 Counter Count "Configuration reloads refused" "Reloads that were refused because of an error in the file; the old configuration stays in force. The log says what is wrong and where.";
    FetchCount "fetch.count" U64 Counter Count "Fetch requests answered" "Fetch PDUs that pmcd has sent.";
    FetchTime "fetch.time" U64 Counter Nanoseconds "Time spent answering fetches" "Time from the arrival of a fetch PDU to its result, without pmcd's own work. Divide its rate by that of apm.self.fetch.count for the mean.";
    FetchMax "fetch.max" U64 Instant Nanoseconds "Longest fetch so far" "The longest time a single fetch has taken since the PMDA started.";
    IngestBytes "ingest.bytes" U64 Counter Bytes "Bytes read from all peers" "Bytes read from sockets and files of all peers, identified or not.";
    IngestMessages "ingest.messages" U64 Counter Count "Messages read from all peers" "Whole protocol messages.";
    IngestErrors "ingest.errors" U64 Counter Count "Faults in what peers sent" "Connections closed because of bad bytes, bad records and refused requests, of all peers. The log has a line for each peer at most once a minute.";
    ConnectionCurrent "connection.current" U64 Instant Count "Connections open now" "Connections of all listeners, identified or not.";
    ConnectionTotal "connection.total" U64 Counter Count "Connections accepted" "Connections accepted since the PMDA started.";
    ConnectionRefused "connection.refused" U64 Counter Count "Connections refused or displaced" "Connections closed at once because limits.connections or the limit of open files was reached, or displaced while nobody knew yet what they are because limits.pending was.";
    MemoryEvents "memory.events" U64 Instant Bytes "Memory held by event records" "Packed event records of all streams, bounded by events.memory.";
    MemoryRegistry "memory.registry" U64 Instant Bytes "Memory held by names and values" "Metrics, instances and values that peers have brought, but for texts; an estimate, bounded by limits.names and limits.instances.";
    MemoryLimit "memory.limit" U64 Instant Bytes "Bound of apm.self.memory.events" "The setting events.memory.";
    NamesRegistered "names.registered" U64 Instant Count "Dynamic metrics known" "Metrics that peers have brought, of all sources; each has a counter and a parameter name.";
    NamesRejected "names.rejected" U64 Counter Count "Metrics refused" "Definitions of metrics refused because limits.names or one peer's share of it (a quarter of what is left, or 64) was reached, or because category and name together are longer than limits.name_length. Their values are not shown. Names that are too long by themselves are errors of their agent.";
    InstancesRegistered "instances.registered" U64 Instant Count "Instances known" "Peers known, connected or not, of all sources.";
    InstancesRejected "instances.rejected" U64 Counter Count "Instances refused" "Peers that were turned away because limits.instances was reached and all known ones are connected.";
    Panics "panics" U64 Counter Count "Internal errors caught" "Panics that were caught at the border to C or in a worker. Should be 0; please report the log.";
    AccessDenied "access.denied" U64 Counter Count "Requests refused for want of access" "Fetches of event records and stores to control and filter metrics that [events] and [access] of the configuration refused. The log names a client at most once a minute.";
    FetchRefused "fetch.refused" U64 Counter Count "Value sets refused for their size" "Metrics of a fetch that were answered with PM_ERR_TOOBIG, because all values together would have been more than 16 MiB, or more than 100 ms of work. The log names a client at most once a minute. Ask for fewer metrics or instances at once.";
    PduCount "pdu.count" U64 Counter Count "Requests of pmcd answered" "PDUs of all kinds: fetches, descriptions, instances, names, texts, labels, stores.";
    PduTime "pdu.time" U64 Counter Nanoseconds "CPU time spent answering pmcd" "CPU time of the thread that answers pmcd, from the arrival of a PDU to the end of its answer. Time for which it waits for a processor or for pmcd to read is not in it.";
    PduMax "pdu.max" U64 Instant Nanoseconds "Longest work on one request so far" "The most CPU time that a single PDU has taken since the PMDA started. pmcd gives an agent 5 s.";
    PduOver "pdu.over" U64 Counter Count "Requests that took more than 250 ms" "PDUs that took more than 250 ms of CPU time. Should be 0.";
    StateSaves "state.saves" U64 Counter Count "Times that ids and names were saved" "Writings of the state file that took effect: when something has changed, at most once a second. A PMDA that shares its directory with an older one saves nothing; the log says so.";
    StateErrors "state.errors" U64 Counter Count "Faults of the state file" "Writings of the state file that failed, and damaged or contradictory lines that were found at the start. A failed writing leaves the old file as it is and is tried again; the log says why at most once a minute.";
    StateBytes "state.bytes" U64 Instant Bytes "Size of the state file" "Size of the file with ids, names, descriptions and labels when it was last written.";
    StateTime "state.time" U64 Instant Nanoseconds "Duration of the last saving" "Time that the last writing of the state file took, on a thread of its own.";
    MemoryTexts "memory.texts" U64 Instant Bytes "Memory held by values that are texts" "Texts of counters, at most 1 KiB each. Those of a peer that is gone go after limits.stale.";
    MemoryDefinitions "memory.definitions" U64 Instant Bytes "Memory held by connections" "What connections hold to understand their peers: descriptions of counters, call trees, calls that wait for names. Bounded for each by limits.peer_memory.";
    MemoryDictionaries "memory.dictionaries" U64 Instant Bytes "Memory held by dictionaries" "Words that sources keep once for all of their peers.";
    MemoryInput "memory.input" U64 Instant Bytes "Memory held by input" "Bytes that were read and not yet understood, and all that connections hold that have not said what they are.";
    MemoryOther "memory.other" U64 Instant Bytes "Memory beyond what is accounted for" "Resident memory of the PMDA beyond all that apm.self.memory knows and 40 MiB for program, libraries and answers. It counts as used, so that the total holds whatever is missed.";
    MemoryTotal "memory.total" U64 Instant Bytes "Memory held for all that peers have caused" "Event records, registry, texts, definitions, dictionaries, input and other, together.";
    MemoryTotalLimit "memory.total_limit" U64 Instant Bytes "Bound of apm.self.memory.total" "The setting limits.memory.";
    MemoryRefused "memory.refused" U64 Counter Count "Requests for memory refused" "Texts dropped, and connections ended or turned away, because limits.memory or limits.peer_memory was reached. The log says which, at most once a minute.";
    TextsCut "texts.cut" U64 Counter Count "Values that are texts and were cut" "Values of counters that are texts longer than 1 KiB: what is shown is their beginning and an ellipsis. Event records have them whole.";
    PduCut "pdu.cut" U64 Counter Count "Answers cut for want of time" "Answers in which labels of instances were left out, and stores that were refused, because they would have been more than 100 ms of work.";
    AccessReason "access.reason" Text Discrete None "Why a request was refused last" "Who was refused what for want of access, and what to do; empty before the first. pmcd does not tell where a client is that comes over TCP without authentication: while one connection to pmcd comes from another host that allow_hosts does not name, every such client may be the one.";
    CpuUser "cpu.user" U64 Counter Nanoseconds "CPU time of the PMDA in user mode" "Of all its threads, as of getrusage(2).";
    CpuSys "cpu.sys" U64 Counter Nanoseconds "CPU time of the PMDA in the kernel" "Of all its threads, as of getrusage(2).";
    MemoryRss "memory.rss" U64 Instant Bytes "Memory of the PMDA that is resident" "Of the whole process, code included, as of /proc/self/statm.";
    MemoryTrees "memory.trees" U64 Instant Bytes "Memory held by trees of methods that are being made" "What calls that are not over have sent, if they may get a record of event.tree, and trees that wait for the end of their window of 30 s or for their names. At most 16 MiB for each source.";
    Confinement "confinement" Text Discrete None "What the PMDA has given up" "What its processes and threads can no longer do since they started, or why not: get rights by starting programs, leave core dumps, make system calls that they do not need (seccomp), open files (landlock). [confine] of the configuration says what is wanted.";
}

impl Stat {
    /// Number of statistics.
    pub const COUNT: usize = ROWS.len();

    /// The statistic with this item number.
    #[must_use]
    pub fn by_item(item: u16) -> Option<Self> {
        ROWS.get(usize::from(item)).map(|r| r.stat)
    }
}

/// All metrics of `apm.self`. Sources have the dictionaries, so the help of these is theirs.
pub(super) fn entries(sources: &[SourceTable]) -> impl Iterator<Item = Entry> {
    let dictionaries: Vec<&str> = sources.iter().filter_map(|s| s.dictionary_help).collect();
    ROWS.iter().map(move |row| Entry {
        name: format!("apm.self.{}", row.name),
        source: None,
        cluster: CLUSTER,
        item: row.stat as u16,
        ty: row.ty,
        sem: row.sem,
        units: row.units,
        indom: InDom::Null,
        value: ValueSource::SelfStat,
        oneline: row.oneline.into(),
        help: match row.stat {
            Stat::MemoryDictionaries if !dictionaries.is_empty() => dictionaries.join(" ").into(),
            _ => row.help.into(),
        },
    })
}
