//! `[dotnet]`: .NET processes.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::session::Choice;
use super::wire::wanted;
use crate::config::units;

/// Kinds of event records unless configured.
const RECORDS: [&str; 4] = ["gc", "exception", "contention", "starvation"];
/// All kinds of event records that can be asked for.
const ALL_RECORDS: [&str; 7] =
    ["gc", "exception", "contention", "starvation", "assembly", "method", "allocation"];

crate::section! {
    /// `[dotnet]`
    Config;

    /// Looks for .NET processes of this host and of its containers, and reads them.
    discover: bool = true, "true", "true or false";

    /// Directories with diagnostics sockets, beside the TMPDIR of each process.
    #[serde(deserialize_with = "directories")]
    directories: Vec<PathBuf> = vec![PathBuf::from("/tmp")], r#"["/tmp"]"#, "absolute paths";

    /// Socket that processes with `DOTNET_DiagnosticPorts=PATH,nosuspend` connect to; `""`: none. Its directory is made if the one above exists.
    #[serde(deserialize_with = "socket")]
    listen: Option<PathBuf> = Some(PathBuf::from("/run/pcp/apm/dotnet.sock")), r#""/run/pcp/apm/dotnet.sock""#,
        "an absolute path of at most 100 bytes";

    /// Processes that are instances and are read: names, with `*`. Conditions can be behind a name: `;user=www`, `;version=10` (the release), `;age=10min` (at least). Of a process that an entry with `;counters` chooses, EventCounters and meters are read too, from the age of that entry on or, if it has none, of 1 min: before and without it only events are, since programs of all versions sometimes die of EventCounters when they end, mostly of their first report. .NET Core 3 is read only by an entry with `;version=3`.
    #[serde(deserialize_with = "choices")]
    processes: Vec<String> = vec!["*".to_owned()], r#"["*"]"#, "at most 256 entries NAME[;user=NAME][;version=N][;age=TIME][;counters]";

    /// Age of a process, since its start or since it connected, at which it is read: younger ones are left alone and are no instances. Meters are asked for when its EventCounters have come. `0`: both at once, by which programs of .NET 9 can hang at their start.
    #[serde(deserialize_with = "units::period::<_, 0, 3600>")]
    min_age: Duration = Duration::from_secs(5), r#""5s""#, "0 to 1h";

    /// Time between two reports of EventCounters and meters. Other tools may make it shorter.
    #[serde(deserialize_with = "units::period::<_, 1, 60>")]
    interval: Duration = Duration::from_secs(1), r#""1s""#, "1s to 1min";

    /// Buffer that a process has for events that wait; what does not fit is lost and counted.
    #[serde(deserialize_with = "units::bytes::<_, 1_048_576, 268_435_456>")]
    buffer: u64 = 16 << 20, r#""16MiB""#, "1MiB to 256MiB";

    /// Providers whose EventCounters are metrics, beside System.Runtime, of processes with `;counters`: Microsoft.AspNetCore.Hosting and Microsoft-AspNetCore-Server-Kestrel (some 1 us for each request), System.Net.Http, or a program's own. Their other events do not come.
    #[serde(deserialize_with = "units::names::<_, 64, 200>")]
    counters: Vec<String> = Vec::new(), "[]", "at most 64 names";

    /// Meters that are metrics, of processes with `;counters`: METER or METER\\INSTRUMENT; METER may end in `*`. Microsoft.AspNetCore.Hosting has the durations of requests by route and status (some 1 us for each request). One tool at a time before .NET 8.
    #[serde(deserialize_with = "units::names::<_, 64, 200>")]
    meters: Vec<String> = Vec::new(), "[]", "at most 64 names";

    /// Most sets of tags over all instruments of a process. A process has one number for all tools: who comes first sets it. At most 1000 different sets have rows.
    #[serde(deserialize_with = "units::count::<_, 1, 4_000>")]
    meter_series: u64 = 1000, "1000", "1 to 4000";

    /// Most sets of tags of all histograms of a process, likewise.
    #[serde(deserialize_with = "units::count::<_, 0, 1_000>")]
    meter_histograms: u64 = 20, "20", "0 to 1000";

    /// Providers whose events become records: NAME, NAME:KEYWORDS or NAME:KEYWORDS:LEVEL (hexadecimal; 1 to 5). Arguments of the provider can be behind the level: NAME:KEYWORDS:LEVEL:KEY=VALUE, of which Microsoft-Diagnostics-DiagnosticSource and Microsoft-Extensions-Logging have some.
    #[serde(deserialize_with = "units::names::<_, 64, 4000>")]
    providers: Vec<String> = Vec::new(), "[]", "at most 64 providers";

    /// Kinds of runtime events that become records.
    #[serde(deserialize_with = "records")]
    records: Vec<String> = RECORDS.map(str::to_owned).to_vec(),
        r#"["gc", "exception", "contention", "starvation"]"#,
        "`\"gc\"`, `\"exception\"`, `\"contention\"`, `\"starvation\"`, `\"assembly\"`, `\"method\"`, `\"allocation\"`";

    /// Most records a second of one process and kind; the rest is counted.
    #[serde(deserialize_with = "units::count::<_, 1, 1_000_000>")]
    records_rate: u64 = 200, "200", "1 to 1000000";

    /// Milliseconds that a wait for a lock must take to become a record.
    #[serde(deserialize_with = "units::count::<_, 0, 60_000>")]
    contention_record: u64 = 10, "10", "0 to 60000";

    /// Allocations by type. Costs a process some 2 us for each 100 KiB that it allocates.
    allocations: bool = false, "false", "true or false";

    /// Stacks of exceptions and of waits for locks. Makes each event four to five times as costly. Turns on jit, which names methods.
    stacks: bool = false, "false", "true or false";

    /// Locks are called by the method that waited. Needs, and turns on, stacks and jit.
    locks: bool = false, "false", "true or false";

    /// Compiled methods by tier, and their names. Costs a process some 400 bytes of events for each method that it compiles. Before .NET 10 also costs what allocations costs.
    jit: bool = false, "false", "true or false";

    /// Time in waits (.NET 9 and later). Costs a process two events for each wait.
    waits: bool = false, "false", "true or false";

    /// Time between two bursts of the CPU profile; `0`: only on request (`apm.dotnet.profile.run`).
    #[serde(deserialize_with = "units::period::<_, 0, 86_400>")]
    profile_every: Duration = Duration::ZERO, "0", "0 to 1d";

    /// Length of a burst of the CPU profile. In a burst the runtime stops all threads about each millisecond.
    #[serde(deserialize_with = "units::period::<_, 1, 60>")]
    profile_time: Duration = Duration::from_secs(5), r#""5s""#, "1s to 1min";
}

