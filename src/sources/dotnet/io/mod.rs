//! Connects the reader to the outside: /proc, sockets, tasks.

mod discovery;
#[allow(dead_code, reason = "session is being built")]
mod found;

use std::io;

use found::Found;

use super::Config;
use crate::sources::{Context, Running};

/// Starts discovery and the listener.
///
/// # Errors
/// None today; the contract allows them.
pub(super) fn start(
    config: Config,
    Context { net, .. }: Context,
) -> io::Result<Box<dyn Running<Config>>> {
    discovery::start(&config, &net, |found: Found| {
        log::debug!("dotnet: {:?} {:?}", found.target, *found.access.borrow());
    });
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
