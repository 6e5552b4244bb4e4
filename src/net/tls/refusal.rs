//! Why a handshake failed, in words for operators.

use std::io;
use std::time::Duration;

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

use super::client::OtherName;

/// Why a connection has not become one with TLS.
#[derive(Debug, thiserror::Error)]
pub(in crate::net) enum Refused {
    /// No certificate could be read.
    #[error("[tls] has no certificate that can be used: pmdaapm --check says why")]
    NoConfig,
    /// There is no room for a handshake.
    #[error("limits.memory is reached")]
    Full,
    /// The client took too long.
    #[error("its TLS handshake is not finished after {} s", .0.as_secs())]
    Late(Duration),
    /// The handshake failed.
    #[error("{}{}", .0.kind, .0.more)]
    Failed(Words),
    /// The connection ended within the handshake: a look whether the port is open, as well.
    #[error("it ended within the TLS handshake: {0}")]
    Ended(String),
    /// A newer connection has its place.
    #[error("gave way to newer connections: limits.pending is reached")]
    Displaced,
    /// The PMDA stops.
    #[error("the PMDA stops")]
    Stop,
}

impl Refused {
    /// From what the handshake ended with.
    pub(super) fn of(error: &io::Error) -> Self {
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        tls.map_or_else(|| Self::Ended(error.to_string()), |tls| Self::Failed(Words::of(tls)))
    }

    /// The peer, or what is missing here, deserves a line in the log.
    pub(in crate::net) const fn is_fault(&self) -> bool {
        matches!(self, Self::NoConfig | Self::Full | Self::Late(_) | Self::Failed(_))
    }

    /// Faults of one kind share the throttle of their lines.
    pub(in crate::net) const fn kind(&self) -> &'static str {
        match self {
            Self::NoConfig => "no certificate",
            Self::Full => "full",
            Self::Late(_) => "late",
            Self::Failed(words) => words.kind,
            Self::Ended(_) | Self::Displaced | Self::Stop => "",
        }
    }
}

/// A fault in words: what it is, and what is particular to this one.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::net) struct Words {
    pub(super) kind: &'static str,
    pub(super) more: String,
}

impl From<&'static str> for Words {
    fn from(kind: &'static str) -> Self {
        Self { kind, more: String::new() }
    }
}

impl Words {
    fn new(kind: &'static str, more: impl std::fmt::Display) -> Self {
        Self { kind, more: format!(": {more}") }
    }

    /// Of an error of TLS.
    pub(super) fn of(error: &Error) -> Self {
        use AlertDescription as Alert;
        match error {
            Error::NoCertificatesPresented => "it has shown no client certificate".into(),
            Error::InvalidCertificate(why) => Self::of_certificate(why),
            Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
                "what it sends is not TLS; this port needs https, or a port of TLS in the agent's settings".into()
            }
            Error::PeerIncompatible(why) => Self::new(
                "its TLS is older than 1.2 or has nothing else in common",
                format_args!("{why:?}"),
            ),
            Error::AlertReceived(
                alert @ (Alert::UnknownCA
                | Alert::BadCertificate
                | Alert::CertificateUnknown
                | Alert::CertificateExpired),
            ) => Self::new("it does not accept tls.certificate", format_args!("{alert:?}")),
            Error::AlertReceived(alert) => {
                Self::new("it has ended the TLS handshake", format_args!("{alert:?}"))
            }
            other => Self::new("its TLS handshake has failed", other),
        }
    }

    /// What is wrong with the certificate of a client.
    fn of_certificate(why: &CertificateError) -> Self {
        use CertificateError as E;
        match why {
            E::UnknownIssuer => "its certificate is of no authority in tls.client_ca".into(),
            E::Expired | E::ExpiredContext { .. } => "its certificate has expired".into(),
            E::NotValidYet | E::NotValidYetContext { .. } => {
                "its certificate is not yet valid".into()
            }
            E::Revoked => "its certificate is revoked".into(),
            E::UnknownRevocationStatus => {
                "tls.crl has no list of the authority of its certificate".into()
            }
            E::InvalidPurpose | E::InvalidPurposeContext { .. } => {
                "its certificate is not for clients".into()
            }
            E::Other(other) if other.0.is::<OtherName>() => {
                Self::new("its certificate has no name of tls.names", other)
            }
            other => Self::new("its certificate cannot be used", other),
        }
    }
}
