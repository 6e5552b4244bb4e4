//! UUIDs as text.

use super::error::{Fault, malformed};

/// `29826bfe-2410-4c6b-9791-4dc3edd4418f`
pub(crate) fn parse(text: &str) -> Result<[u8; 16], Fault> {
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
    if digits.len() == 32 { Ok(bytes) } else { malformed!("{text:?} is no UUID") }
}

/// The text of a UUID.
#[must_use]
pub fn text(bytes: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (n, byte) in bytes.iter().enumerate() {
        if matches!(n, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let id = "29826bfe-2410-4c6b-9791-4dc3edd4418f";
        assert_eq!(text(&parse(id).unwrap()), id);
        assert!(
            parse("29826bfe").is_err() && parse("29826bfe-2410-4c6b-9791-4dc3edd4418g").is_err()
        );
        assert!(parse(&id.repeat(2)).is_err());
    }
}