impl Config {
    /// The lines of `--check`.
    pub(super) fn describe(&self) -> Vec<String> {
        let directories: Vec<_> =
            self.directories.iter().map(|d| d.display().to_string()).collect();
        let looks = match (self.discover, directories.as_slice()) {
            (false, _) => "looks for no processes".to_owned(),
            (true, []) => "looks for processes in their own TMPDIR".to_owned(),
            (true, all) => {
                format!("looks for processes in {} and their own TMPDIR", all.join(", "))
            }
        };
        let listens = self.listen.as_ref().map_or_else(
            || "listens on nowhere".to_owned(),
            |path| format!("listens on {}", path.display()),
        );
        let gives = |entry: &String| entry.split(';').skip(1).any(|part| part == "counters");
        let wants = !self.counters.is_empty() || !self.meters.is_empty();
        let nobody = "reads dotnet.counters and dotnet.meters of nobody: no entry of dotnet.processes has ;counters";
        let in_vain = wants && !self.processes.iter().any(gives);
        let unclear = self.providers.iter().filter(|text| wanted::parse(text).is_none()).map(|text| {
            format!("does not ask for {text:?}: a provider is NAME:KEYWORDS:LEVEL, hexadecimal and 1 to 5")
        });
        let more = in_vain.then(|| nobody.to_owned()).into_iter().chain(unclear);
        [looks, listens].into_iter().chain(more).collect()
    }
}

/// Absolute paths.
fn directories<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<PathBuf>, D::Error> {
    let paths = Vec::<PathBuf>::deserialize(d)?;
    match paths.iter().find(|path| !path.is_absolute()) {
        None => Ok(paths),
        Some(path) => {
            Err(D::Error::custom(format!("{}: an absolute path is needed", path.display())))
        }
    }
}

/// The path of a socket, or none.
fn socket<'de, D: Deserializer<'de>>(d: D) -> Result<Option<PathBuf>, D::Error> {
    let text = units::text::<D, 100>(d)?;
    if text.is_empty() {
        return Ok(None);
    }
    let path = PathBuf::from(text);
    if path.is_absolute() {
        Ok(Some(path))
    } else {
        Err(D::Error::custom(format!("{}: an absolute path is needed", path.display())))
    }
}

/// Entries of `processes`.
fn choices<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let texts = units::names::<D, 256, 400>(d)?;
    match texts.iter().find_map(|text| Choice::parse(text).err()) {
        None => Ok(texts),
        Some(error) => Err(D::Error::custom(error)),
    }
}

/// Kinds of records.
fn records<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let kinds = units::names::<D, 16, 20>(d)?;
    match kinds.iter().find(|kind| !ALL_RECORDS.contains(&kind.as_str())) {
        None => Ok(kinds),
        Some(kind) => {
            Err(D::Error::custom(format!("{kind:?} is none of {}", ALL_RECORDS.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn counters_and_meters_that_nobody_gives_are_told() {
        let lines = |meters: &[&str], processes: &[&str]| {
            let texts = |of: &[&str]| of.iter().map(|&text| text.to_owned()).collect();
            let (meters, processes) = (texts(meters), texts(processes));
            Config { meters, processes, ..Config::default() }.describe().len()
        };
        assert_eq!(lines(&[], &["*"]), 2);
        assert_eq!(lines(&["Shop"], &["*", "counters"]), 3);
        assert_eq!(lines(&["Shop"], &["*", "shop;version=9;counters"]), 2);
    }

    #[test]
    fn an_entry_that_is_no_provider_is_told() {
        let providers = ["Shop", "Shop:3f:4", "Shop:all", "Shop:1:9"].map(str::to_owned).to_vec();
        let lines = Config { providers, ..Config::default() }.describe();
        let told: Vec<_> = lines.iter().filter(|line| line.contains("a provider is")).collect();
        assert!(
            matches!(told[..], [all, level] if all.contains("Shop:all") && level.contains("Shop:1:9")),
            "{told:?}"
        );
    }
}
