//! One event (docs/protocols/mono-mlpd.md 3), and the items of long ones one at a time: no event is
//! too long to be decoded from a piece of it.

use super::cursor::Cursor;
use super::{Act, BadBuffer, Counter, Event, Stop, Value, Visitor};
use crate::heap_size;

/// Sizes of code from here on are rubbish.
const CODE: u32 = 16 << 20;

/// Addresses of the event that is being decoded.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    frames: Vec<u64>,
    ips: Vec<u64>,
}

heap_size!(Addresses { frames, ips });

impl Addresses {
    #[inline]
    fn backtrace(&mut self, c: &mut Cursor<'_>, present: bool) -> Result<&[u64], Stop> {
        self.frames.clear();
        if present {
            c.frames(&mut self.frames)?;
        }
        Ok(&self.frames)
    }
}

/// Decodes one event. The result is its time, and its items if it has a list of them. Nothing is
/// handed over unless the event is whole, up to its list.
#[inline]
pub(super) fn event(
    c: &mut Cursor<'_>,
    before: u64,
    a: &mut Addresses,
    v: &mut impl Visitor,
) -> Result<(u64, Option<List>), Stop> {
    let first = c.byte()?;
    let time = before.wrapping_add(c.unsigned()?);
    let (kind, sub) = (first & 15, first >> 4);
    let mut list = None;
    let event = match (kind, sub) {
        (0, 0 | 1) => Event::Alloc {
            vtable: c.pointer()?,
            object: c.object()?,
            size: c.unsigned()?,
            frames: a.backtrace(c, sub == 1)?,
        },
        (1, 1) => Event::Gc { event: c.byte()?, generation: c.byte()? },
        (1, _) => collection(c, first, a, &mut list)?,
        (2, 0 | 2 | 4) => {
            let act = match sub {
                0 => Act::Name,
                2 => Act::Load,
                _ => Act::Unload,
            };
            metadata(c, act)?
        }
        (3, 1) => Event::Leave { method: c.method()? },
        (3, 2) => Event::Enter { method: c.method()? },
        (3, 3) => Event::ExceptionLeave { method: c.method()? },
        (3, 4) => Event::Method {
            method: c.method()?,
            code: c.pointer()?,
            size: code_size(c.unsigned()?),
            name: c.text()?,
        },
        (4, 0 | 8) => Event::Throw { object: c.object()?, frames: a.backtrace(c, sub == 8)? },
        (4, 1) => Event::Clause {
            kind: c.byte()?,
            index: c.unsigned()?,
            method: c.method()?,
            object: if c.version >= 14 { c.object()? } else { 0 },
        },
        (5, 0 | 8) if c.version >= 14 => Event::Monitor {
            event: c.byte()?,
            object: c.object()?,
            frames: a.backtrace(c, sub == 8)?,
        },
        (5, 1..=3 | 9..=11) if c.version == 13 => Event::Monitor {
            event: sub & 3,
            object: c.object()?,
            frames: a.backtrace(c, sub & 8 != 0)?,
        },
        (6, _) => heap(c, first, &mut list)?,
        (7, 0) => {
            if c.version == 13 {
                c.byte()?;
            }
            let thread = c.pointer()?;
            c.ips(&mut a.ips)?;
            c.frames(&mut a.frames)?;
            Event::Hit { thread, ips: &a.ips, frames: &a.frames }
        }
        (7, _) => sample(c, first, &mut list)?,
        (8, 1) => code_buffer(c)?,
        (9, 0..=3) if c.version <= 15 => coverage(c, sub)?,
        (10, 0) => Event::Sync { kind: c.byte()? },
        (10, 1) if c.version >= 16 => Event::AotId { id: c.text()? },
        _ => return Err(BadBuffer::UnknownEvent(first).into()),
    };
    v.event(time, event);
    Ok((time, list))
}

/// `size` is a C int of the process, widened.
#[expect(clippy::cast_possible_truncation, reason = "the low half is the int")]
fn code_size(size: u64) -> Option<u32> {
    Some(size as u32).filter(|size| *size < CODE)
}

