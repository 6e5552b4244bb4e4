//! Calls without memory of a queue that a PMDA in Rust reads.

use std::cell::RefCell;

use pcp_event::{Array, ArrayError, HighRes, Pmid, QueueError, Queues, Stamp};

use crate::scarce::{ENOMEM, each};

/// A queue with an event that a client has not fetched yet, and the client's array.
struct State {
    queues: Queues,
    array: Array<HighRes>,
}

const NOW: Stamp = Stamp { sec: 1, nsec: 2 };

fn state(room: usize) -> RefCell<State> {
    let mut queues = Queues::new();
    assert_eq!((queues.new_client(7), queues.new_active_queue("q", 1000, 1)), (Ok(0), Ok(0)));
    assert_eq!(
        (queues.set_access(7, 0, true), queues.append(0, b"event", NOW)),
        (Ok(()), Ok(true))
    );
    RefCell::new(State { queues, array: Array::with_capacity(room) })
}

fn decode(array: &mut Array<HighRes>, event: &[u8], time: &Stamp) -> Result<(), QueueError> {
    let mut add = || {
        array.add_record(*time, 1)?;
        array.add_text(Pmid(7), event)
    };
    add().map_err(|e| match e {
        ArrayError::NoMemory => QueueError::NoMemory,
        _ => QueueError::Invalid,
    })
}

/// Bytes of events that are stored.
fn stored(state: &RefCell<State>) -> Result<usize, QueueError> {
    state.borrow().queues.memory(0)
}

#[test]
fn fetches_of_rust() {
    let fetch = |state: &RefCell<State>| {
        let State { queues, array } = &mut *state.borrow_mut();
        match queues.records(0, 7, array, NOW, decode) {
            Ok(fetched) => i32::from(fetched.events == 1) - 1,
            Err(QueueError::NoMemory) => ENOMEM,
            Err(_) => -1,
        }
    };
    assert!(each(|| state(1000), fetch, stored, drop) > 0);
    // As in C, an event for whose records there is no memory is seen again.
    assert!(each(|| state(0), fetch, stored, drop) > each(|| state(1000), fetch, stored, drop));
}
