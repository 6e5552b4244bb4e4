//! UUIDs.

use std::fmt;

use crate::error::{DeclarationError, malformed};

/// A UUID. Its text is that of RFC 4122: `29826bfe-2410-4c6b-9791-4dc3edd4418f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// The UUID of these bytes, in the order of the text.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, in the order of the text.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Parses the text of a UUID; dashes may be anywhere.
    pub(crate) fn parse(text: &str) -> Result<Self, DeclarationError> {
        let digits: Vec<u8> = text.bytes().filter(|b| *b != b'-').take(33).collect();
        let mut bytes = [0; 16];
        let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let (Some(high), Some(low)) =
                (pair.first().and_then(|b| digit(*b)), pair.get(1).and_then(|b| digit(*b)))
            else {
                return malformed!("{text:?} is no UUID");
            };
            *byte = high << 4 | low;
        }
        if digits.len() == 32 { Ok(Self(bytes)) } else { malformed!("{text:?} is no UUID") }
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, byte) in self.0.iter().enumerate() {
            if matches!(n, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let id = "29826bfe-2410-4c6b-9791-4dc3edd4418f";
        assert_eq!(Uuid::parse(id).unwrap().to_string(), id);
        assert!(Uuid::parse("29826bfe").is_err());
        assert!(Uuid::parse("29826bfe-2410-4c6b-9791-4dc3edd4418g").is_err());
        assert!(Uuid::parse(&id.repeat(2)).is_err());
    }
}