fn collection<'a>(
    c: &mut Cursor<'_>,
    first: u8,
    a: &'a mut Addresses,
    list: &mut Option<List>,
) -> Result<Event<'a>, Stop> {
    Ok(match first >> 4 {
        2 => Event::HeapResize { size: c.unsigned()? },
        3 => {
            let objects = c.count(1)?;
            *list = Some(List::Moves(objects));
            Event::Moves { count: objects / 2 }
        }
        sub @ (4 | 6) => Event::HandleCreated {
            kind: c.unsigned()?,
            handle: c.unsigned()?,
            object: c.object()?,
            frames: a.backtrace(c, sub == 6)?,
        },
        sub @ (5 | 7) => Event::HandleDestroyed {
            kind: c.unsigned()?,
            handle: c.unsigned()?,
            frames: a.backtrace(c, sub == 7)?,
        },
        8 => Event::FinalizersStart,
        9 => Event::FinalizersEnd,
        10 => Event::FinalizeStart { object: c.object()? },
        11 => Event::FinalizeEnd { object: c.object()? },
        _ => return Err(BadBuffer::UnknownEvent(first).into()),
    })
}

fn metadata<'a>(c: &mut Cursor<'a>, act: Act) -> Result<Event<'a>, Stop> {
    let what = c.byte()?;
    let id = c.pointer()?;
    let named = act == Act::Name;
    Ok(match what {
        1 => Event::Class { act, id, image: c.pointer()?, name: c.text()? },
        2 => Event::Image {
            act,
            id,
            name: c.text()?,
            // Unloads have none; readers that expect one lose the event behind it.
            mvid: if c.version >= 16 && act == Act::Load { c.text()? } else { b"" },
        },
        3 => Event::Assembly {
            act,
            id,
            image: if c.version >= 14 { c.pointer()? } else { 0 },
            name: c.text()?,
        },
        4 => Event::Domain { act, id, name: if named { c.text()? } else { b"" } },
        5 => Event::Thread { act, id, name: if named { c.text()? } else { b"" } },
        6 => Event::Context { act, id, domain: c.pointer()? },
        7 if c.version >= 15 => {
            Event::Vtable { act, id, domain: c.pointer()?, class: c.pointer()? }
        }
        _ => return Err(BadBuffer::UnknownMetadata(what).into()),
    })
}

fn heap<'a>(c: &mut Cursor<'a>, first: u8, list: &mut Option<List>) -> Result<Event<'a>, Stop> {
    Ok(match first >> 4 {
        0 => Event::HeapStart,
        1 => Event::HeapEnd,
        2 => {
            let (object, vtable, size) = (c.object()?, c.pointer()?, c.unsigned()?);
            let generation = if c.version >= 16 { c.byte()? } else { 0 };
            let references = c.count(2)?;
            *list = Some(List::References(references));
            Event::HeapObject { object, vtable, size, generation, references }
        }
        3 => {
            let count = c.count(2)?;
            if c.version < 15 {
                c.unsigned()?;
            }
            *list = Some(List::Roots(count));
            Event::Roots { count }
        }
        4 if c.version >= 15 => Event::RootRegister {
            start: c.pointer()?,
            size: c.unsigned()?,
            source: c.byte()?,
            key: c.pointer()?,
            name: c.text()?,
        },
        5 if c.version >= 15 => Event::RootUnregister { start: c.pointer()? },
        _ => return Err(BadBuffer::UnknownEvent(first).into()),
    })
}

fn sample<'a>(c: &mut Cursor<'a>, first: u8, list: &mut Option<List>) -> Result<Event<'a>, Stop> {
    Ok(match first >> 4 {
        1 => Event::NativeSymbol { address: c.pointer()?, size: c.unsigned()?, name: c.text()? },
        2 if c.version <= 15 => Event::NativeBinary {
            address: if c.version == 13 { c.signed()?.cast_unsigned() } else { c.pointer()? },
            offset: c.unsigned()?,
            size: c.unsigned()?,
            name: c.text()?,
        },
        3 => {
            let count = c.count(6)?;
            *list = Some(List::Counters(count));
            Event::Counters { count }
        }
        4 => {
            *list = Some(List::Values);
            Event::Sample
        }
        _ => return Err(BadBuffer::UnknownEvent(first).into()),
    })
}

fn code_buffer<'a>(c: &mut Cursor<'a>) -> Result<Event<'a>, Stop> {
    let kind = c.byte()?;
    // Version 13 has one kind more at the start.
    let kind = if c.version == 13 { kind.wrapping_sub(1) } else { kind };
    Ok(Event::CodeBuffer {
        kind,
        address: c.pointer()?,
        size: c.unsigned()?,
        name: if kind == 5 { c.text()? } else { b"" },
    })
}

fn coverage<'a>(c: &mut Cursor<'a>, sub: u8) -> Result<Event<'a>, Stop> {
    let (texts, numbers) = match sub {
        0 => (3, 3),
        1 => (5, 3),
        2 => (0, 5),
        _ => (2, 3),
    };
    for _ in 0..texts {
        c.text()?;
    }
    for _ in 0..numbers {
        c.unsigned()?;
    }
    Ok(Event::Coverage)
}

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
