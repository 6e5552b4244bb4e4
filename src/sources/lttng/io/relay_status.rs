//! The value of `apm.lttng.relay.status`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::sources::lttng::metrics::RELAYS;
use crate::store::ControlQueue;

/// State of all relay daemons, one line each.
#[derive(Debug)]
pub(super) struct RelayStatus {
    control_queue: Arc<ControlQueue>,
    lines: Mutex<BTreeMap<String, String>>,
}

impl RelayStatus {
    pub(super) fn new(control_queue: Arc<ControlQueue>) -> Self {
        Self { control_queue, lines: Mutex::default() }
    }

    /// Sets the state of a relay daemon. Returns whether it has changed.
    pub(super) fn set(&self, address: &str, status: String) -> bool {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.get(address) == Some(&status) {
            return false;
        }
        lines.insert(address.to_owned(), status);
        let all: Vec<_> =
            lines.iter().map(|(address, status)| format!("{address} {status}")).collect();
        self.control_queue.answer(RELAYS, &all.join("\n"));
        true
    }
}
