//! Captures through a whole session (qa/corpus/mono/mlpd).

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use flate2::read::GzDecoder;

use super::Stream;
use crate::contract::{Control, Recorded, Session, SessionError};
use crate::model::{ControlId, Now, Stamp, Units};
use crate::sources::mono::agent::Settings;
use crate::sources::mono::counters::identity::Origin;
use crate::sources::mono::front::Front;
use crate::sources::mono::metrics as m;
use crate::sources::mono::process::{Facts, Host, Joining, Processes, Said, Share, Via, Way};
use crate::sources::mono::test_kit::recorded;

/// A session, its output and its time.
struct Talk {
    session: Box<dyn Session>,
    told: Recorded,
    input: BytesMut,
    now: Now,
}

fn settings(one_way: bool) -> Settings {
    Settings { one_way, ..Settings::default() }
}

fn peer() -> Origin {
    Origin {
        address: "127.0.0.1:50123".into(),
        fallback: "127.0.0.1#1".into(),
        ..Origin::default()
    }
}

impl Talk {
    fn new(one_way: bool) -> Self {
        let front = Front::new(peer(), None, settings(one_way), || 0);
        Self {
            session: Box::new(front),
            told: recorded(),
            input: BytesMut::new(),
            now: Now {
                wall: Stamp { sec: 1_800_000_000, nsec: 0 },
                monotonic: Duration::from_secs(100),
            },
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
        self.input.extend_from_slice(bytes);
        self.session.feed(self.now, &mut self.input, &mut BytesMut::new(), &mut self.told)
    }

    fn tick(&mut self, later: u64) -> Result<(), SessionError> {
        self.now.monotonic += Duration::from_secs(later);
        self.session.tick(self.now, &mut BytesMut::new(), &mut self.told)
    }

    fn request(&mut self, control: ControlId, text: &str) {
        let request = Control::Request(control, text.into());
        let mut out = BytesMut::new();
        assert_eq!(self.session.control(self.now, &request, &mut out, &mut self.told), Ok(()));
        assert!(out.is_empty(), "nothing is ever sent to a log profiler");
    }

    fn lines(&mut self, kinds: &[&str]) -> Vec<String> {
        let lines = std::mem::take(&mut self.told.log_mut().lines);
        lines.into_iter().filter(|line| kinds.iter().any(|kind| line.starts_with(kind))).collect()
    }

    /// The last value of each counter by its key.
    fn values(&mut self) -> BTreeMap<String, String> {
        let mut keys = BTreeMap::new();
        let mut values = BTreeMap::new();
        for line in self.lines(&["define", "sample", "hide"]) {
            let mut words = line.splitn(3, ' ');
            let (what, slot) = (words.next(), words.next().unwrap_or_default().to_owned());
            match what {
                Some("define") => {
                    keys.insert(slot, words.next().unwrap_or_default().to_owned());
                }
                Some("hide") => {
                    values.remove(keys.get(&slot).expect("defined before it is hidden"));
                }
                _ => {
                    for value in line.split(' ').skip(1).filter_map(|word| word.split_once('=')) {
                        let key = keys.get(value.0).expect("defined before it has a value");
                        values.insert(key.clone(), value.1.to_owned());
                    }
                }
            }
        }
        values
    }
}

/// A capture, unzipped.
fn capture(name: &str) -> Vec<u8> {
    let bytes = file(&format!("{name}.mlpd")).or_else(|| file(&format!("{name}.mlpd.gz")));
    let bytes = bytes.unwrap_or_else(|| panic!("{name} is missing"));
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut decoded = Vec::new();
    GzDecoder::new(&*bytes).read_to_end(&mut decoded).expect("gzip");
    decoded
}

fn file(name: &str) -> Option<Vec<u8>> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    ["qa/corpus/mono/mlpd", "../shared/data/mono"]
        .iter()
        .find_map(|folder| fs::read(top.join(folder).join(name)).ok())
}

/// The last values of all counters, as an independent decoder has them.
fn facts(name: &str) -> BTreeMap<String, f64> {
    let text = file(&format!("{name}.facts.json")).expect("facts");
    let facts: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let last = facts["counters"]["last"].as_object().expect("counters");
    last.iter().filter_map(|(key, value)| Some((key.clone(), value.as_f64()?))).collect()
}

/// The number of `I64(7)`.
fn number(value: &str) -> f64 {
    let inner = value.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{value}"))
}

/// Feeds the capture in pieces of that size.
fn whole(name: &str, piece: usize) -> Talk {
    let mut talk = Talk::new(true);
    for piece in capture(name).chunks(piece) {
        assert_eq!(talk.feed(piece), Ok(()), "{name}");
    }
    talk
}

