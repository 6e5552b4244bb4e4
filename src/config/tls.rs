//! `[tls]`

use super::units::{names, path};

crate::section! {
    /// `[tls]`: the certificate of listeners with TLS, and what is asked of clients.
    TlsKeys;

    /// Certificate of the listeners and those that it leads to, in PEM. Read again when it changes, as all files here are.
    #[serde(deserialize_with = "path")]
    certificate: String = String::new(), r#""""#, "an absolute path";

    /// Its private key, in PEM; the PMDA's user must be able to read it, and nobody else should.
    #[serde(deserialize_with = "path")]
    key: String = String::new(), r#""""#, "an absolute path";

    /// Authorities of clients' certificates, in PEM; `""`: clients need none.
    #[serde(deserialize_with = "path")]
    client_ca: String = String::new(), r#""""#, "an absolute path";

    /// Names (DNS names of subjectAltName) of certificates that may connect; `*.` at the beginning stands for one part. `[]`: all.
    #[serde(deserialize_with = "names::<_, 256, 253>")]
    names: Vec<String> = Vec::new(), "[]", "at most 256 names of 253 bytes";

    /// Lists of revoked certificates, in PEM, of every authority that clients' certificates are from.
    #[serde(deserialize_with = "path")]
    crl: String = String::new(), r#""""#, "an absolute path";
}
