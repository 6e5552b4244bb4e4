//! Processes by a scanner and a store that are not there.

use super::*;
use crate::contract::{Recorded, Refusal};
use crate::model::{Memory, Purpose, Value};
use crate::sources::Source;
use crate::sources::mono::Mono;
use crate::sources::mono::metrics as m;
use crate::sources::mono::process::{Host, Said, Via};

struct NoHost;

impl Host for NoHost {
    fn find(&self, _: &Via, _: &Said<'_>) -> Option<Facts> {
        None
    }
}

fn live() -> (Live, Recorded) {
    let store = Recorded::new(&Mono::TABLE);
    let charge = Charge::new(Arc::new(Memory::default()), Purpose::Definitions);
    let mut live = Live::new(Processes::new(NoHost), store.maker(), charge);
    live.configure(&["*".to_owned()]);
    (live, store)
}

fn found(live: &mut Live, pid: u32) {
    let facts = Facts { pid, start: 7, command: b"mono\0a.exe\0".to_vec(), ..Facts::default() };
    live.report(Report::Found(Box::new(facts), Access::absent(), None));
}

/// What was told since the last call: names, the state, answers, ends.
fn told(store: &Recorded) -> Vec<String> {
    let mut log = store.log_mut();
    let mut told: Vec<String> = log.identities.drain(..).map(|identity| identity.name).collect();
    if let Some(Value::U32(state)) = log.values.remove(&m::STATE) {
        told.push(format!("state {state}"));
    }
    told.extend(log.answers.drain(..).map(|(_, text)| text));
    told.extend(log.ended.drain(..).map(|departure| departure.why.into()));
    told
}

#[test]
fn requests_are_answered_and_the_end_is_told() {
    let (mut live, store) = live();
    found(&mut live, 5);
    assert_eq!(told(&store), ["a.exe:5", "state 5"]);
    store.log_mut().requests.push_back(Control::Request(m::ADD, "GC/*".to_owned()));
    live.tick();
    live.tick();
    assert_eq!(told(&store), [NO_MODULE]);
    live.report(Report::Gone(5, 7));
    assert_eq!(told(&store), ["state 6", ENDED]);
}

#[test]
fn a_process_that_the_store_has_no_room_for_is_tried_again() {
    let (mut live, store) = live();
    store.log_mut().refuses = Some(Refusal::Instances);
    found(&mut live, 5);
    (0..20).for_each(|_| live.tick());
    store.log_mut().refuses = None;
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
