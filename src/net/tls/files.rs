//! The files of `[tls]`.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

use super::TlsFiles;
use super::client::Named;

/// Most bytes of a file: lists of revoked certificates are the longest.
const FILE: u64 = 16 << 20;
/// The permission of users that are neither the owner nor of the group to read.
const OTHERS: u32 = 0o004;

/// What the files are like: those that have changed since are read again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamps(Vec<Option<[i64; 4]>>);

impl Stamps {
    /// Of the files of these keys. One that is not there has none.
    pub(super) fn of(keys: &TlsFiles) -> Self {
        let paths = [&keys.certificate, &keys.key, &keys.client_ca, &keys.crl];
        Self(paths.map(|path| stamp(path)).to_vec())
    }
}

fn stamp(path: &str) -> Option<[i64; 4]> {
    let about = std::fs::metadata(path).ok()?;
    Some([about.ino().cast_signed(), about.size().cast_signed(), about.mtime(), about.mtime_nsec()])
}

/// What connections use, and what the log says about it.
pub(super) struct Loaded {
    pub(super) config: Arc<ServerConfig>,
    pub(super) about: String,
    pub(super) warnings: Vec<String>,
}

/// Reads all files.
pub(super) fn load(keys: &TlsFiles) -> Result<Loaded, String> {
    let TlsFiles { certificate, key, client_ca, names, crl } = keys;
    if certificate.is_empty() || key.is_empty() {
        return Err("tls.certificate and tls.key are needed".to_owned());
    }
    if client_ca.is_empty() && !(names.is_empty() && crl.is_empty()) {
        return Err("tls.names and tls.crl need tls.client_ca".to_owned());
    }
    let chain: Vec<CertificateDer<'static>> = read(certificate, "certificate")?;
    let private = PrivateKeyDer::from_pem_slice(&bytes(key)?)
        .map_err(|e| format!("{key} has no private key: {e}"))?;
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?;
    let builder = if client_ca.is_empty() {
        builder.with_no_client_auth()
    } else {
        let mut roots = RootCertStore::empty();
        for root in read::<CertificateDer<'static>>(client_ca, "certificate")? {
            roots.add(root).map_err(|e| format!("{client_ca}: {e}"))?;
        }
        let mut clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        if !crl.is_empty() {
            clients = clients.with_crls(read::<CertificateRevocationListDer<'static>>(
                crl,
                "list of revoked certificates",
            )?);
        }
        let clients = clients.build().map_err(|e| format!("{client_ca}, {crl}: {e}"))?;
        builder.with_client_cert_verifier(Arc::new(Named::new(clients, names)))
    };
    let mut config = builder
        .with_single_cert(chain, private)
        .map_err(|e| format!("{certificate} and {key} do not fit together: {e}"))?;
    // A session that goes on would not show its client's certificate again.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    let of = if client_ca.is_empty() { "any client" } else { "clients with a certificate" };
    let readable = std::fs::metadata(key).is_ok_and(|about| about.mode() & OTHERS != 0);
    let warnings = readable.then(|| format!("{key} can be read by every user: chmod o-rwx {key}"));
    Ok(Loaded {
        config: Arc::new(config),
        about: format!("certificate {certificate}, for {of}"),
        warnings: warnings.into_iter().collect(),
    })
}

/// All items of one kind in a PEM file, at least one.
fn read<T: PemObject>(path: &str, what: &str) -> Result<Vec<T>, String> {
    let items = T::pem_slice_iter(&bytes(path)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| format!("{path}: {e}"))?;
    if items.is_empty() { Err(format!("{path} has no {what} in PEM")) } else { Ok(items) }
}

/// The bytes of a regular file: a pipe would be waited for.
fn bytes(path: &str) -> Result<Vec<u8>, String> {
    let about = std::fs::metadata(path).map_err(|e| format!("{path}: {e}"))?;
    if !about.is_file() || about.len() > FILE {
        return Err(format!("{path} is no file of at most {FILE} bytes"));
    }
    std::fs::read(path).map_err(|e| format!("{path}: {e}"))
}
