//! Items of long events, one at a time: no event is too long to be decoded from a piece of it.

use super::bytes::Cursor;
use super::error::{BadBuffer, Stop};
use super::event::{Counter, Event, Value, Visitor};

/// The section of user counters.
const USER: u64 = 1 << 15;

/// What is left of a long event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// Objects: old and new in turn.
    Moves(u64),
    /// References of a heap object.
    References(u64),
    Roots(u64),
    Counters(u64),
    /// Values, up to an index 0.
    Values,
}

impl List {
    /// Decodes one item. `None`: it was the last one, or there was none.
    #[inline]
    pub(super) fn item(
        self,
        c: &mut Cursor<'_>,
        time: u64,
        v: &mut impl Visitor,
    ) -> Result<Option<Self>, Stop> {
        match self {
            Self::Moves(left @ 2..) => {
                v.event(time, Event::Move { from: c.object()?, to: c.object()? });
                Ok(Some(Self::Moves(left - 2)))
            }
            Self::Moves(1) => c.object().map(|_| None),
            Self::References(left @ 1..) => {
                c.unsigned()?;
                c.object()?;
                Ok(Some(Self::References(left - 1)))
            }
            Self::Roots(left @ 1..) => {
                root(c, time, v)?;
                Ok(Some(Self::Roots(left - 1)))
            }
            Self::Counters(left @ 1..) => {
                v.event(time, Event::Counter(counter(c)?));
                Ok(Some(Self::Counters(left - 1)))
            }
            Self::Values => value(c, time, v),
            Self::Moves(0) | Self::References(0) | Self::Roots(0) | Self::Counters(0) => Ok(None),
        }
    }
}

fn root(c: &mut Cursor<'_>, time: u64, v: &mut impl Visitor) -> Result<(), Stop> {
    let (address, object);
    if c.version >= 15 {
        address = c.pointer()?;
        object = c.object()?;
    } else {
        address = 0;
        object = c.object()?;
        number(c, 13)?;
        c.unsigned()?;
    }
    v.event(time, Event::Root { address, object });
    Ok(())
}

/// A number that is a byte up to this version.
fn number(c: &mut Cursor<'_>, byte_until: u8) -> Result<u64, Stop> {
    if c.version <= byte_until { c.byte().map(u64::from) } else { c.unsigned() }
}

fn counter<'a>(c: &mut Cursor<'a>) -> Result<Counter<'a>, Stop> {
    let section = c.unsigned()?;
    let category = if section == USER { c.text()? } else { b"" };
    let name = c.text()?;
    let kind = number(c, 14)?;
    let (unit, variance) = (number(c, 14)?, number(c, 14)?);
    // One byte has room for none of Mono's numbers.
    let known = c.version > 14;
    let (unit, variance) = (known.then_some(unit), known.then_some(variance));
    Ok(Counter { section, category, name, kind, unit, variance, index: c.unsigned()? })
}

fn value(c: &mut Cursor<'_>, time: u64, v: &mut impl Visitor) -> Result<Option<List>, Stop> {
    let index = c.unsigned()?;
    if index == 0 {
        v.event(time, Event::SampleEnd);
        return Ok(None);
    }
    let kind = number(c, 14)?;
    let value = match kind {
        0 | 2 | 3 | 7 => Value::Signed(c.signed()?),
        1 | 4 => Value::Unsigned(c.unsigned()?),
        5 => Value::Double(c.double()?),
        6 => Value::Text(if c.byte()? == 0 { None } else { Some(c.text()?) }),
        _ => return Err(BadBuffer::UnknownCounterType(kind).into()),
    };
    v.event(time, Event::Value { index, kind, value });
    Ok(Some(List::Values))
}
