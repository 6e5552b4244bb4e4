//! Connects the reader to the outside: /proc, sockets, tasks.

use std::io;

use super::Config;
use crate::sources::{Context, Running};

/// Starts discovery and the listener.
///
/// # Errors
/// None today; the contract allows them.
pub(super) fn start(config: Config, _: Context) -> io::Result<Box<dyn Running<Config>>> {
    Ok(Box::new(RunningDotnet { config }))
}

struct RunningDotnet {
    config: Config,
}

impl Running<Config> for RunningDotnet {
    fn reconfigure(&self, new: &Config) -> Vec<&'static str> {
        if self.config.listen == new.listen { Vec::new() } else { vec!["listen"] }
    }
}
