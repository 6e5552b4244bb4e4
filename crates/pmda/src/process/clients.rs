//! The hosts of pmcd's clients.
//!
//! pmcd does not report the address of a client to its agents: for a TCP connection without
//! authentication it passes on nothing (PCP 6.0 to 7.2). It does not report either to which of its
//! connections a context belongs: context numbers are indexes of pmcd's own table, /proc/PMCD/fd is
//! not readable for other users, and an order in time proves nothing. But each client uses one of
//! the existing connections. While all of them come from permitted hosts, every client without
//! credentials is permitted; as soon as one comes from elsewhere, any such client may be using that
//! one. The same holds for connections of pmproxy(1), which come from this host and ask for clients that may be
//! anywhere.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::pmproxy::{End, has_any};

/// `PMCD_PORT` by default.
const PMCD_PORT: u16 = 44321;
/// States of /proc/net/tcp to ignore: TIME_WAIT, LISTEN.
const IDLE_STATES: [&str; 2] = ["06", "0A"];

/// The remote addresses of pmcd's TCP connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clients {
    /// Addresses of this host.
    here: Vec<IpAddr>,
    elsewhere: Vec<IpAddr>,
    /// One from this host may be pmproxy's.
    pmproxy: bool,
    /// The clients' ends of those from this host.
    ends: Vec<End>,
}

impl Clients {
    /// Remote addresses on this host, and on other hosts.
    #[must_use]
    pub const fn new(here: Vec<IpAddr>, elsewhere: Vec<IpAddr>) -> Self {
        Self { here, elsewhere, pmproxy: false, ends: Vec::new() }
    }

    /// The same, with one from this host that may be pmproxy's.
    #[must_use]
    pub const fn with_pmproxy(mut self) -> Self {
        self.pmproxy = true;
        self
    }

    /// pmcd's present connections; `None` if they cannot be determined.
    #[must_use]
    pub fn now() -> Option<Self> {
        let parent = fs::read(format!("/proc/{}/cmdline", std::os::unix::process::parent_id()))
            .unwrap_or_default();
        let parent = String::from_utf8_lossy(&parent).into_owned();
        let arguments: Vec<&str> = parent.split('\0').collect();
        let program = arguments.first().and_then(|p| p.rsplit('/').next()).unwrap_or_default();
        if program == "dbpmda" {
            return Some(Self::default());
        }
        let ports = ports(&arguments);
        let mut seen = Self::default();
        for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
            match fs::read_to_string(table) {
                Ok(text) => seen.count(&text, &ports),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound && table.ends_with('6') => {}
                Err(_) => return None,
            }
        }
        seen.pmproxy = has_any(&std::mem::take(&mut seen.ends));
        // The requesting client has a connection: if none is found, these are not pmcd's ports.
        (!seen.here.is_empty() || !seen.elsewhere.is_empty()).then_some(seen)
    }

    /// Whether all connections come from this host or from hosts that `allowed` accepts.
    pub fn all_here_or(&self, allowed: impl Fn(IpAddr) -> bool) -> bool {
        self.elsewhere.iter().all(|far| allowed(*far))
    }

    /// Whether all connections come from hosts that `allowed` accepts.
    pub fn all_from(&self, allowed: impl Fn(IpAddr) -> bool) -> bool {
        self.here.iter().chain(&self.elsewhere).all(|far| allowed(*far))
    }

    /// Whether one of the connections from this host may be pmproxy's.
    #[must_use]
    pub const fn pmproxy(&self) -> bool {
        self.pmproxy
    }

    /// Remote addresses on other hosts.
    #[must_use]
    pub fn elsewhere(&self) -> &[IpAddr] {
        &self.elsewhere
    }

    /// Adds the connections of a table of /proc/net. A connection is local if its remote address is
    /// loopback or equals its local address.
    fn count(&mut self, table: &str, ports: &[u16]) {
        for line in table.lines().skip(1) {
            let mut words = line.split_ascii_whitespace().skip(1);
            let (Some(here), Some(there), Some(state)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let (Some((here, port)), Some((there, far))) = (address(here), address(there)) else {
                continue;
            };
            if IDLE_STATES.contains(&state) {
                continue;
            }
            if ports.contains(&far) && (there.is_loopback() || here == there) {
                self.ends.extend(end(words));
            }
            if !ports.contains(&port) {
                continue;
            }
            let side = if there.is_loopback() || here == there {
                &mut self.here
            } else {
                &mut self.elsewhere
            };
            if !side.contains(&there) {
                side.push(there);
            }
        }
    }
}

/// User and inode, behind the state, three words of counts and times, before and after which they are. A socket that
/// was closed has no inode.
fn end<'w>(mut words: impl Iterator<Item = &'w str>) -> Option<End> {
    let uid = words.nth(3)?.parse().ok()?;
    let inode = words.nth(1)?.parse().ok()?;
    (inode != 0).then_some(End { uid, inode })
}

