//! Where spans go to: what was asked for, and the environment that all of OpenTelemetry's programs know.

use std::time::Duration;

use ureq::Agent;

use super::Form;
use crate::http::{agent, sendable, variable};
use crate::meaning::without_user;

/// Longest time for one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Where spans go to, and how.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The whole URL.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The form of requests.
    pub form: Form,
    /// Whether requests are compressed.
    pub gzip: bool,
    /// With its time for one request, and with certificates.
    pub(super) agent: Agent,
}

/// What the command line said.
#[derive(Debug, Default, Clone)]
pub struct Said {
    /// `""`: as the environment says.
    pub url: String,
    /// Go before those of the environment.
    pub headers: Vec<(String, String)>,
    /// JSON.
    pub json: bool,
    /// `gzip`, `none`.
    pub compression: Option<String>,
}

impl Endpoint {
    /// What was said, and what `environment` says.
    ///
    /// # Errors
    /// Something has no meaning; the text says what.
    pub fn new(said: &Said, environment: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let known = |name: &str| variable(&environment, name);
        let url = if said.url.is_empty() {
            match environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").filter(|url| !url.is_empty()) {
                Some(whole) => whole,
                None => with_path(&known("ENDPOINT").unwrap_or("http://localhost:4318".into())),
            }
        } else {
            with_path(&said.url)
        };
        let mut headers = said.headers.clone();
        for pair in known("HEADERS").iter().flat_map(|text| text.split(',')) {
            let pair = pair.trim();
            if pair.is_empty() {
                continue;
            }
            let (name, value) = header(pair).ok_or("OTEL_EXPORTER_OTLP_HEADERS: NAME=VALUE")?;
            if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
                headers.push((name, value));
            }
        }
        sendable(&url, &headers)?;
        let protocol = known("PROTOCOL");
        let form = match protocol.as_deref() {
            _ if said.json => Form::Json,
            None | Some("http/protobuf") => Form::Protobuf,
            Some("http/json") => Form::Json,
            Some(other) => {
                return Err(format!(
                    "OTEL_EXPORTER_OTLP_PROTOCOL={other}: only http/protobuf and http/json are known"
                ));
            }
        };
        let compression = said.compression.clone().or_else(|| known("COMPRESSION"));
        let gzip = match compression.as_deref() {
            None | Some("gzip") => true,
            Some("none") => false,
            Some(other) => return Err(format!("compression {other}: gzip or none")),
        };
        let timeout = match known("TIMEOUT") {
            None => TIMEOUT,
            Some(text) => match text.parse() {
                Ok(ms) if ms > 0 => Duration::from_millis(ms),
                _ => return Err(format!("OTEL_EXPORTER_OTLP_TIMEOUT={text}: milliseconds")),
            },
        };
        Ok(Self { url, headers, form, gzip, agent: agent(timeout, &environment)? })
    }

    /// The URL without a user and password.
    #[must_use]
    pub fn shown(&self) -> String {
        without_user(&self.url)
    }
}

/// `NAME=VALUE` with percent signs as in URLs.
#[must_use]
pub fn header(pair: &str) -> Option<(String, String)> {
    let (name, value) = pair.split_once('=')?;
    let name = name.trim();
    (!name.is_empty()).then(|| (name.to_owned(), unescaped(value.trim())))
}

/// The path for traces, unless the URL ends with it.
fn with_path(base: &str) -> String {
    let base = base.trim_end_matches('/');
    if base.ends_with("/v1/traces") { base.to_owned() } else { format!("{base}/v1/traces") }
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.split_at_checked(2).filter(|_| *first == b'%');
        let byte = digits.and_then(|(digits, after)| {
            let byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
            Some((byte, after))
        });
        let (byte, after) = byte.unwrap_or((*first, behind));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(said: &Said, environment: &[(&str, &str)]) -> Result<Endpoint, String> {
        Endpoint::new(said, |name| {
            let found = environment.iter().find(|(known, _)| known.trim() == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn url(said: &str, environment: &[(&str, &str)]) -> String {
        endpoint(&Said { url: said.into(), ..Said::default() }, environment).expect("sound").url
    }

    #[test]
    fn the_path_is_appended_to_a_base() {
        assert_eq!(url("", &[]), "http://localhost:4318/v1/traces");
        assert_eq!(url("http://a:1/", &[]), "http://a:1/v1/traces");
        assert_eq!(url("http://a/api/v1/traces", &[]), "http://a/api/v1/traces");
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://b/otlp");
        assert_eq!(url("", &[base]), "https://b/otlp/v1/traces");
        let whole = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/in");
        assert_eq!(url("", &[base, whole]), "http://c/in");
        assert_eq!(url("http://a", &[base, whole]), "http://a/v1/traces");
    }

    #[test]
    fn the_environment_is_that_of_opentelemetry() {
        let found = endpoint(
            &Said { headers: vec![("X-A".into(), "mine".into())], ..Said::default() },
            &[
                ("OTEL_EXPORTER_OTLP_HEADERS", "x-a=theirs, authorization=Basic%20a%3Db ,"),
                ("OTEL_EXPORTER_OTLP_COMPRESSION", "none"),
                ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "2500"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ],
        );
        let found = found.expect("sound");
        let headers = [("X-A", "mine"), ("authorization", "Basic a=b")];
        assert_eq!(found.headers, headers.map(|(n, v)| (n.to_owned(), v.to_owned())));
        assert_eq!((found.gzip, found.form), (false, Form::Json));
        assert_eq!(found.agent.config().timeouts().global, Some(Duration::from_millis(2500)));
        for wrong in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "nothing"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=b%0Ac"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a b"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/ca.pem"),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "k"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "b:4317"),
        ] {
            assert!(endpoint(&Said::default(), &[wrong]).is_err(), "{wrong:?}");
        }
    }
}
