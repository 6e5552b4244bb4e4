//! The parts of items that stand alone.

use crate::sources::zorka::wire::body::Frame;
use crate::sources::zorka::wire::error::BodyError;
use crate::sources::zorka::wire::items::{Elements, Items};

/// One or two words of 64 bits.
pub(super) fn words(
    items: &mut Items<'_>,
    is_little: bool,
) -> Result<(u64, Option<u64>), BodyError> {
    let wrong = items.malformed();
    let bytes = items.bytes()?;
    let word = |bytes: &[u8; 8]| {
        if is_little { u64::from_le_bytes(*bytes) } else { u64::from_be_bytes(*bytes) }
    };
    match bytes.as_chunks() {
        ([first], []) => Ok((word(first), None)),
        ([first, second], []) => Ok((word(first), Some(word(second)))),
        _ => Err(wrong),
    }
}

/// The optional rest of a begin.
pub(super) fn span_ids(
    items: &mut Items<'_>,
    mut elements: Elements,
) -> Result<(u64, u64), BodyError> {
    let mut ids = [0; 2];
    for id in &mut ids {
        if items.more(&mut elements)? {
            *id = items.int()?.cast_unsigned();
        }
    }
    items.leave(elements)?;
    let [id, parent] = ids;
    Ok((id, parent))
}

/// An array of `[class, method, file, line]`, or null.
pub(super) fn stack(items: &mut Items<'_>) -> Result<(u32, Option<Frame>), BodyError> {
    if matches!(items.first()?, 0xf6 | 0xf7) {
        items.advance(1);
        return Ok((0, None));
    }
    let (mut frames, mut first) = (0_u32, None);
    let mut elements = items.array()?;
    while items.more(&mut elements)? {
        frames = frames.saturating_add(1);
        if first.is_some() {
            items.skip()?;
            continue;
        }
        let mut frame = items.array()?;
        let mut numbers = [0; 4];
        for number in &mut numbers {
            items.need(&mut frame)?;
            *number = u32::try_from(items.int()?).unwrap_or(0);
        }
        items.leave(frame)?;
        let [class, method, file, line] = numbers;
        first = Some(Frame { class, method, file, line });
    }
    Ok((frames, first))
}
