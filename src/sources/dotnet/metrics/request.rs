//! Requests to the CPU profile of a process.

use std::time::Duration;

/// The longest burst.
const LONGEST: u64 = 60;

/// What `profile.run` is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Take a burst, of this length or of the usual one.
    Burst(Option<Duration>),
    /// Forget what bursts have brought.
    Reset,
}

impl Request {
    /// The request of a text: `reset`, or whole seconds; empty: the usual length.
    ///
    /// # Errors
    /// What is wrong, in words for the answer.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::Burst(None));
        }
        if text == "reset" {
            return Ok(Self::Reset);
        }
        match text.strip_suffix('s').unwrap_or(text).trim_end().parse() {
            Ok(seconds) if (1..=LONGEST).contains(&seconds) => {
                Ok(Self::Burst(Some(Duration::from_secs(seconds))))
            }
            _ => Err(format!("refused: seconds, 1 to {LONGEST}, or reset are needed")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_or_the_usual_length_or_a_reset() {
        assert_eq!(Request::parse(""), Ok(Request::Burst(None)));
        assert_eq!(Request::parse(" reset\n"), Ok(Request::Reset));
        for (text, seconds) in [("5", 5), (" 60 ", 60), ("1s", 1), ("7 s", 7)] {
            let burst = Request::Burst(Some(Duration::from_secs(seconds)));
            assert_eq!(Request::parse(text), Ok(burst), "{text}");
        }
        for text in ["0", "61", "-1", "1.5", "five", "Reset", "99999999999999999999"] {
            assert!(Request::parse(text).is_err(), "{text}");
        }
    }
}
