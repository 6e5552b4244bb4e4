//! Answers of runtimes.

use super::Code;

/// Bytes of a message's header.
pub const HEADER: usize = 20;
const MAGIC: &[u8; 14] = b"DOTNET_IPC_V1\0";
/// Command set of answers.
const SERVER: u8 = 0xFF;
const OK: u8 = 0;
const ERROR: u8 = 0xFF;

/// An answer of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// Done; the command's payload.
    Done(&'a [u8]),
    /// An error of the runtime.
    Refused(Code),
}

/// Bytes that are no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Another protocol.
    #[error("the answer does not begin as DOTNET_IPC_V1 does")]
    Magic,
    /// The size is less than that of the header.
    #[error("the answer's size of {0} bytes is less than its header's")]
    Size(u16),
    /// Neither OK nor an error.
    #[error("the answer has command {0:#04x}.{1:#04x}, neither OK nor an error")]
    Command(u8, u8),
    /// An error without a code.
    #[error("the answer is an error without a code")]
    NoCode,
}

impl<'a> Answer<'a> {
    /// Decodes the answer at the front of `input` and its size in bytes; what follows is the
    /// stream. `None`: more bytes are needed. An answer has at most 65,535 bytes.
    ///
    /// # Errors
    /// [`AnswerError`]: the connection must be closed. Told as early as the bytes allow it.
    pub fn parse(input: &'a [u8]) -> Result<Option<(Self, usize)>, AnswerError> {
        let known = input.len().min(MAGIC.len());
        if input.get(..known) != MAGIC.get(..known) {
            return Err(AnswerError::Magic);
        }
        let Some((&[low, high, set, id, _, _], _)) =
            input.get(MAGIC.len()..).and_then(<[u8]>::split_first_chunk)
        else {
            return Ok(None);
        };
        let size = u16::from_le_bytes([low, high]);
        let length = usize::from(size);
        if length < HEADER {
            return Err(AnswerError::Size(size));
        }
        if set != SERVER || (id != OK && id != ERROR) {
            return Err(AnswerError::Command(set, id));
        }
        let Some(payload) = input.get(HEADER..length) else { return Ok(None) };
        let answer = if id == OK {
            Self::Done(payload)
        } else {
            let code = payload.first_chunk().ok_or(AnswerError::NoCode)?;
            Self::Refused(Code(u32::from_le_bytes(*code)))
        };
        Ok(Some((answer, length)))
    }

    /// The session id of an answer to a collect command or StopTracing.
    #[must_use]
    pub fn session(&self) -> Option<u64> {
        match self {
            Self::Done(payload) => payload.first_chunk().map(|id| u64::from_le_bytes(*id)),
            Self::Refused(_) => None,
        }
    }
}
