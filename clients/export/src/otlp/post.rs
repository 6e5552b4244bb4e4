//! One request.

use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};

use ureq::Error;

use super::answer::{Answer, Verdict};
use super::batch::Form;
use super::endpoint::Endpoint;

/// Bytes of an answer that are read.
const MOST_ANSWER: u64 = 64 << 10;

/// Sends requests to one receiver.
pub(super) struct Post {
    to: Endpoint,
}

impl Post {
    pub(super) fn new(to: Endpoint) -> Self {
        Self { to }
    }

    /// The URL as it is shown.
    pub(super) fn shown(&self) -> String {
        self.to.shown()
    }

    pub(super) fn gzip(&self) -> bool {
        self.to.gzip
    }

    /// What became of a body, and why it failed if it did.
    pub(super) fn send(&self, form: Form, body: &[u8]) -> (Verdict, String) {
        let kind = match form {
            Form::Protobuf => "application/x-protobuf",
            Form::Json => "application/json",
        };
        let mut request = self.to.agent.post(&self.to.url).header("Content-Type", kind);
        if self.to.gzip {
            request = request.header("Content-Encoding", "gzip");
        }
        for (name, value) in &self.to.headers {
            request = request.header(name, value);
        }
        let mut answer = match request.send(body) {
            Ok(answer) => answer,
            Err(e) => return failed(&e),
        };
        let mut said = Vec::new();
        let read = answer.body_mut().as_reader().take(MOST_ANSWER).read_to_end(&mut said);
        let status = answer.status().as_u16();
        // A success whose words are lost is a success.
        if let Err(e) = read
            && !answer.status().is_success()
        {
            return (Verdict::Again(None), e.to_string());
        }
        let retry_after = answer.headers().get("Retry-After").and_then(|value| value.to_str().ok());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let answer = Answer { status, retry_after, body: &said };
        let verdict = answer.verdict(i64::try_from(now).unwrap_or(i64::MAX));
        (verdict, format!("status {status}"))
    }
}

/// What is wrong with the network may pass; what is wrong with us does not, but a later start may do better.
fn failed(error: &Error) -> (Verdict, String) {
    let why = error.to_string();
    match error {
        Error::BadUri(_) | Error::Http(_) | Error::InvalidProxyUrl | Error::TlsRequired => {
            (Verdict::Denied(why.clone()), why)
        }
        _ => (Verdict::Again(None), why),
    }
}
