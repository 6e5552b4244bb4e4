//! What a session asks of meters.

use super::provider::Provider;
use super::version::Version;
use crate::sources::dotnet::Config;

/// The provider of meters.
pub const METERS: &str = "System.Diagnostics.Metrics";

/// The session id that clients share (8 and later).
pub const SHARED: &str = "SHARED";

/// Values (2); messages and lists of instruments are of no use.
const VALUES: u64 = 2;

/// Session id and entry for the meters of the configuration; `None` without meters. `client`: a
/// name of this PMDA that no other client uses.
pub(super) fn meters<'a>(
    config: &Config,
    version: Version,
    client: &'a str,
) -> Option<(&'a str, Provider)> {
    let fits = |name: &&str| !name.is_empty() && !name.contains(['"', ';', ',', '\n', '\r', '\0']);
    let names: Vec<_> = config.meters.iter().map(String::as_str).filter(fits).collect();
    if names.is_empty() {
        return None;
    }
    // A shared session exists from 8 on; older runtimes take one client, whatever its name.
    let session = if version.major >= 8 { SHARED } else { client };
    let entry = Provider::new(METERS, VALUES, 4)
        .with(&format!("SessionId={session}"))
        .with(&format!("Metrics=\"{}\"", names.join(",")))
        .with(&format!("RefreshInterval={}", config.interval.as_secs()))
        // Clients share the process's session if these and the interval are equal: unless configured they
        // are dotnet-monitor's (docs/protocols/dotnet.md 7).
        .with(&format!("MaxTimeSeries={}", config.meter_series))
        .with(&format!("MaxHistograms={}", config.meter_histograms))
        .with(&format!("ClientId={client}"));
    Some((session, entry))
}
