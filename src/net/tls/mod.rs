//! TLS of listeners: certificates that are read again when their files change, clients' certificates and their
//! names, and what a refused client is told to the log as. [`Wire`] is what listeners and drivers see of a connection,
//! plain or not.

mod client;
mod files;
mod refusal;
mod wire;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use self::files::{Stamps, load};
pub(super) use self::refusal::Refused;
pub(super) use self::wire::{Secure, Wire};
use super::ledger::Ledger;
use crate::clock::now;
use crate::confine::aside;
use crate::contract::Held;
use crate::model::Memory;

/// Time for a client to finish its handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Most bytes of a message of a handshake, as rustls has it: they are waited for in memory.
const HELD: usize = 64 << 10;
/// Time between two looks whether the files have changed, in milliseconds. Connections cause them.
const LOOK: u64 = 1000;

/// What listeners with TLS use: `[tls]`. Each but `names` is the path of a file in PEM, or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificate, and those that it leads to.
    pub certificate: String,
    /// Its private key.
    pub key: String,
    /// Authorities of clients' certificates.
    pub client_ca: String,
    /// Names of clients' certificates that may connect; empty: all.
    pub names: Vec<String>,
    /// Lists of revoked certificates.
    pub crl: String,
}

/// A look is under way: files that are waited for hold up one connection, and no further ones.
const LOOKS: u64 = u64::MAX;

/// The certificate of all listeners, and what is asked of clients.
#[derive(Debug, Default)]
pub struct Tls {
    state: Mutex<State>,
    /// Monotonic time of the last look at the files, in milliseconds, or [`LOOKS`].
    looked: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    keys: TlsFiles,
    /// What the files were like when they were last read.
    stamps: Stamps,
    /// What connections use.
    config: Option<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads the files of these keys once, for `--check`. Returns what they are, and what is to be said about them.
    ///
    /// # Errors
    /// Why no connection could be encrypted with them.
    pub fn check(keys: &TlsFiles) -> Result<(String, Vec<String>), String> {
        load(keys).map(|loaded| (loaded.about, loaded.warnings))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the files of these keys, now if they differ from those in use. If they are bad, what is in use stays.
    pub fn set(&self, keys: &TlsFiles) {
        {
            let mut state = self.lock();
            if state.keys == *keys {
                return;
            }
            state.keys = keys.clone();
            state.stamps = Stamps::default();
        }
        self.look();
    }

    /// Reads the files if they have changed since they were last read, good or bad.
    fn look(&self) {
        let (keys, stamps) = {
            let state = self.lock();
            (state.keys.clone(), state.stamps.clone())
        };
        if keys == TlsFiles::default() {
            return;
        }
        let found = Stamps::of(&keys);
        if found == stamps {
            return;
        }
        let loaded = load(&keys);
        let mut state = self.lock();
        if state.keys != keys {
            return;
        }
        state.stamps = found;
        match loaded {
            Ok(loaded) => {
                log::info!("tls: {}", loaded.about);
                loaded.warnings.iter().for_each(|warning| log::warn!("tls: {warning}"));
                state.config = Some(loaded.config);
            }
            Err(why) if state.config.is_some() => {
                log::error!("tls: {why}; what was read before stays in use");
            }
            Err(why) => {
                log::error!("tls: {why}; no connection can be encrypted until that is mended")
            }
        }
    }

    /// What a connection uses that comes now.
    async fn current(self: &Arc<Self>) -> Option<Arc<ServerConfig>> {
        let at = u64::try_from(now().monotonic.as_millis()).unwrap_or(u64::MAX);
        let last = self.looked.load(Relaxed);
        if at.saturating_sub(last) >= LOOK
            && self.looked.compare_exchange(last, LOOKS, Relaxed, Relaxed).is_ok()
        {
            let tls = Arc::clone(self);
            // Files may be on a disk that is slow; others use what is there meanwhile.
            let look = move || {
                tls.look();
                tls.looked.store(at, Relaxed);
            };
            let _ = aside::spawn_blocking(look).await;
        }
        self.lock().config.clone()
    }

    /// Makes the handshake of a connection.
    pub(super) async fn accept(
        self: &Arc<Self>,
        stream: TcpStream,
        memory: &Arc<Memory>,
        displaced: &CancellationToken,
        stop: &CancellationToken,
    ) -> Result<Secure, Refused> {
        let mut ledger = Ledger::new(memory);
        ledger.hold(true, HELD, Held::default()).map_err(|_| Refused::Full)?;
        let handshake = async {
            let config = self.current().await.ok_or(Refused::NoConfig)?;
            let accepted = TlsAcceptor::from(config).accept(stream).await;
            accepted.map(Secure::new).map_err(|e| Refused::of(&e))
        };
        tokio::select! {
            done = timeout(HANDSHAKE, handshake) => done.unwrap_or(Err(Refused::Late(HANDSHAKE))),
            () = displaced.cancelled() => Err(Refused::Displaced),
            () = stop.cancelled() => Err(Refused::Stop),
        }
    }
}

#[cfg(test)]
mod tests;
