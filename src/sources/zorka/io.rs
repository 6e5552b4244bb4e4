//! Connects the collector to the outside: an HTTP listener.

use std::io;
use std::sync::{Mutex, PoisonError};

use super::Config;
use crate::sources::{Context, Running};

/// Starts the listener.
///
/// # Errors
/// None today; the contract allows them.
pub(super) fn start(config: Config, _: Context) -> io::Result<Box<dyn Running<Config>>> {
    Ok(Box::new(RunningZorka { config: Mutex::new(config) }))
}

struct RunningZorka {
    /// The configuration that was applied last.
    config: Mutex<Config>,
}

impl Running<Config> for RunningZorka {
    fn reconfigure(&self, new: &Config) -> Vec<&'static str> {
        let old = std::mem::replace(
            &mut *self.config.lock().unwrap_or_else(PoisonError::into_inner),
            new.clone(),
        );
        if old.listen == new.listen { Vec::new() } else { vec!["listen"] }
    }
}
