//! Addresses of hosts, and networks of them.

use std::net::{IpAddr, SocketAddr};

/// An address, or a network: `10.77.0.1`, `10.0.0.0/8`, `fd00::/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// Length of the network's prefix in bits.
    bits: u32,
}

/// An address as left-aligned bits, and its width in bits.
fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

/// The host of an address with a port, if it is not this one.
#[must_use]
pub fn another_host(address: &str) -> Option<String> {
    let ip = address.parse::<SocketAddr>().ok()?.ip().to_canonical();
    (!ip.is_loopback()).then(|| ip.to_string())
}

impl Network {
    /// Whether an address is in the network. IPv4 addresses within IPv6 count as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let ((own, width), (other, of)) = (bits(self.address), bits(address.to_canonical()));
        width == of && (own ^ other).checked_shr(128 - self.bits).unwrap_or(0) == 0
    }
}

impl std::str::FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = || {
            format!(
                "{text:?} is no address or network, for example \"10.77.0.1\" or \"10.0.0.0/8\""
            )
        };
        let (address, length) =
            text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().map_err(|_| help())?;
        let address = address.to_canonical();
        let width = bits(address).1;
        let length = length.map_or(Ok(width), str::parse).map_err(|_| help())?;
        if length > width || bits(address).0.checked_shl(length).unwrap_or(0) != 0 {
            return Err(format!(
                "{text:?}: a network has at most {width} bits, and zeros behind them"
            ));
        }
        Ok(Self { address, bits: length })
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.bits == bits(self.address).1 {
            self.address.fmt(f)
        } else {
            write!(f, "{}/{}", self.address, self.bits)
        }
    }
}

/// An address to listen on, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listening {
    /// Without encryption.
    Plain(SocketAddr),
    /// With TLS.
    Tls(SocketAddr),
}

impl Listening {
    /// What the keys `listen` and `tls_listen` of a source say, with the key of each.
    #[must_use]
    pub fn of(plain: Option<SocketAddr>, tls: Option<SocketAddr>) -> Vec<(&'static str, Self)> {
        let plain = plain.map(|at| ("listen", Self::Plain(at)));
        plain.into_iter().chain(tls.map(|at| ("tls_listen", Self::Tls(at)))).collect()
    }

    /// Address and port.
    #[must_use]
    pub const fn address(self) -> SocketAddr {
        match self {
            Self::Plain(address) | Self::Tls(address) => address,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_networks() {
        let has = |network: &str, address: &str| {
            let network: Network = network.parse().expect(network);
            assert_eq!(network.to_string().parse(), Ok(network));
            network.contains(address.parse().expect(address))
        };
        assert!(has("10.77.0.1", "10.77.0.1") && !has("10.77.0.1", "10.77.0.2"));
        assert!(
            has("10.0.0.0/8", "10.255.1.2")
                && !has("10.0.0.0/8", "11.0.0.1")
                && has("10.0.0.0/8", "::ffff:10.1.1.1")
        );
        assert!(has("0.0.0.0/0", "1.2.3.4") && !has("0.0.0.0/0", "::1") && has("::/0", "fe80::1"));
        assert!(
            has("fd00::/8", "fd12::1")
                && !has("fd00::/8", "fe80::1")
                && has("::1", "::1")
                && !has("::1", "::2")
        );
        for bad in [
            "",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "10.0.0.0/",
            "host",
            "10.0.0",
            "::1/129",
            "10.0.0.0/-1",
        ] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }
}
