//! Any bytes as the state file, or as the files of pmdaapm 0.1, with the metrics, tables and names of
//! each source and of all. What is damaged loses only itself; of what is left no id is held twice
//! and each is below its domain's mark; the file that is written from it is whole, and the PMDA that
//! reads it has the same names with the same ids, marks that never go back, and writes the same
//! again. What comes then has the id that it had, or one that nobody ever had, also when names were
//! dropped by `--forget`.
#![no_main]

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use pmdaapm::catalogue::{AGENT_INDOM, Catalogue, SourceTable, TOTALS_FIRST};
use pmdaapm::forget::forget;
use pmdaapm::model::{MetricSpec, Now, SourceId, Stamp, TableId};
use pmdaapm::sources::registry::TABLES;
use pmdaapm::state::fuzzing::{bytes, parse};
use pmdaapm::state::{Book, LINE_MAX, Loaded, Record, read_old};
use pmdaapm::store::{Change, DynamicMetric, Limits, Peer, Row, Store};

const ID_MAX: u32 = 1 << 30;
/// The name of what nobody has had.
const NEW: &str = "nobody had this name before";
/// Metrics of the sources, as they are in the state file.
const METRICS: [&str; 6] = [
    "E3 4 2000000 10000000 GC/new",
    "total E3 4 2000000 10000000 GC/new",
    "[\"U32\",\"new:new\",\"new\",\"number\"]",
    "{\"shape\":\"U32\",\"provider\":\"new\",\"event\":\"new\",\"field\":\"new\",\"nth\":0}",
    "sum ms new new new",
    "new",
];

/// One for each source, and one of all. What is there for each metric of a source takes most of the
/// time. Records of the sources that a catalogue does not have are kept.
static CATALOGUES: LazyLock<Vec<Arc<Catalogue>>> = LazyLock::new(|| {
    let of = |tables: &[SourceTable]| Arc::new(Catalogue::new(tables).expect("a catalogue"));
    TABLES.iter().map(|table| of(&[*table])).chain([of(TABLES)]).collect()
});

fn now() -> Now {
    let wall = Stamp { sec: 1_700_000_000, nsec: 0 };
    Now { wall, monotonic: Duration::from_secs(100_000) }
}

fn restored(catalogue: &Catalogue, source: SourceId, line: &str) -> Option<MetricSpec> {
    let dynamic = catalogue.source(source)?.dynamic?;
    (dynamic.restore)(line)
}

/// The domain of the ids of a source's dynamic metrics: that of sums, or of the others.
fn names_of(table: &SourceTable, id: u32) -> String {
    let sums = table.totals.is_some() && id as usize >= TOTALS_FIRST;
    format!("{} {}", table.name, if sums { "sums" } else { "names" })
}

fn is_path(path: &str) -> bool {
    path.split('.').all(|node| {
        let bytes = node.as_bytes();
        bytes.first().is_some_and(u8::is_ascii_alphabetic)
            && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
    })
}

/// The holders of ids, by domain and name, and the marks. Records of domains that the catalogue does
/// not have are kept as they are, whatever they have.
#[derive(Debug, Default, PartialEq)]
struct Ids {
    held: HashMap<(String, String), Vec<u32>>,
    marks: HashMap<String, u32>,
}

impl Ids {
    fn of(catalogue: &Catalogue, records: &[Record]) -> Self {
        let (mut ids, mut by_id) = (Self::default(), HashMap::new());
        let mut hold = |of: String, name: String, id: u32| {
            assert!(id < ID_MAX);
            assert_eq!(by_id.insert((of.clone(), id), name.clone()), None, "{id} of {of} twice");
            ids.held.entry((of, name)).or_default().push(id);
        };
        let source = |name: &str| catalogue.id(name).and_then(|id| catalogue.source(id));
        for record in records {
            match record {
                Record::Peer { source: of, name, id, agent, .. } => {
                    if source(of).is_some() {
                        hold(of.clone(), name.clone(), *id);
                    }
                    if let Some(agent) = agent {
                        // A source that is not known may have a name twice.
                        let which = if source(of).is_some() { "" } else { &*agent.to_string() };
                        hold("agent".into(), format!("{of}::{name}{which}"), *agent);
                    }
                }
                Record::Row { table, key, id, .. } => {
                    let (of, name) = table.split_once('/').unwrap_or_default();
                    if source(of).is_some_and(|of| of.tables.iter().any(|t| t.name == name)) {
                        hold(table.clone(), key.clone(), *id);
                    }
                }
                Record::Name { source: of, id, persist, .. } => {
                    if let Some(table) = source(of) {
                        let spec = catalogue.id(of).and_then(|of| restored(catalogue, of, persist));
                        let key = spec.map_or_else(|| format!("? {persist}"), |spec| spec.key);
                        hold(names_of(table, *id), key, *id);
                    }
                }
                Record::Next { of, next } => {
                    let mark = ids.marks.entry(of.clone()).or_default();
                    *mark = (*mark).max(*next);
                }
                Record::Head { .. } => {}
            }
        }
        for ((of, name), held) in &mut ids.held {
            // Only metrics: the first of those that say the same is restored, the others stay as they are.
            assert!(held.len() == 1 || of.contains(' '), "{name} of {of} has {held:?}");
            held.sort_unstable();
            if let Some(mark) = ids.marks.get(of) {
                assert!(held.iter().all(|id| id < mark), "{name} of {of}: {held:?}, mark {mark}");
            }
        }
        ids
    }