/// pmcd's listening ports: from its arguments, else from the environment that it passes on, else
/// the default.
fn ports(arguments: &[&str]) -> Vec<u16> {
    let from_arguments = ports_of(arguments);
    if !from_arguments.is_empty() {
        return from_arguments;
    }
    let listed =
        |text: String| text.split(',').filter_map(|p| p.trim().parse().ok()).collect::<Vec<u16>>();
    std::env::var("PMCD_PORT")
        .map(listed)
        .ok()
        .filter(|p| !p.is_empty())
        .unwrap_or_else(|| vec![PMCD_PORT])
}

fn ports_of(arguments: &[&str]) -> Vec<u16> {
    let mut ports = Vec::new();
    for (i, argument) in arguments.iter().enumerate() {
        let value = match *argument {
            "-p" | "--port" => arguments.get(i + 1).copied().unwrap_or_default(),
            other => other
                .strip_prefix("--port=")
                .or_else(|| other.strip_prefix("-p"))
                .unwrap_or_default(),
        };
        ports.extend(value.split(',').filter_map(|p| p.parse::<u16>().ok()));
    }
    ports
}

/// Parses `0100007F:AD21`: 32-bit words in the host's byte order, printed as numbers.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| Some(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let ip: IpAddr = if ip.len() == 8 {
        Ipv4Addr::from(word(0)?).into()
    } else {
        let words = [word(0)?, word(8)?, word(16)?, word(24)?];
        let bytes: [u8; 16] = words.as_flattened().try_into().ok()?;
        Ipv6Addr::from(bytes).to_canonical()
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue\n";

    fn clients(lines: &str) -> (usize, usize) {
        let mut seen = Clients::default();
        seen.count(&format!("{HEAD}{lines}"), &[44321]);
        (seen.here.len(), seen.elsewhere.len())
    }

    #[test]
    fn only_connections_of_pmcd_count() {
        assert_eq!(address("0100007F:AD21"), Some((Ipv4Addr::LOCALHOST.into(), 44321)));
        assert_eq!(clients("   0: 00000000:AD21 00000000:0000 0A 0:0"), (0, 0), "listening");
        assert_eq!(clients("   1: 0100007F:AD21 0100007F:D2F0 01 0:0"), (1, 0), "loopback");
        assert_eq!(clients("   2: 0501A8C0:AD21 0501A8C0:D2F0 01 0:0"), (1, 0), "to itself");
        assert_eq!(clients("   3: 0501A8C0:0016 0901A8C0:D2F0 01 0:0"), (0, 0), "another port");
        assert_eq!(clients("   4: 0501A8C0:AD21 0901A8C0:D2F0 06 0:0"), (0, 0), "time-wait");
        assert_eq!(clients("   5: 0501A8C0:AD21 0901A8C0:D2F0 01 0:0"), (0, 1));
        let v6 = "0000000000000000FFFF0000";
        assert_eq!(
            clients(&format!("   6: {v6}0100007F:AD21 {v6}0100007F:D2F0 01 0:0")),
            (1, 0),
            "mapped loopback"
        );
        assert_eq!(clients(&format!("   7: {v6}0501A8C0:AD21 {v6}0901A8C0:D2F0 01 0:0")), (0, 1));
        let one = "00000000000000000000000001000000";
        assert_eq!(clients(&format!("   8: {one}:AD21 {one}:D2F0 01 0:0")), (1, 0), "::1");
        assert_eq!(clients("nonsense\n : : :\n 9: x:y z:w 01"), (0, 0));
    }

    #[test]
    fn ends_of_clients_on_this_host_have_a_user_and_an_inode() {
        let mut seen = Clients::default();
        let lines = "\
            1: 0100007F:D2F0 0100007F:AD21 01 00000000:00000000 00:00000000 00000000   998        0 4711 1 0 20 4 0\n\
            2: 0100007F:AD21 0100007F:D2F0 01 00000000:00000000 00:00000000 00000000   997        0 4712 1 0 20 4 0\n\
            3: 0100007F:D2F2 0100007F:AD21 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 0\n\
            4: 0501A8C0:D2F4 0901A8C0:AD21 01 00000000:00000000 00:00000000 00000000   998        0 4713 1 0 20 4 0\n\
            5: 0100007F:D2F6 0100007F:AD21 01 00000000:00000000\n";
        seen.count(&format!("{HEAD}{lines}"), &[44321]);
        assert_eq!(seen.ends, [End { uid: 998, inode: 4711 }]);
    }

    #[test]
    fn ports_are_those_of_the_arguments() {
        assert_eq!(ports_of(&["pmcd", "-A", "-p", "5000,5001", "-U", "pcp"]), [5000, 5001]);
        assert_eq!(ports_of(&["pmcd", "-p7", "--port=8"]), [7, 8]);
        assert!(ports_of(&["pmcd", "-f"]).is_empty());
    }
}
