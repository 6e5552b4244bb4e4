//! What a receiver answers, and what to do then.

use std::time::Duration;

use serde_json::Value as Json;

/// Characters of a message that are shown.
const MOST_MESSAGE: usize = 300;
/// Longest wait that a receiver can ask for.
const MOST_WAIT: Duration = Duration::from_secs(300);

/// What an answer means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It has all but `rejected`, which are not to be sent again; `message` says more.
    Taken {
        /// Spans that it did not take.
        rejected: u64,
        /// Why, or a warning.
        message: String,
    },
    /// The same again, after this time if it says one.
    Again(Option<Duration>),
    /// It does not read this form.
    OtherForm,
    /// It takes none of it, ever.
    Refused(String),
    /// It takes nothing from here as things are.
    Denied(String),
}

/// An answer of HTTP.
#[derive(Debug, Default)]
pub(super) struct Answer<'a> {
    pub(super) status: u16,
    pub(super) retry_after: Option<&'a str>,
    pub(super) body: &'a [u8],
}

impl Answer<'_> {
    /// `now`: seconds since 1970.
    pub(super) fn verdict(&self, now: i64) -> Verdict {
        match self.status {
            200..=299 => {
                let (rejected, message) = partial(self.body);
                Verdict::Taken { rejected, message }
            }
            429 | 502 | 503 | 504 => {
                Verdict::Again(self.retry_after.and_then(|text| after(text, now)))
            }
            415 => Verdict::OtherForm,
            status => {
                let why = match said(self.body) {
                    message if message.is_empty() => format!("status {status}"),
                    message => format!("status {status}: {message}"),
                };
                match status {
                    401 | 403 | 404 => Verdict::Denied(why),
                    _ => Verdict::Refused(why),
                }
            }
        }
    }
}

/// `Retry-After`: seconds, or a date.
fn after(text: &str, now: i64) -> Option<Duration> {
    let text = text.trim();
    let seconds = match text.parse() {
        Ok(seconds) => seconds,
        Err(_) => {
            let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
            u64::try_from(date.as_second() - now).unwrap_or(0)
        }
    };
    Some(Duration::from_secs(seconds).min(MOST_WAIT))
}

/// `partialSuccess` of an `ExportTraceServiceResponse`, in either form.
fn partial(body: &[u8]) -> (u64, String) {
    if let Ok(answer) = serde_json::from_slice::<Json>(body) {
        let partial = answer.get("partialSuccess");
        let get = |name: &str| partial.and_then(|partial| partial.get(name));
        // 64 bits are a text in JSON, but not every receiver knows.
        let number = |n: &Json| n.as_u64().or_else(|| n.as_str()?.parse().ok());
        let rejected = get("rejectedSpans").and_then(number);
        let message = get("errorMessage").and_then(Json::as_str).unwrap_or_default();
        return (rejected.unwrap_or(0), shown(message));
    }
    let mut found = (0, String::new());
    for (field, value) in Fields(body) {
        let Field::Bytes(partial) = value else { continue };
        for (number, value) in Fields(partial).filter(|_| field == 1) {
            match (number, value) {
                (1, Field::Number(rejected)) => found.0 = rejected,
                (2, Field::Bytes(message)) => found.1 = shown(&String::from_utf8_lossy(message)),
                _ => {}
            }
        }
    }
    found
}

/// The message of a `google.rpc.Status`, else the text.
fn said(body: &[u8]) -> String {
    if let Ok(status) = serde_json::from_slice::<Json>(body) {
        return shown(status.get("message").and_then(Json::as_str).unwrap_or_default());
    }
    let message = Fields(body).find_map(|(number, value)| match value {
        Field::Bytes(message) if number == 2 => std::str::from_utf8(message).ok(),
        _ => None,
    });
    shown(message.unwrap_or(std::str::from_utf8(body).unwrap_or_default()))
}

fn shown(text: &str) -> String {
    let text = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    text.take(MOST_MESSAGE).collect()
}

/// Fields of a message of protobuf, as far as it is sound.
struct Fields<'a>(&'a [u8]);

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl Fields<'_> {
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Field<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let tag = self.varint()?;
        let mut take = |length: usize| {
            let (taken, rest) = self.0.split_at_checked(length)?;
            self.0 = rest;
            Some(taken)
        };
        let value = match tag & 7 {
            0 => Field::Number(self.varint()?),
            1 => Field::Bytes(take(8)?),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let (taken, rest) = self.0.split_at_checked(length)?;
                self.0 = rest;
                Field::Bytes(taken)
            }
            5 => Field::Bytes(take(4)?),
            _ => return None,
        };
        Some((tag >> 3, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(status: u16, retry_after: Option<&str>, body: &[u8]) -> Verdict {
        Answer { status, retry_after, body }.verdict(1_700_000_000)
    }

    #[test]
    fn success_has_many_forms() {
        let all = Verdict::Taken { rejected: 0, message: String::new() };
        for body in [&b""[..], b"{}", br#"{"partialSuccess":{}}"#, br#"{"partialSuccess":null}"#] {
            assert_eq!(verdict(200, None, body), all);
        }
        assert_eq!(verdict(200, None, &[0x0a, 0]), all);
        assert_eq!(verdict(202, None, b"thanks"), all);
        let some = Verdict::Taken { rejected: 7, message: "too old".into() };
        for number in ["7", "\"7\""] {
            let body = format!(
                r#"{{"partialSuccess":{{"rejectedSpans":{number},"errorMessage":"too\nold"}}}}"#
            );
            assert_eq!(verdict(200, None, body.as_bytes()), some);
        }
        assert_eq!(verdict(200, None, b"\x0a\x0b\x08\x07\x12\x07too old"), some);
    }

    #[test]
    fn only_some_failures_are_tried_again() {
        let again = |seconds| Verdict::Again(Some(Duration::from_secs(seconds)));
        assert_eq!(verdict(503, None, b""), Verdict::Again(None));
        assert_eq!(verdict(429, Some("7"), b""), again(7));
        assert_eq!(verdict(502, Some("Tue, 14 Nov 2023 22:13:30 GMT"), b""), again(10));
        assert_eq!(verdict(502, Some("Tue, 14 Nov 2023 22:13:10 GMT"), b""), again(0));
        assert_eq!(verdict(504, Some("99999999999"), b""), Verdict::Again(Some(MOST_WAIT)));
        assert_eq!(verdict(504, Some("soon"), b""), Verdict::Again(None));
        assert_eq!(verdict(415, None, b""), Verdict::OtherForm);
        let refused = |text: &str| Verdict::Refused(text.into());
        assert_eq!(verdict(500, None, b""), refused("status 500"));
        assert_eq!(verdict(400, None, br#"{"code":3,"message":"no"}"#), refused("status 400: no"));
        assert_eq!(verdict(400, None, b"\x08\x03\x12\x02no"), refused("status 400: no"));
        for status in [401, 403, 404] {
            let denied = Verdict::Denied(format!("status {status}: a page"));
            assert_eq!(verdict(status, None, b"a page\n"), denied);
        }
        assert_eq!(verdict(400, None, &[0xff; 400]), refused("status 400"));
    }
}
