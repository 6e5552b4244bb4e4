//! The records that nearly all of a body consists of: start and end of the modern local tracer, with
//! a time of 8 bytes and small numbers (docs/protocols/zorka.md 5.2). They are read without the
//! general decoder, which reads everything else, the same items in other forms too.

/// A start: `c3 9f time method`.
pub(super) struct Start {
    pub(super) time: i64,
    pub(super) method: u32,
    /// Bytes of the item.
    pub(super) length: usize,
}

/// An end: `c4 82 time calls ff` or `c4 83 time calls flags ff`.
pub(super) struct End {
    pub(super) time: i64,
    pub(super) calls: u32,
    pub(super) flags: u32,
    /// Bytes of the item and of the break behind it.
    pub(super) length: usize,
}

/// A number of at most 16 bits, and the bytes behind it.
#[inline]
fn small(bytes: &[u8]) -> Option<(u32, &[u8])> {
    match bytes {
        [n @ 0..=0x17, rest @ ..] => Some((u32::from(*n), rest)),
        [0x18, n, rest @ ..] => Some((u32::from(*n), rest)),
        [0x19, a, b, rest @ ..] => Some((u32::from(u16::from_be_bytes([*a, *b])), rest)),
        _ => None,
    }
}

/// The usual start, if `bytes` begin with one.
#[inline]
pub(super) fn start(bytes: &[u8]) -> Option<Start> {
    let (&[0xc3, 0x9f, 0x1b, a, b, c, d, e, f, g, h], rest) = bytes.split_first_chunk()? else {
        return None;
    };
    let (method, rest) = small(rest)?;
    let time = i64::from_be_bytes([a, b, c, d, e, f, g, h]);
    Some(Start { time, method, length: bytes.len() - rest.len() })
}

/// The usual end, if `bytes` begin with one.
#[inline]
pub(super) fn end(bytes: &[u8]) -> Option<End> {
    let (&[0xc4, form @ (0x82 | 0x83), 0x1b, a, b, c, d, e, f, g, h], rest) =
        bytes.split_first_chunk()?
    else {
        return None;
    };
    let (calls, rest) = small(rest)?;
    let (flags, rest) = if form == 0x83 { small(rest)? } else { (0, rest) };
    let [0xff, rest @ ..] = rest else { return None };
    let time = i64::from_be_bytes([a, b, c, d, e, f, g, h]);
    Some(End { time, calls, flags, length: bytes.len() - rest.len() })
}
