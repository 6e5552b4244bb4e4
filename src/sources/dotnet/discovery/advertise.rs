//! What a runtime sends when it connects to our port (docs/protocols/dotnet.md 1).

/// Bytes of the message.
pub(crate) const ADVERTISE: usize = 34;

/// A runtime's message. Anybody can send it: the process id is a label only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Advertise {
    /// Random number of the runtime's life.
    pub cookie: [u8; 16],
    /// Process id as the process sees it, if it can be one.
    pub pid: Option<u32>,
}

impl Advertise {
    /// `None`: this is no message of a runtime.
    pub(crate) fn parse(message: &[u8; ADVERTISE]) -> Option<Self> {
        let (cookie, rest) = message.strip_prefix(b"ADVR_V1\0")?.split_first_chunk::<16>()?;
        let (pid, _) = rest.split_first_chunk::<8>()?;
        Some(Self { cookie: *cookie, pid: u32::try_from(u64::from_le_bytes(*pid)).ok() })
    }

    /// The cookie in hexadecimal digits.
    pub(crate) fn key(&self) -> String {
        self.cookie.iter().map(|b| format!("{b:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages() {
        let mut message = [0; ADVERTISE];
        message[..8].copy_from_slice(b"ADVR_V1\0");
        message[8..24].copy_from_slice(&[0xab; 16]);
        message[24..32].copy_from_slice(&77u64.to_le_bytes());
        let advertise = Advertise::parse(&message).expect("a message");
        assert_eq!((advertise.pid, advertise.key()), (Some(77), "ab".repeat(16)));
        message[31] = 1;
        assert_eq!(Advertise::parse(&message).expect("a message").pid, None);
        message[6] = b'2';
        assert_eq!(Advertise::parse(&message), None);
    }
}
