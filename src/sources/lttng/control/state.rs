//! State over restarts: the sessions that are ours, and the commands applied to them.

use serde::{Deserialize, Serialize};

use super::limits::{SESSIONS_MAX, STATE_MAX};
use super::plan::Applied;
use super::spec::SessionSpec;

/// Version of the format.
const VERSION: u32 = 1;

/// State of one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// Wanted specification.
    pub spec: SessionSpec,
    /// Specification in the configuration, if any. Changes by users stay until it changes.
    pub base: Option<SessionSpec>,
    /// Marks in the paths of sessions that are ours, the newest last.
    pub marks: Vec<String>,
    /// Applied commands.
    pub applied: Option<Applied>,
    /// To be destroyed.
    pub gone: bool,
}

/// State of all managed sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    version: u32,
    /// The sessions.
    pub sessions: Vec<Saved>,
}

impl Default for State {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl State {
    /// A state in the current format.
    #[must_use]
    pub fn new(sessions: Vec<Saved>) -> Self {
        Self { version: VERSION, sessions }
    }

    /// Parses a saved state.
    ///
    /// # Errors
    /// The text is invalid. Sessions created before are then treated as another owner's.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > STATE_MAX {
            return Err(format!("more than {STATE_MAX} bytes"));
        }
        let state: Self = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if state.version != VERSION {
            return Err(format!("version {} instead of {VERSION}", state.version));
        }
        if state.sessions.len() > SESSIONS_MAX {
            return Err(format!("more than {SESSIONS_MAX} sessions"));
        }
        // The texts reach command lines, so they obey the same rules as the configuration.
        state.sessions.iter().try_for_each(|s| s.spec.check()).map_err(|e| e.to_string())?;
        Ok(state)
    }

    /// The text to save.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_comes_back() {
        let spec = SessionSpec { events: vec!["a".into()], ..SessionSpec::new("s1") };
        let applied = Some(Applied::new(&spec));
        let saved =
            Saved { base: Some(spec.clone()), spec, marks: vec!["m".into()], applied, gone: false };
        let state = State::new(vec![saved]);
        assert_eq!(State::parse(&state.text()), Ok(state.clone()));
        assert_eq!(State::parse(&State::default().text()), Ok(State::default()));
        let text = state.text();
        for cut in 0..text.len() {
            assert!(State::parse(&text[..cut]).is_err());
        }
        assert!(
            State::parse(&text.replace("\"version\": 1", "\"version\": 2"))
                .expect_err("version")
                .contains("version 2")
        );
        assert!(State::parse(&text.replace("\"s1\"", "\"--all\"")).is_err());
        assert!(State::parse(&" ".repeat(STATE_MAX + 1)).is_err());
    }
}
