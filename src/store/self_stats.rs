//! The values of `apm.self.*`: statistics of the PMDA itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::catalogue::Stat;

/// Statistics of the PMDA: numbers by item, and texts.
#[derive(Debug)]
pub struct SelfStats {
    cells: [AtomicU64; Stat::COUNT],
    started: Mutex<Duration>,
    config_file: Mutex<String>,
    access_reason: Mutex<String>,
    confinement: Mutex<String>,
}

impl Default for SelfStats {
    fn default() -> Self {
        Self {
            cells: [const { AtomicU64::new(0) }; Stat::COUNT],
            started: Mutex::default(),
            config_file: Mutex::new("defaults".into()),
            access_reason: Mutex::default(),
            confinement: Mutex::default(),
        }
    }
}

impl SelfStats {
    fn cell(&self, stat: Stat) -> &AtomicU64 {
        static NOWHERE: AtomicU64 = AtomicU64::new(0);
        self.cells.get(stat as usize).unwrap_or(&NOWHERE)
    }

    /// Adds to a statistic.
    pub fn add(&self, stat: Stat, more: u64) {
        self.cell(stat).fetch_add(more, Ordering::Relaxed);
    }

    /// Subtracts from a gauge.
    pub fn sub(&self, stat: Stat, less: u64) {
        self.cell(stat).fetch_sub(less, Ordering::Relaxed);
    }

    /// Sets a gauge.
    pub fn set(&self, stat: Stat, value: u64) {
        self.cell(stat).store(value, Ordering::Relaxed);
    }

    /// Raises a maximum.
    pub fn raise(&self, stat: Stat, value: u64) {
        self.cell(stat).fetch_max(value, Ordering::Relaxed);
    }

    /// A numeric statistic.
    #[must_use]
    pub fn get(&self, stat: Stat) -> u64 {
        self.cell(stat).load(Ordering::Relaxed)
    }

    /// When the PMDA started, on the monotonic clock.
    pub fn set_started(&self, at: Duration) {
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// Time since the PMDA started.
    #[must_use]
    pub fn uptime(&self, now: Duration) -> Duration {
        now.saturating_sub(*self.started.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Why a request was refused last.
    pub fn set_access_reason(&self, why: String) {
        *self.access_reason.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Why a request was refused last; empty before the first.
    #[must_use]
    pub fn access_reason(&self) -> String {
        self.access_reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the PMDA has given up.
    pub fn set_confinement(&self, text: String) {
        *self.confinement.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    /// What the PMDA has given up.
    #[must_use]
    pub fn confinement(&self) -> String {
        self.confinement.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The configuration file in use.
    pub fn set_config_file(&self, path: &str) {
        path.clone_into(&mut self.config_file.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The configuration file in use.
    #[must_use]
    pub fn config_file(&self) -> String {
        self.config_file.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
