//! The answer to ProcessInfo.

use super::request::InfoCommand;
use crate::sources::dotnet::limits;

/// What a runtime tells of its process. Texts are cut at `limits::TEXT` bytes; empty ones are
/// absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Process id as the process itself sees it.
    pub pid: u64,
    /// Identifies the runtime.
    pub cookie: [u8; 16],
    /// Command line; of a suspended process only the program.
    pub command: String,
    /// `Linux`, `linux-musl`, …
    pub os: String,
    /// `x64`, `arm64`, …
    pub arch: String,
    /// Name of the entry assembly. Of ProcessInfo2 and later.
    pub entry: String,
    /// Version of the runtime: `9.0.7`. Of ProcessInfo2 and later.
    pub version: String,
    /// Runtime identifier: `linux-x64`. Of ProcessInfo3.
    pub rid: String,
}

impl Info {
    /// Decodes the payload of the answer; `None`: it is too short.
    #[must_use]
    pub fn parse(command: InfoCommand, payload: &[u8]) -> Option<Self> {
        let mut rest = payload;
        if command == InfoCommand::Three {
            // The version of the layout: later ones append fields.
            take::<4>(&mut rest)?;
        }
        let mut info = Self {
            pid: u64::from_le_bytes(*take(&mut rest)?),
            cookie: *take(&mut rest)?,
            command: text(&mut rest)?,
            os: text(&mut rest)?,
            arch: text(&mut rest)?,
            ..Self::default()
        };
        if command != InfoCommand::One {
            info.entry = text(&mut rest)?;
            info.version = text(&mut rest)?;
        }
        if command == InfoCommand::Three {
            info.rid = text(&mut rest)?;
        }
        Some(info)
    }

    /// The first number of the version.
    #[must_use]
    pub fn major(&self) -> Option<u32> {
        self.version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (chunk, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(chunk)
}

/// A text: a count of UTF-16 units with the NUL, then the units.
fn text(rest: &mut &[u8]) -> Option<String> {
    let units = usize::try_from(u32::from_le_bytes(*take(rest)?)).ok()?;
    let (bytes, after) = rest.split_at_checked(units.checked_mul(2)?)?;
    *rest = after;
    let (pairs, _) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).take_while(|unit| *unit != 0);
    let mut text = String::new();
    for c in char::decode_utf16(units) {
        let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
        if text.len() + c.len_utf8() > limits::TEXT {
            break;
        }
        // A text of a metric has no control characters.
        text.push(if c.is_control() { ' ' } else { c });
    }
    Some(text)
}
