//! Events of captures, handed over as a trace does it: in packets, not in the order of time.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use flate2::read::GzDecoder;

use super::{Hub, PROVIDER};
use crate::contract::Recorded;
use crate::model::{Now, Stamp};
use crate::sources::Source;
use crate::sources::dotnet::wire::clr;
use crate::sources::dotnet::wire::nettrace::{Event, Reader, Visitor};
use crate::sources::dotnet::{Config, Dotnet, limits, metrics as m};
use crate::sources::foreign::{ForeignEvent, ForeignFeed, ForeignReaders};

/// An event of the runtime: LTTng's name, thread, time, payload.
type Clr = (String, u64, Stamp, Vec<u8>);

/// The runtime's events of a capture.
#[derive(Default)]
struct Events(Vec<Clr>);

impl Visitor for Events {
    fn event(&mut self, event: &Event<'_>) {
        let t = event.event_type;
        if &*t.provider == clr::RUNTIME {
            let (_, name) = clr::NAMES.iter().find(|(id, _)| *id == t.id).unwrap();
            let name = match t.version {
                0 => (*name).to_owned(),
                version => format!("{name}_V{version}"),
            };
            let stamp = Stamp::from_nanos(event.time.into());
            self.0.push((name, event.capture_thread, stamp, event.payload.to_vec()));
        }
    }
}

fn events(capture: &str) -> Vec<Clr> {
    let path = format!("qa/corpus/dotnet/{capture}.s2c.gz");
    let file = fs::File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    let mut events = Events::default();
    Reader::new().feed(&mut BytesMut::from(&bytes[28..]), &mut events).unwrap();
    assert!(events.0.len() > 100);
    events.0
}

fn at(seconds: u64) -> Now {
    Now { monotonic: Duration::from_secs(seconds), ..Now::default() }
}

fn hub() -> (Arc<Hub>, Recorded, Box<dyn ForeignFeed>) {
    let seen = Recorded::new(&Dotnet::TABLE);
    let hub = Hub::new(Arc::default(), "here", seen.maker());
    let readers = ForeignReaders::default();
    readers.offer(PROVIDER, hub.reader());
    assert!(readers.of("lttng_ust_libc").is_none());
    let feed = readers.of(PROVIDER).unwrap().open("here");
    (hub, seen, feed)
}

fn hand(feed: &mut dyn ForeignFeed, process: Option<u64>, events: &[&Clr]) {
    for (name, thread, stamp, payload) in events {
        let class = feed.class(name).unwrap();
        let event =
            ForeignEvent { class, process, thread: *thread, stamp: *stamp, payload: &payload[..] };
        feed.event(at(1), &event);
    }
}

#[test]
fn traces_give_the_figures_of_the_runtime_in_any_order_of_processors() {
    let all = events("gc-exc-31");
    let (hub, seen, mut feed) = hub();
    // Two processors: the events of one come before those of the other.
    let (even, odd): (Vec<_>, Vec<_>) =
        all.iter().enumerate().partition(|(number, _)| number.is_multiple_of(2));
    for half in [odd, even] {
        let half: Vec<_> = half.into_iter().map(|(_, event)| event).collect();
        hand(&mut *feed, Some(4711), &half);
    }
    assert_eq!(seen.count(m::EVENTS), 0, "they wait for each other");
    (2..6).for_each(|second| hub.tick(at(second)));
    assert_eq!(seen.count(m::EVENTS), all.len() as u64);
    assert_eq!((seen.count(m::UNKNOWN), seen.count(m::BAD)), (0, 0));
    // facts.json: 10 pauses of reason 1, 12 exceptions.
    assert_eq!((seen.count(m::PAUSE_COUNT), seen.count(m::EXCEPTIONS)), (10, 12));
    assert_eq!(
        seen.log().identities.iter().map(|id| &*id.name).collect::<Vec<_>>(),
        ["dotnet:4711@here"]
    );
    drop(feed);
    assert_eq!((hub.processes(), seen.log().ended.len()), (0, 1));
}

#[test]
fn what_is_streamed_otherwise_is_not_fed() {
    let all = events("gc-exc-31");
    let all: Vec<_> = all.iter().collect();
    let (hub, seen, mut feed) = hub();
    hand(&mut *feed, Some(1), &all[..10]);
    assert_eq!(hub.processes(), 1);
    let streamed = Hub::streamed(&hub, 1);
    assert_eq!((hub.processes(), seen.log().ended.len()), (0, 1));
    hand(&mut *feed, Some(1), &all);
    assert_eq!(hub.processes(), 0);
    // A process of another host has the same number.
    let mut other = hub.reader().open("there");
    hand(&mut *other, Some(1), &all[..1]);
    assert_eq!(hub.processes(), 1);
    drop(streamed);
    hand(&mut *feed, Some(1), &all[..1]);
    assert_eq!(hub.processes(), 2);
    drop(feed);
    assert_eq!(hub.processes(), 1);
}

#[test]
fn events_without_a_process_are_counted_and_processes_are_bounded() {
    let all = events("gc-exc-31");
    let all: Vec<_> = all.iter().take(1).collect();
    let (hub, seen, mut feed) = hub();
    hand(&mut *feed, None, &all);
    assert_eq!((hub.unattributed(), hub.processes()), (1, 0));
    for process in 0..limits::FED as u64 + 9 {
        hand(&mut *feed, Some(process), &all);
    }
    assert_eq!((hub.unattributed(), hub.processes()), (10, limits::FED));
    hub.configure(Arc::new(Config::default()));
    drop(feed);
    assert_eq!(seen.count(m::EVENTS), limits::FED as u64);
}

#[test]
fn what_waits_is_bounded() {
    let all = events("gc-exc-31");
    let all: Vec<_> = all.iter().collect();
    let (_hub, seen, mut feed) = hub();
    for _ in 0..100 {
        hand(&mut *feed, Some(1), &all);
    }
    let waiting = 100 * all.len() as u64 - seen.count(m::EVENTS);
    assert!(waiting <= limits::FED_EVENTS as u64, "{waiting}");
}

#[test]
fn classes_that_nobody_knows_are_not_wanted() {
    let (_hub, _, mut feed) = hub();
    assert_eq!(feed.class("GCStart_V2"), Some(256 + 2));
    assert_eq!(feed.class("NoSuchEvent_V1"), None);
}
