//! Certificates of clients: of an authority that is known, not revoked, and with a name that may connect.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, SignatureScheme,
};
use webpki::EndEntityCert;

/// Most names of a certificate in a line of the log, and bytes of one.
const SHOWN: usize = 4;
const SHOWN_BYTES: usize = 80;

/// A certificate whose names are not in `tls.names`.
#[derive(Debug, thiserror::Error)]
#[error("it has {0}")]
pub(super) struct OtherName(String);

/// Verifies certificates, and their names if there is a list of those.
#[derive(Debug)]
pub(super) struct Named {
    certificates: Arc<dyn ClientCertVerifier>,
    /// In lower case; empty: all.
    names: Vec<String>,
}

impl Named {
    pub(super) fn new(certificates: Arc<dyn ClientCertVerifier>, names: &[String]) -> Self {
        Self { certificates, names: names.iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Whether a certificate with this name may connect.
    pub(super) fn has(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.names.iter().any(|allowed| match allowed.strip_prefix("*.") {
            Some(rest) => name.split_once('.').is_some_and(|(_, of)| of == rest),
            None => *allowed == name,
        })
    }
}

impl ClientCertVerifier for Named {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.certificates.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.certificates.verify_client_cert(end_entity, intermediates, now)?;
        if self.names.is_empty() {
            return Ok(verified);
        }
        let certificate =
            EndEntityCert::try_from(end_entity).map_err(|_| CertificateError::BadEncoding)?;
        if certificate.valid_dns_names().any(|name| self.has(name)) {
            return Ok(verified);
        }
        let shown: Vec<String> = certificate
            .valid_dns_names()
            .take(SHOWN)
            .map(|name| name.chars().take(SHOWN_BYTES).collect())
            .collect();
        let shown = if shown.is_empty() { "no name".to_owned() } else { shown.join(", ") };
        Err(CertificateError::Other(OtherError(Arc::new(OtherName(shown)))).into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.certificates.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.certificates.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.certificates.supported_verify_schemes()
    }
}
