//! What must be known after a restart: which sessions are ours, and what was done to them.

use serde::{Deserialize, Serialize};

use super::limits::{SESSIONS_MAX, STATE_MAX};
use super::plan::Applied;
use super::spec::SessionSpec;

/// Version of the form.
const VERSION: u32 = 1;

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// As it is wanted now.
    pub spec: SessionSpec,
    /// As the configuration had it, if it comes from there: what users have changed since holds
    /// until that changes.
    pub base: Option<SessionSpec>,
    /// Marks in the paths of sessions that are ours, the newest last.
    pub marks: Vec<String>,
    /// What was done to it.
    pub applied: Option<Applied>,
    /// It is to be gone.
    pub gone: bool,
}

/// All sessions.
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
    /// A state to be saved.
    #[must_use]
    pub fn new(sessions: Vec<Saved>) -> Self {
        Self { version: VERSION, sessions }
    }

    /// Reads a state that was saved.
    ///
    /// # Errors
    /// Why it cannot be used: then sessions made before count as somebody else's.
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
        // What it says reaches command lines: it is held to the same rules as the configuration.
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
