//! What all receivers by HTTP have in common.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use ureq::Agent;
use ureq::http::{HeaderName, HeaderValue, Uri};
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

use crate::meaning::without_user;

/// Bytes of a file with certificates.
const MOST_PEM: u64 = 1 << 20;

/// A variable of OpenTelemetry; each has a form for traces, which goes first.
pub(crate) fn variable(environment: impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    ["OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"]
        .into_iter()
        .find_map(|of| environment(&format!("{of}{name}")).filter(|text| !text.is_empty()))
}

/// What sends requests, with the certificates that the environment names. `timeout`: for one request.
pub(crate) fn agent(
    timeout: Duration,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Agent, String> {
    let known = |name: &str| variable(&environment, name);
    let mut tls = TlsConfig::builder();
    if let Some(file) = known("CERTIFICATE") {
        tls = tls.root_certs(RootCerts::new_with_certs(&certificates(&file)?));
    }
    match (known("CLIENT_CERTIFICATE"), known("CLIENT_KEY")) {
        (Some(chain), Some(key)) => {
            let private = PrivateKey::from_pem(&pem(&key)?).map_err(|e| format!("{key}: {e}"))?;
            let own = ClientCert::new_with_certs(&certificates(&chain)?, private);
            tls = tls.client_cert(Some(own));
        }
        (None, None) => {}
        _ => {
            let wrong = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY need each other";
            return Err(wrong.into());
        }
    }
    let config = Agent::config_builder()
        .tls_config(tls.build())
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("pcp-apm/", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(config.into())
}

/// That a request can have this URL and these headers.
pub(crate) fn sendable(url: &str, headers: &[(String, String)]) -> Result<(), String> {
    let shown = without_user(url);
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(format!("{shown}: http:// or https:// is needed"));
    }
    url.parse::<Uri>().map_err(|e| format!("{shown}: {e}"))?;
    for (name, value) in headers {
        // What is wrong with a value is not shown: it may be a password.
        HeaderName::try_from(name).map_err(|e| format!("header {name}: {e}"))?;
        let value = HeaderValue::try_from(value).map_err(|e| format!("header {name}: {e}"))?;
        value.to_str().map_err(|_| format!("header {name}: only ASCII can be sent"))?;
    }
    Ok(())
}

fn pem(file: &str) -> Result<Vec<u8>, String> {
    let open = || {
        let mut text = Vec::new();
        fs::File::open(Path::new(file))?.take(MOST_PEM).read_to_end(&mut text)?;
        Ok(text)
    };
    open().map_err(|e: io::Error| format!("{file}: {e}"))
}

fn certificates(file: &str) -> Result<Vec<Certificate<'static>>, String> {
    let text = pem(file)?;
    let found: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        return Err(format!("{file}: no certificate in it"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_sent_is_told_at_the_start() {
        let header = |name: &str, value: &str| [(name.to_owned(), value.to_owned())];
        let sound = header("Authorization", "Bearer x=");
        assert_eq!(sendable("http://user:secret@a:4318/v1", &sound), Ok(()));
        for url in ["a:4318", "http://", "http://a b/", "http://secret:secret@a/\u{e9}\n"] {
            assert!(sendable(url, &[]).is_err_and(|e| !e.contains("secret")), "{url}");
        }
        for (name, value) in [("X-A", "secret\n"), ("X A", "b"), ("X-A", "secret\u{e9}"), ("", "b")]
        {
            let wrong = sendable("http://a", &header(name, value));
            assert!(wrong.is_err_and(|e| !e.contains("secret")), "{name}");
        }
    }

    #[test]
    fn certificates_are_read_at_the_start() {
        let with = |names: &[(&str, &str)]| {
            let agent = agent(Duration::from_secs(1), |name| {
                let found = names.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            });
            agent.map(drop)
        };
        assert_eq!(with(&[]), Ok(()));
        for wrong in ["OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_KEY"] {
            assert!(with(&[(wrong, "/nowhere/ca.pem")]).is_err(), "{wrong}");
        }
    }
}
