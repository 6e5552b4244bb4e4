//! Looks for .NET processes.

use super::found::Found;
use crate::net::Net;
use crate::sources::dotnet::Config;

/// Starts looking. `report` is called once for each process, within the runtime; it must not block.
pub(super) fn start(_: &Config, _: &Net, _: impl Fn(Found) + Send + Sync + 'static) {}
