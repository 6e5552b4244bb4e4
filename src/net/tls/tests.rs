//! Names of certificates, and words for faults. Handshakes with real certificates are in qa/143.

use std::sync::Arc;

use rustls::server::NoClientAuth;
use rustls::{AlertDescription, CertificateError as Bad, Error, PeerIncompatible};

use super::client::Named;
use super::refusal::Words;
use super::*;

#[test]
fn names_of_certificates() {
    let named = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Named::new(Arc::new(NoClientAuth), &names)
    };
    let some = named(&["*.Shop.example", "web1"]);
    for (name, is) in [
        ("orders.shop.example", true),
        ("ORDERS.SHOP.EXAMPLE", true),
        ("web1", true),
        ("shop.example", false),
        ("a.b.shop.example", false),
        ("orders.shop.example.evil", false),
        ("web12", false),
        (".web1", false),
        ("", false),
    ] {
        assert_eq!(some.has(name), is, "{name}");
    }
}

#[test]
fn each_fault_has_its_words() {
    let words = |error: Error| Words::of(&error).kind;
    let all = [
        Error::NoCertificatesPresented,
        Bad::UnknownIssuer.into(),
        Bad::Expired.into(),
        Bad::NotValidYet.into(),
        Bad::Revoked.into(),
        Bad::UnknownRevocationStatus.into(),
        Bad::InvalidPurpose.into(),
        Bad::BadEncoding.into(),
        Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType),
        Error::PeerIncompatible(PeerIncompatible::Tls12NotOfferedOrEnabled),
        Error::AlertReceived(AlertDescription::UnknownCA),
        Error::AlertReceived(AlertDescription::HandshakeFailure),
        Error::DecryptError,
    ];
    let mut kinds: Vec<_> = all.into_iter().map(words).collect();
    let count = kinds.len();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), count, "{kinds:?}");
}

#[test]
fn keys_that_are_no_use_are_told() {
    let text = |text: &str| text.to_owned();
    let keys = |certificate, key, names: Vec<String>| TlsFiles {
        certificate: text(certificate),
        key: text(key),
        names,
        ..TlsFiles::default()
    };
    for (keys, why) in [
        (keys("/a", "", Vec::new()), "tls.certificate and tls.key are needed"),
        (keys("/a", "/b", vec![text("*")]), "tls.names and tls.crl need tls.client_ca"),
        (
            keys("/nowhere/a", "/b", Vec::new()),
            "/nowhere/a: No such file or directory (os error 2)",
        ),
        (keys("/dev/zero", "/b", Vec::new()), "/dev/zero is no file of at most 16777216 bytes"),
    ] {
        assert_eq!(Tls::check(&keys).err().as_deref(), Some(why));
    }
}

#[tokio::test]
async fn a_client_waits_for_no_certificate_that_is_not_there() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let _client = std::net::TcpStream::connect(listener.local_addr().expect("bound"));
    let (stream, _) = listener.accept().await.expect("a client");
    let (tls, never) = (Arc::new(Tls::default()), CancellationToken::new());
    let refused = tls.accept(stream, &Arc::default(), &never, &never).await.err();
    assert!(matches!(refused, Some(Refused::NoConfig)), "{refused:?}");
}
