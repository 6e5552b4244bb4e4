//! Shared throttle of log lines.

use std::sync::{Mutex, PoisonError};

use crate::clock::now;
use crate::store::LogThrottle;

/// Log lines about connections of one listener that ended badly: at most one a minute.
#[derive(Debug, Default)]
pub(super) struct SharedThrottle(Mutex<LogThrottle>);

impl SharedThrottle {
    pub(super) fn write(&self, line: &str) {
        let allowed = self.0.lock().unwrap_or_else(PoisonError::into_inner).allow(now().monotonic);
        if let Some(n) = allowed {
            log::warn!("{line}{}", LogThrottle::more(n));
        }
    }
}
