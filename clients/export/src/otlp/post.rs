//! One request.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Error};

use super::answer::{Answer, Verdict};
use super::batch::Form;
use super::endpoint::Endpoint;

/// Bytes of an answer that are read.
const MOST_ANSWER: u64 = 64 << 10;
/// Bytes of a file with certificates.
const MOST_PEM: u64 = 1 << 20;

/// Sends requests to one receiver.
pub(super) struct Post {
    agent: Agent,
    to: Endpoint,
}

impl Post {
    pub(super) fn new(to: Endpoint) -> io::Result<Self> {
        let mut tls = TlsConfig::builder();
        if let Some(file) = &to.authority {
            tls = tls.root_certs(RootCerts::new_with_certs(&certificates(file)?));
        }
        if let Some((chain, key)) = &to.certificate {
            let private = PrivateKey::from_pem(&pem(key)?)
                .map_err(|e| io::Error::other(format!("{key}: {e}")))?;
            tls = tls.client_cert(Some(ClientCert::new_with_certs(&certificates(chain)?, private)));
        }
        let config = Agent::config_builder()
            .tls_config(tls.build())
            .timeout_global(Some(to.timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(format!("pcp-apm/{}", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self { agent: config.into(), to })
    }

    pub(super) fn url(&self) -> &str {
        &self.to.url
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
        let mut request = self.agent.post(&self.to.url).header("Content-Type", kind);
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

/// What is wrong with the network may pass; what is wrong with us does not.
fn failed(error: &Error) -> (Verdict, String) {
    let why = error.to_string();
    match error {
        Error::BadUri(_) | Error::Http(_) | Error::InvalidProxyUrl | Error::TlsRequired => {
            (Verdict::Refused(why.clone()), why)
        }
        _ => (Verdict::Again(None), why),
    }
}

fn pem(file: &str) -> io::Result<Vec<u8>> {
    let open = || {
        let mut text = Vec::new();
        fs::File::open(Path::new(file))?.take(MOST_PEM).read_to_end(&mut text)?;
        Ok(text)
    };
    open().map_err(|e: io::Error| io::Error::new(e.kind(), format!("{file}: {e}")))
}

fn certificates(file: &str) -> io::Result<Vec<Certificate<'static>>> {
    let text = pem(file)?;
    let found: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        return Err(io::Error::other(format!("{file}: no certificate in it")));
    }
    Ok(found)
}