#[test]
fn counters_are_those_of_an_independent_decoder() {
    for name in [
        "m01-gc",
        "m02-exception",
        "m04-monitor",
        "m09-domains",
        "m11-user-counters",
        "m12-tcp-killed",
        "m20-mono612-sample",
        "m26-image-unload",
        "d-logprofiler-perfcounters",
        "v-all-15",
        "v-all-16",
        "v-all-17",
    ] {
        let expected = facts(name);
        assert!(!expected.is_empty());
        for piece in [usize::MAX, 4096, 1] {
            let mut talk = whole(name, piece);
            let values = talk.values();
            for (key, expected) in &expected {
                // The independent decoder leaves the section of user counters out.
                let user = format!("PerfCounters/{key}");
                let value = values.get(key).or_else(|| values.get(&user));
                let value = value.unwrap_or_else(|| panic!("{name} {piece}: no {key}"));
                let time = talk
                    .told
                    .log()
                    .specs
                    .values()
                    .any(|s| s.key == *key && s.units == Units::Nanoseconds);
                let expected = expected * if time { 100.0 } else { 1.0 };
                assert!(
                    (number(value) - expected).abs() < 1e-6,
                    "{name}: {key} {value} {expected}"
                );
            }
        }
    }
}

#[test]
fn the_first_bytes_tell_the_protocol() {
    let bytes = capture("v-all-17");
    for split in 1..8 {
        let mut talk = Talk::new(false);
        assert_eq!(talk.feed(&bytes[..split]), Ok(()));
        assert!(!talk.session.established(), "{split}");
        assert_eq!(talk.feed(&bytes[split..]), Ok(()));
        assert!(talk.session.established());
        assert_eq!(talk.lines(&["identity"]).len(), 1);
    }
    // An agent of 2014 can begin with the same byte.
    let mut talk = Talk::new(false);
    assert_eq!(talk.feed(&[0x01]), Ok(()));
    assert!(talk.feed(b"\x01GET / HTTP").is_err());
    // Silence ends as that of an agent does.
    let mut talk = Talk::new(false);
    assert_eq!((talk.tick(0), talk.feed(&bytes[..3]), talk.tick(9)), (Ok(()), Ok(()), Ok(())));
    assert_eq!(talk.tick(2), Err(SessionError::Timeout("Hello")));
    let mut talk = Talk::new(false);
    assert_eq!((talk.tick(0), talk.feed(&bytes[..30]), talk.tick(9)), (Ok(()), Ok(()), Ok(())));
    assert_eq!(talk.tick(2), Err(SessionError::Timeout("header")));
}

#[test]
fn the_first_domain_names_the_program() {
    let mut talk = whole("m11-user-counters", usize::MAX);
    assert_eq!(talk.lines(&["identity"]), ["identity Truth.exe:28925 resumes=false"]);
    // Without a name in time the connection does it; a header alone is not late.
    let mut talk = Talk::new(false);
    let bytes = capture("m11-user-counters");
    let header = bytes.windows(4).position(|four| four == b"\x01LPM").expect("a buffer");
    assert_eq!((talk.feed(&bytes[..header]), talk.tick(0), talk.tick(2)), (Ok(()), Ok(()), Ok(())));
    assert_eq!(talk.lines(&["identity"]), Vec::<String>::new());
    assert_eq!(talk.tick(2), Ok(()));
    assert_eq!(talk.lines(&["identity"]), ["identity 127.0.0.1#1 resumes=false"]);
}

#[test]
fn lost_differences_withdraw_their_counters() {
    let mut bytes = capture("m11-user-counters");
    // A buffer whose only event is unknown, in front of the last one.
    let last = bytes.windows(4).rposition(|four| four == b"\x01LPM").expect("a buffer");
    let mut bad = bytes[last..last + 48].to_vec();
    bad[4..8].copy_from_slice(&1_u32.to_le_bytes());
    bad.push(0x0f);
    let rest = bytes.split_off(last);
    let rest = [bad, rest].concat();
    for pieces in [vec![bytes.clone(), rest.clone()], vec![[bytes, rest].concat()]] {
        let mut talk = Talk::new(true);
        for piece in pieces {
            assert_eq!(talk.feed(&piece), Ok(()));
        }
        let bad = format!("count {} 1", m::BAD.get());
        assert_eq!(talk.told.log().lines.iter().filter(|line| **line == bad).count(), 1);
        assert!(
            !talk.told.log().lines.iter().any(|l| l.starts_with("count") && l.ends_with(" 0 1"))
        );
        let values = talk.values();
        let user = values.get("PerfCounters/Shop/orders done").map(String::as_str);
        assert_eq!(user, Some("I64(210)"), "absolute");
        assert!(values.contains_key("System/CPU Load Average - 1min"), "absolute");
        let differs = |(key, value): &(&String, &String)| {
            value.contains("64(") && !value.starts_with("F64") && !key.starts_with("PerfCounters/")
        };
        assert_eq!(values.iter().find(differs), None);
    }
}

