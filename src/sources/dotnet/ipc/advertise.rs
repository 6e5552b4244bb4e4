//! The message of a runtime that connects to us (docs/protocols/dotnet.md 1).

/// Bytes of the message.
pub const ADVERTISE: usize = 34;

/// A runtime that has connected to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertise {
    /// Identifies the runtime: the same on each of its connections.
    pub cookie: [u8; 16],
    /// Process id as the process itself sees it. Anybody can claim any.
    pub pid: u64,
}

impl Advertise {
    /// Decodes the message; `None`: these bytes are another one.
    #[must_use]
    pub fn parse(bytes: &[u8; ADVERTISE]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let (cookie, rest) = rest.split_first_chunk::<16>()?;
        let (pid, _) = rest.split_first_chunk::<8>()?;
        (magic == b"ADVR_V1\0").then(|| Self { cookie: *cookie, pid: u64::from_le_bytes(*pid) })
    }
}
