//! Requests for a burst.

use std::time::Duration;

/// The longest burst.
const LONGEST: u64 = 60;

/// The length of a burst from the text of a request: whole seconds; empty: `usual`.
///
/// # Errors
/// What is wrong, in words for the answer.
pub(crate) fn length(text: &str, usual: Duration) -> Result<Duration, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(usual);
    }
    match text.strip_suffix('s').unwrap_or(text).trim_end().parse() {
        Ok(seconds) if (1..=LONGEST).contains(&seconds) => Ok(Duration::from_secs(seconds)),
        _ => Err(format!("refused: seconds, 1 to {LONGEST}, are needed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_or_the_usual_length() {
        let usual = Duration::from_millis(2500);
        assert_eq!(length("", usual), Ok(usual));
        for (text, seconds) in [("5", 5), (" 60 ", 60), ("1s", 1), ("7 s", 7)] {
            assert_eq!(length(text, usual), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["0", "61", "-1", "1.5", "five", "99999999999999999999"] {
            assert!(length(text, usual).is_err(), "{text}");
        }
    }
}