#[test]
fn users_show_and_hide_counters_here() {
    let mut talk = whole("v-all-17", usize::MAX);
    talk.lines(&[]);
    talk.request(m::REMOVE, "GC/*; GC/none");
    assert_eq!(
        talk.lines(&["answer", "hide"]),
        [
            "answer control.remove GC/Minor GC collections: OK, not shown any more; the log \
             profiler cannot be told; GC/none: NOTFOUND",
            "hide 1",
        ]
    );
    talk.request(m::ADD, "GC/Minor GC collections;System/User Time");
    let answer = "answer control.add GC/Minor GC collections: OK; System/User Time: EXISTING";
    assert_eq!(talk.lines(&["answer"]), [answer]);
    talk.request(m::LIST, "");
    let list = talk.lines(&["answer"]);
    assert!(
        list[0].starts_with("answer control.list ") && list[0].matches(';').count() == 4,
        "{list:?}"
    );
    assert_eq!(
        talk.session
            .control(talk.now, &Control::Replaced, &mut BytesMut::new(), &mut talk.told)
            .map_err(|e| matches!(e, SessionError::Closed(_))),
        Err(true)
    );
}

#[test]
fn what_is_no_stream_ends_the_session() {
    for (name, words) in [
        ("v-version-12", "data version 12"),
        ("v-version-18", "data version 18"),
        ("v-flags", "flags"),
        ("v-header-huge-string", "limit"),
        ("v-huge-length", "limit"),
        ("v-two-headers", "another header"),
    ] {
        let mut talk = Talk::new(false);
        let error = talk.feed(&capture(name)).expect_err(name);
        assert!(error.to_string().contains(words), "{name}: {error}");
    }
}

/// A host on which the process that calls itself 28925 is 4077.
struct Container;

impl Host for Container {
    fn find(&self, _: &Via, said: &Said<'_>) -> Option<Facts> {
        let command = b"mono\0/srv/shop.exe\0".to_vec();
        (said.pid == 28925).then(|| Facts { pid: 4077, start: 5, command, ..Facts::default() })
    }
}

#[test]
fn counters_that_the_module_feeds_are_dropped_and_come_back_when_it_leaves() {
    let processes = Processes::new(Arc::new(Container));
    let facts = Container.find(&Via::File("x".into()), &Said { pid: 28925, ..Said::default() });
    let module = processes.seat(Way::Module, facts.expect("the process"));
    assert!(module.feeds(Share::Counters));
    let mut talk = Talk::new(false);
    talk.session = joined(&processes);

    let bytes = capture("m11-user-counters");
    // Three samples are behind it.
    let last = bytes[..100_000].windows(4).rposition(|four| four == b"\x01LPM").expect("a buffer");
    assert_eq!(talk.feed(&bytes[..last]), Ok(()));
    // The host names the process, at once.
    let told = talk.told.log().lines.clone();
    assert!(told.contains(&"identity shop.exe:4077 resumes=true".to_owned()), "{told:?}");
    let duplicate = format!("count {} ", m::DUPLICATE.get());
    assert!(told.iter().any(|line| line.starts_with(&duplicate)));
    let values = talk.values();
    let mut keys: Vec<_> = values.keys().collect();
    keys.retain(|key| !key.starts_with("PerfCounters/"));
    assert_eq!((keys.len(), values.len()), (0, 3), "{values:?}");

    drop(module);
    talk.told.log_mut().lines.clear();
    let defines = talk.told.log().specs.len();
    assert_eq!(talk.feed(&bytes[last..]), Ok(()));
    let samples = talk.lines(&["sample"]);
    let values: usize = samples.iter().map(|line| line.matches('=').count()).sum();
    assert!(
        values >= defines - 1,
        "all values, not only those that changed: {values} of {defines}"
    );
}

#[test]
fn nothing_is_told_before_the_identity() {
    // The store would drop it.
    let mut talk = Talk::new(false);
    for piece in capture("m04-monitor").chunks(1000) {
        assert_eq!(talk.feed(piece), Ok(()));
    }
    let told = talk.lines(&[""]);
    assert!(told.first().is_some_and(|line| line.starts_with("identity")), "{told:?}");
    assert!(talk.told.count(m::CONTENTION_COUNT) > 0 && talk.told.count(m::BYTES) > 0);
}

