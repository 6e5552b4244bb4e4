//! What `apm.lttng.relay.status` shows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::sources::lttng::metrics::RELAYS;
use crate::store::Desk;

/// How the relay daemons are, as `apm.lttng.relay.status` shows it.
#[derive(Debug)]
pub(super) struct RelayStatus {
    desk: Arc<Desk>,
    lines: Mutex<BTreeMap<String, String>>,
}

impl RelayStatus {
    pub(super) fn new(desk: Arc<Desk>) -> Self {
        Self { desk, lines: Mutex::default() }
    }

    /// Returns whether it is new.
    pub(super) fn set(&self, address: &str, status: String) -> bool {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.get(address) == Some(&status) {
            return false;
        }
        lines.insert(address.to_owned(), status);
        let all: Vec<_> =
            lines.iter().map(|(address, status)| format!("{address} {status}")).collect();
        self.desk.answer(RELAYS, &all.join("\n"));
        true
    }
}
