//! Which relay daemon is read under which name of the configuration: two names of one address would shut each
//! other out, because a session has one viewer.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Addresses that were reached, with the name that reads there.
#[derive(Debug, Default)]
pub(super) struct RelayClaims(Mutex<BTreeMap<SocketAddr, String>>);

/// An address is read under one name until this is dropped.
#[derive(Debug)]
pub(super) struct RelayClaim {
    claims: Arc<RelayClaims>,
    address: SocketAddr,
}

impl RelayClaims {
    fn names(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, String>> {
        // Valid after each step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the address that a connection has reached for this name.
    ///
    /// # Errors
    /// The other name that has claimed it.
    pub(super) fn claim(
        self: &Arc<Self>,
        reached: SocketAddr,
        name: &str,
    ) -> Result<RelayClaim, String> {
        // An IPv4 address reached over an IPv6 socket is the same address.
        let address = SocketAddr::new(IpAddr::to_canonical(&reached.ip()), reached.port());
        let mut names = self.names();
        if let Some(other) = names.get(&address) {
            return Err(other.clone());
        }
        names.insert(address, name.to_owned());
        drop(names);
        Ok(RelayClaim { claims: Arc::clone(self), address })
    }
}

impl Drop for RelayClaim {
    fn drop(&mut self) {
        self.claims.names().remove(&self.address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_under_one_name_at_a_time() {
        let claims = Arc::new(RelayClaims::default());
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let first = claims.claim(at("127.0.0.1:5344"), "127.0.0.1:5344").expect("free");
        for same in ["127.0.0.1:5344", "[::ffff:127.0.0.1]:5344"] {
            assert_eq!(
                claims.claim(at(same), "localhost:5344").expect_err("taken"),
                "127.0.0.1:5344"
            );
        }
        let _port = claims.claim(at("127.0.0.1:5345"), "localhost:5345").expect("another port");
        drop(first);
        claims.claim(at("127.0.0.1:5344"), "localhost:5344").expect("free again");
    }
}
