//! Processes by a scanner and a store that are not there.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::contract::Identity;
use crate::contract::Sink;
use crate::model::{Memory, Now, Purpose, Value};
use crate::sources::mono::metrics as m;
use crate::sources::mono::process::{Host, Said, Via};

struct NoHost;

impl Host for NoHost {
    fn find(&self, _: &Via, _: &Said<'_>) -> Option<Facts> {
        None
    }
}

/// A store that can be full, and what it was told.
#[derive(Default)]
struct Store {
    full: AtomicBool,
    told: Mutex<Vec<String>>,
    asked: Mutex<Vec<Control>>,
}

struct Peer(Arc<Store>, bool);

impl Sinks for Arc<Store> {
    fn open(&self) -> Box<dyn OwnSink> {
        Box::new(Peer(Self::clone(self), false))
    }
}

impl Sink for Peer {
    fn update(&mut self, update: Update<'_>) {
        let line = match update {
            Update::Identity(Identity { name, .. }) => {
                self.1 = self.0.full.load(Ordering::Relaxed);
                name
            }
            Update::Set { item, value: Value::U32(state) } if item == m::STATE => {
                format!("state {state}")
            }
            Update::Answer { text, .. } => text,
            _ => return,
        };
        if !self.1 {
            self.0.told.lock().unwrap().push(line);
        }
    }
}

impl OwnSink for Peer {
    fn at(&mut self, _: Now) {}
    fn read(&mut self, _: usize) {}
    fn refused(&self) -> bool {
        self.1
    }
    fn requests(&mut self) -> Vec<Control> {
        std::mem::take(&mut *self.0.asked.lock().unwrap())
    }
    fn end(&mut self, departure: Departure) {
        self.0.told.lock().unwrap().push(departure.why.into());
    }
}

fn live() -> (Live, Arc<Store>) {
    let store = Arc::new(Store::default());
    let charge = Charge::new(Arc::new(Memory::default()), Purpose::Definitions);
    let mut live = Live::new(Processes::new(NoHost), Arc::new(Arc::clone(&store)), charge);
    live.configure(&["*".to_owned()]);
    (live, store)
}

fn found(live: &mut Live, pid: u32) {
    let facts = Facts { pid, start: 7, command: b"mono\0a.exe\0".to_vec(), ..Facts::default() };
    live.report(Report::Found(Box::new(facts), Access::absent(), None));
}

fn told(store: &Store) -> Vec<String> {
    std::mem::take(&mut *store.told.lock().unwrap())
}

#[test]
fn requests_are_answered_and_the_end_is_told() {
    let (mut live, store) = live();
    found(&mut live, 5);
    assert_eq!(told(&store), ["a.exe:5", "state 5"]);
    store.asked.lock().unwrap().push(Control::Request(m::ADD, "GC/*".to_owned()));
    live.tick();
    live.tick();
    assert_eq!(told(&store), [NO_MODULE]);
    live.report(Report::Gone(5, 7));
    assert_eq!(told(&store), ["state 6", ENDED]);
}

#[test]
fn a_process_that_the_store_has_no_room_for_is_tried_again() {
    let (mut live, store) = live();
    store.full.store(true, Ordering::Relaxed);
    found(&mut live, 5);
    (0..20).for_each(|_| live.tick());
    store.full.store(false, Ordering::Relaxed);
    assert_eq!(told(&store), [""; 0]);
    (0..AGAIN).for_each(|_| live.tick());
    assert_eq!(told(&store), ["a.exe:5", "state 5"]);
}

#[test]
fn a_process_beyond_the_limit_is_reported_again_when_there_is_room() {
    let (mut live, store) = live();
    let last = 1 + u32::try_from(limits::AREAS).unwrap();
    (1..=last).for_each(|pid| found(&mut live, pid));
    assert_eq!((live.again(), live.room()), (Vec::new(), 0));
    live.report(Report::Gone(1, 7));
    assert_eq!((live.again(), live.again()), (vec![last], Vec::new()));
    drop(told(&store));
    found(&mut live, last);
    assert_eq!(told(&store), [format!("a.exe:{last}"), "state 5".to_owned()]);
}
