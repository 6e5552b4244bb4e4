//! Traffic of Zorka agents: captured requests, and an encoder of large traces.

mod encode;
mod transcript;

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub use encode::{Fib, fib, wide_fib};
pub use transcript::{definitions, trace};

/// The captures of the repository.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../qa/corpus/zorka")
}

/// A captured request.
#[derive(Clone, Debug)]
pub struct Captured {
    pub path: String,
    /// Names as on the wire, and values.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// What the recording collector answered.
    pub status: u16,
    /// Requests with the same number came over one connection.
    pub connection: u64,
}

/// The requests of a capture, in their order.
pub fn capture(path: &Path) -> Vec<Captured> {
    let text = std::fs::read_to_string(path).unwrap();
    let request = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let headers = line["headers"].as_array().unwrap().iter();
        Captured {
            path: text(&line["uri"]),
            headers: headers.map(|pair| (text(&pair[0]), text(&pair[1]))).collect(),
            body: STANDARD.decode(text(&line["body_b64"])).unwrap(),
            status: line["status"].as_u64().unwrap() as u16,
            connection: line["client_port"].as_u64().unwrap_or(0),
        }
    };
    text.lines().filter(|line| !line.is_empty()).map(request).collect()
}
