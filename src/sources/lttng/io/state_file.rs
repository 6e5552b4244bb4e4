//! The state file of managed sessions.

use std::path::Path;

pub(super) use crate::net::state_file::write;

use crate::net::state_file;
use crate::sources::lttng::control::State;
use crate::sources::lttng::control::limits::STATE_MAX;

/// Reads the file; a missing file is an empty state.
///
/// # Errors
/// The file cannot be read or parsed.
pub(super) fn read(path: &Path) -> Result<State, String> {
    let text = state_file::read(path, STATE_MAX).map_err(|e| e.to_string())?;
    text.map_or_else(|| Ok(State::default()), |text| State::parse(&text))
}