    /// What comes with this id had it before; or nobody had it. `left`: what is still in the file.
    fn check(&self, left: &Self, of: &str, name: &str, id: u32) {
        match left.held.get(&(of.to_owned(), name.to_owned())) {
            Some(held) => assert!(held.contains(&id), "{name} of {of}: {id}, was {held:?}"),
            None => {
                let all = self.held.iter().filter(|((domain, _), _)| domain == of);
                let highest = all.flat_map(|(_, ids)| ids).max();
                assert!(highest.is_none_or(|highest| *highest < id), "{id} of {of} again: {name}");
                assert!(self.marks.get(of).is_none_or(|mark| *mark <= id), "{id} of {of} again");
            }
        }
    }
}

/// A PMDA without libpcp.
struct Pmda {
    store: Arc<Store>,
    book: Book,
}

impl Pmda {
    fn start(catalogue: &Arc<Catalogue>, loaded: Loaded) -> Self {
        let limits = Limits { instances: 8, names: 16, ..Limits::default() };
        let store = Store::new(Arc::clone(catalogue), 400, limits, 1 << 20);
        let (book, restored) = Book::restore(loaded, &store, now());
        for metric in &restored.metrics {
            Self::is_sound(catalogue, metric);
        }
        let mut pmda = Self { store, book };
        pmda.changes(&mut |_, _, _| {});
        pmda
    }

    fn is_sound(catalogue: &Catalogue, metric: &DynamicMetric) {
        let again = restored(catalogue, metric.source, &metric.spec.persist);
        let again = again.map(|spec| MetricSpec { path: metric.spec.path.clone(), ..spec });
        assert_eq!(again.as_ref(), Some(&metric.spec), "{}", metric.spec.persist);
        assert!(is_path(&metric.spec.path), "{:?}", metric.spec.path);
    }