/// A host that knows the process of any stream from the second question on.
#[derive(Default)]
struct Late(AtomicU32);

impl Host for Late {
    fn find(&self, _: &Via, _: &Said<'_>) -> Option<Facts> {
        let command = b"mono\0/srv/late.exe\0".to_vec();
        let facts = Facts { pid: 4077, start: 5, command, ..Facts::default() };
        (self.0.fetch_add(1, Ordering::Relaxed) > 0).then_some(facts)
    }
}

#[test]
fn a_process_that_is_not_found_at_once_is_looked_for_again() {
    let mut talk = Talk::new(false);
    let processes = Processes::new(Arc::new(Late::default()));
    talk.session = joined(&processes);
    let bytes = capture("m02-exception");
    let first = bytes.windows(4).position(|four| four == b"\x01LPM").expect("a buffer");
    assert_eq!(talk.feed(&bytes[..first]), Ok(()));
    assert_eq!(talk.lines(&["identity"]), [""; 0]);
    assert_eq!(talk.tick(1), Ok(()));
    assert_eq!(talk.lines(&["identity"]), ["identity late.exe:4077 resumes=true"]);
    // It is the one of the area.
    let facts = Late(1.into()).find(&Via::File("x".into()), &Said::default());
    let area = processes.seat(Way::Area, facts.expect("the process"));
    assert_eq!(area.look().0, Way::Area.bit() | Way::Stream.bit());
}

#[test]
fn a_damaged_stream_leaves_what_the_area_has_to_it() {
    let mut talk = Talk::new(false);
    let processes = Processes::new(Arc::new(Late(1.into())));
    talk.session = joined(&processes);
    let facts = Late(1.into()).find(&Via::File("x".into()), &Said::default());
    let area = processes.seat(Way::Area, facts.expect("the process"));
    area.feeds(Share::Exceptions);
    let mut bytes = capture("m02-exception");
    let last = bytes.windows(4).rposition(|four| four == b"\x01LPM").expect("a buffer");
    assert_eq!(talk.feed(&bytes[..last]), Ok(()));
    let state = |number| format!("set {} U32({number})", m::STATE.get());
    assert!(talk.lines(&["set"]).contains(&state(3)));
    assert!(!area.feeds(Share::Exceptions));
    // The first event of the last buffer is of no kind.
    bytes[last + 48] = 0xff;
    assert_eq!(talk.feed(&bytes[last..]), Ok(()));
    assert!(area.feeds(Share::Exceptions));
    // The area sees the end first.
    area.ended();
    drop(area);
    talk.session.close(talk.now, &mut BytesMut::new(), &mut talk.told);
    let lines = talk.lines(&["set"]);
    let reason = format!("set {} ", m::REASON.get());
    assert!(lines.contains(&state(6)), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with(&reason) && line.contains("has ended")));
}

/// The session of a peer that may be a process of this host.
fn joined(processes: &Arc<Processes>) -> Box<dyn Session> {
    let via =
        Via::Tcp { peer: ([127, 0, 0, 1], 50123).into(), ours: ([127, 0, 0, 1], 8888).into() };
    let joining = Joining { processes: Arc::clone(processes), via };
    Box::new(Front::new(peer(), Some(joining), settings(false), || 0))
}

#[test]
fn a_stream_has_64_kib_beside_its_names() {
    for name in ["m01-gc", "m02-exception", "m04-monitor", "m09-domains", "m12-tcp-killed"] {
        // Counters of another length of names are not shared with the streams of other tests.
        let own = Settings { name_length: 201, ..settings(false) };
        let mut stream = Stream::new(peer(), own, || 0);
        let (mut input, mut told) = (BytesMut::new(), recorded());
        let (mut now, mut most) = (Talk::new(false).now, 0);
        for piece in capture(name).chunks(16 << 10) {
            input.extend_from_slice(piece);
            stream.feed(now, &mut input, &mut BytesMut::new(), &mut told).expect("fed");
            most = most.max(stream.held().own - stream.named());
        }
        // The records of all flushes of the capture, which come at once here, have waited for ticks.
        for _ in 0..5 {
            now.monotonic += Duration::from_secs(1);
            stream.tick(now, &mut BytesMut::new(), &mut told).expect("a tick");
        }
        let rest = stream.held().own - stream.named();
        assert!(rest <= 64 << 10 && most <= 512 << 10, "{name}: {rest} after {most}");
    }
}
