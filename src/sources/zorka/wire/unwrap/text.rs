//! Base64 of either alphabet, with or without padding and line breaks.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::sources::zorka::wire::error::ErrorKind;

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Whether all bytes are of base64 text.
pub(super) fn is_base64(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| {
        byte.is_ascii_alphanumeric() || b"+/-_=".contains(byte) || byte.is_ascii_whitespace()
    })
}

/// Whether all bytes are of any text, so that base64 was probably meant.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

pub(super) fn decode(text: &[u8]) -> Result<Vec<u8>, ErrorKind> {
    // What agents send.
    if let Ok(bytes) = ENGINE.decode(text) {
        return Ok(bytes);
    }
    let text: Vec<u8> = text
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => *byte,
        })
        .collect();
    ENGINE.decode(text).map_err(|_| ErrorKind::Base64)
}
