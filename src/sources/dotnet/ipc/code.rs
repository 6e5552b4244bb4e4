//! Error codes of runtimes.

use std::fmt;

/// The HRESULT of an answer that is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub u32);

impl Code {
    /// The request is not what its command wants.
    pub const BAD_ENCODING: Self = Self(0x8013_1384);
    /// The runtime is older than the command.
    pub const UNKNOWN_COMMAND: Self = Self(0x8013_1385);
    /// Another protocol.
    pub const UNKNOWN_MAGIC: Self = Self(0x8013_1386);
    /// Not in this runtime.
    pub const NOT_SUPPORTED: Self = Self(0x8013_1515);
    /// Of a collect command: 64 sessions are open.
    pub const FAIL: Self = Self(0x8000_4005);
    /// Too early in the start of the process.
    pub const NOT_YET_AVAILABLE: Self = Self(0x8013_135B);
    /// Too early in the start of the process.
    pub const RUNTIME_UNINITIALIZED: Self = Self(0x8013_1371);
    /// An argument is out of range.
    pub const INVALID_ARGUMENT: Self = Self(0x8007_0057);
    /// A buffer is too small.
    pub const INSUFFICIENT_BUFFER: Self = Self(0x8007_007A);
    /// No such variable.
    pub const NO_VARIABLE: Self = Self(0x8000_00CB);

    /// The code's name in the runtime's sources, without its prefix.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BAD_ENCODING => "BAD_ENCODING",
            Self::UNKNOWN_COMMAND => "UNKNOWN_COMMAND",
            Self::UNKNOWN_MAGIC => "UNKNOWN_MAGIC",
            Self::NOT_SUPPORTED => "NOTSUPPORTED",
            Self::FAIL => "FAIL",
            Self::NOT_YET_AVAILABLE => "NOT_YET_AVAILABLE",
            Self::RUNTIME_UNINITIALIZED => "RUNTIME_UNINITIALIZED",
            Self::INVALID_ARGUMENT => "INVALIDARG",
            Self::INSUFFICIENT_BUFFER => "INSUFFICIENT_BUFFER",
            Self::NO_VARIABLE => "ENVVAR_NOT_FOUND",
            _ => "error",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#010x})", self.name(), self.0)
    }
}