    /// What the PMDA thread does; tells `of` of each id that was given, or could not be.
    fn changes(&mut self, of: &mut dyn FnMut(&str, &str, Option<u32>)) {
        let catalogue = Arc::clone(self.store.catalogue());
        let table = |source, table: TableId| {
            let row = catalogue.table(source, table).expect("a table").name;
            format!("{}/{row}", catalogue.name(source))
        };
        for change in self.store.take_changes() {
            match change {
                Change::Metric(metric) => {
                    self.book.add_metric(&metric);
                    let source = catalogue.source(metric.source).expect("a source");
                    of(
                        &names_of(source, metric.id.into()),
                        &metric.spec.key,
                        Some(metric.id.into()),
                    );
                }
                Change::Join(peer) => self.join(&peer, of),
                Change::JoinRow(source, n, row) => {
                    let row: Arc<Row> = row;
                    of(&table(source, n), &row.key, self.book.join_row(source, n, &row));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn join(&mut self, peer: &Arc<Peer>, of: &mut dyn FnMut(&str, &str, Option<u32>)) {
        let name = self.store.catalogue().name(peer.source);
        let ids = self.book.join_peer(peer);
        of(name, &peer.name, ids.map(|[id, _]| id));
        of("agent", &format!("{name}::{}", peer.name), ids.map(|[_, agent]| agent));
    }

    fn file(&mut self, clean: bool) -> Vec<u8> {
        bytes(&self.book.snapshot(now(), clean))
    }

    /// A peer, a row of each table and metrics that nobody had; `Change`s of them wait.
    fn come(&mut self) {
        let more = Limits { instances: 1000, names: 1000, ..Limits::default() };
        self.store.set_limits(more);
        let catalogue = Arc::clone(self.store.catalogue());
        for (source, table) in catalogue.sources() {
            let peer = self.store.restore_peer(source, NEW, now().monotonic, Duration::ZERO);
            for (n, def) in (0..).map(TableId::new).zip(table.tables) {
                self.store.row(source, n, peer.as_ref().filter(|_| def.of_peer), Some(NEW));
            }
            for spec in METRICS.iter().filter_map(|line| restored(&catalogue, source, line)) {
                self.store.define(source, &spec);
            }
        }
    }
}

/// A file with the right sums. A fuzzer seldom makes one.
fn sealed(data: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    for line in data.split(|&b| b == b'\n') {
        let mut crc = flate2::Crc::new();
        crc.update(line);
        file.extend(format!("{:08x} ", crc.sum()).into_bytes());
        file.extend(line);
        file.push(b'\n');
    }
    file
}

/// What a file has. Damage behind it loses nothing.
fn load(file: &[u8]) -> Loaded {
    let loaded = parse(file);
    let lines = file.split(|&b| b == b'\n').count();
    assert!(loaded.damaged + loaded.records.len() + loaded.kept.len() <= lines);
    if loaded.newer.is_none() && file.ends_with(b"\n") {
        let more = parse(&[file, b"\n0badc0de {}\n"].concat());
        assert_eq!((&more.records, &more.kept), (&loaded.records, &loaded.kept));
    }
    loaded
}

/// A folder in memory for what is only read from files.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = PathBuf::from(format!("/dev/shm/apm-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
});

/// The files of pmdaapm 0.1, with zeros between them.
fn old(data: &[u8], catalogue: &Catalogue) -> Option<Loaded> {
    let sources = catalogue.sources().map(|(_, source)| source);
    let serials = sources.flat_map(|source| {
        let tables = source.tables.iter().map(|table| table.indom.serial);
        [1000 + source.indom.serial, source.indom.serial].into_iter().chain(tables)
    });
    let files = data.split(|&b| b == 0).zip([AGENT_INDOM].into_iter().chain(serials));
    let paths = files.map(|(bytes, serial)| {
        let path = FOLDER.join(format!("400.{serial}"));
        fs::write(&path, bytes).expect("room");
        path
    });
    let paths: Vec<_> = paths.collect();
    let loaded = read_old(&FOLDER, 400, catalogue);
    paths.into_iter().for_each(|path| fs::remove_file(path).expect("written"));
    loaded
}

/// The file after `--forget`.
fn forgotten(file: &[u8], catalogue: &Catalogue, pattern: &str) -> Vec<u8> {
    let path = FOLDER.join("apm.400.state");
    fs::write(&path, file).expect("room");
    forget(&FOLDER, 400, catalogue, pattern).expect("a sound file");
    fs::read(&path).expect("a file")
}

/// The lines in order; without the marks if they may differ.
fn lines(file: &[u8], marks: bool) -> Vec<&[u8]> {
    let is_mark = |line: &&[u8]| line.get(9..).is_some_and(|l| l.starts_with(b"{\"is\":\"next\""));
    let mut lines: Vec<_> =
        file.split(|&b| b == b'\n').filter(|line| marks || !is_mark(line)).collect();
    lines.sort_unstable();
    lines
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, data)) = data.split_first() else { return };
    let catalogue = &CATALOGUES[usize::from(how >> 4) % CATALOGUES.len()];
    let (clean, drops) = (how & 4 == 0, how & 8 != 0);
    let loaded = match how & 3 {
        0 => load(data),
        1 | 2 => load(&sealed(data)),
        _ => old(data, catalogue).unwrap_or_default(),
    };
    if loaded.newer.is_some() {
        return;
    }
    let marks = loaded.records.iter().filter_map(|record| match record {
        Record::Next { of, next } => Some((of.clone(), (*next).min(ID_MAX))),
        _ => None,
    });
    let marks: Vec<_> = marks.collect();
    let first = Pmda::start(catalogue, loaded).file(clean);
    assert!(first.split_inclusive(|&b| b == b'\n').all(|line| line.len() <= LINE_MAX));
    let mut once = parse(&first);
    assert_eq!((once.damaged, once.newer), (0, None));
    let before = Ids::of(catalogue, &once.records);
    for (of, next) in marks {
        assert!(before.marks.get(&of).is_some_and(|mark| *mark >= next), "{of} goes back");
    }
    if drops {
        let pattern = if clean { "apm.*" } else { "*e*" };
        once = parse(&forgotten(&first, catalogue, pattern));
    }
    let left = Ids::of(catalogue, &once.records);
    let mut pmda = Pmda::start(catalogue, once);
    let second = pmda.file(clean);
    let again = parse(&second);
    assert_eq!((again.damaged, again.newer), (0, None));
    if !drops {
        let after = Ids::of(catalogue, &again.records);
        assert_eq!(after.held, before.held);
        assert!(before.marks.iter().all(|(of, mark)| after.marks.get(of) >= Some(mark)));
        assert_eq!(lines(&first, clean), lines(&second, clean));
    }
    pmda.come();
    pmda.changes(&mut |of, name, id| match id {
        Some(id) => before.check(&left, of, name, id),
        None => assert!(before.marks.values().any(|mark| *mark >= ID_MAX), "no id: {name}"),
    });
});
