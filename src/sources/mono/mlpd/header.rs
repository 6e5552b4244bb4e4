//! The header of a stream (docs/protocols/mono-mlpd.md 1).

use super::error::MlpdError;
use crate::read::{Cursor, Order};
use crate::sources::mono::limits;

/// The first bytes of a stream.
pub const MAGIC: [u8; 4] = *b"\x01ZPM";
/// Data versions whose events are known.
const VERSIONS: std::ops::RangeInclusive<u8> = 13..=17;

/// The header of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Version of the header: from 3 on with [`start_ns`](Self::start_ns).
    pub major: u8,
    /// Minor version of the header.
    pub minor: u8,
    /// Data version, 13 to 17.
    pub version: u8,
    /// Bytes of a pointer in the process: 4 or 8.
    pub pointer_size: u8,
    /// When the stream began, in ms since 1970, of whole seconds.
    pub start_ms: u64,
    /// The same in the clock of events (`CLOCK_MONOTONIC`), in ns.
    pub start_ns: Option<u64>,
    /// What two readings of the clock took, in ns.
    pub timer_overhead: u32,
    /// Process id in the process's own pid namespace.
    pub pid: u32,
    /// TCP port for commands; 0: none.
    pub port: u16,
    /// `log:…`.
    pub options: String,
    /// Such as `x86-64`.
    pub architecture: String,
    /// Such as `linux`.
    pub system: String,
}

impl Header {
    /// The header at the start of `bytes` and its length. `None`: it is not whole.
    ///
    /// # Errors
    /// Bytes of no stream that this decoder knows, as soon as they show it.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, MlpdError> {
        let start = bytes.get(..MAGIC.len()).unwrap_or(bytes);
        if !MAGIC.starts_with(start) {
            return Err(MlpdError::Signature);
        }
        if let Some(&version) = bytes.get(6).filter(|version| !VERSIONS.contains(version)) {
            return Err(MlpdError::Version(version));
        }
        Self::read(&mut Cursor::new(bytes, Order::Little)).transpose()
    }

    fn read(c: &mut Cursor<'_>) -> Option<Result<(Self, usize), MlpdError>> {
        c.bytes(MAGIC.len())?;
        let (major, minor, version, pointer_size) = (c.u8()?, c.u8()?, c.u8()?, c.u8()?);
        let start_ms = c.u64()?;
        let start_ns = if major >= 3 { Some(c.u64()?) } else { None };
        let (timer_overhead, flags) = (c.u32()?, c.u32()?);
        if flags != 0 {
            return Some(Err(MlpdError::Flags(flags)));
        }
        let (pid, port) = (c.u32()?, c.u16()?);
        let mut texts = [String::new(), String::new(), String::new()];
        for text in &mut texts {
            let length = c.u32()?;
            if length > limits::MLPD_HEADER_TEXT {
                return Some(Err(MlpdError::HeaderText(length)));
            }
            let bytes = c.bytes(length as usize)?;
            let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            *text = String::from_utf8_lossy(bytes).into_owned();
        }
        let [options, architecture, system] = texts;
        let header = Self {
            major,
            minor,
            version,
            pointer_size,
            start_ms,
            start_ns,
            timer_overhead,
            pid,
            port,
            options,
            architecture,
            system,
        };
        Some(Ok((header, c.position())))
    }
}
