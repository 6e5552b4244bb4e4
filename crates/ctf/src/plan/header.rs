//! Event record headers: class id and time.
//!
//! Most tracers use one of two layouts, unchanged since 2011, in CTF 1.8 and in CTF 2. They are
//! decoded here without a plan:
//!
//! | layout | short | long, when the id has all bits set |
//! |---|---|---|
//! | compact | 5 bits id, 27 bits clock | 1 byte, u32 id, u64 clock |
//! | large | u16 id, u32 clock | u16, u32 id, u64 clock |

use super::cursor::{Cursor, advance, align_up, byte};
use super::node::{NodeId, Nodes};
use crate::ByteOrder;
use crate::schema::{
    FieldClass, FieldClassKind, Integer, IntegerRange, Mappings, Member, Role, Variant,
};
use crate::visit::Visitor;

/// The layout of the event record headers of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Any other layout, decoded by its plan.
    #[default]
    General,
    Compact(ByteOrder),
    Large(ByteOrder),
}

impl Layout {
    /// Recognises the two layouts by all relevant properties.
    pub(crate) fn of(class: &FieldClass, native: Option<ByteOrder>) -> Self {
        Self::recognise(class, native).unwrap_or_default()
    }

    fn recognise(class: &FieldClass, native: Option<ByteOrder>) -> Option<Self> {
        let [id, v] = class.structure()?.members.as_slice() else { return None };
        let (FieldClassKind::Integer(id_type), FieldClassKind::Variant(variant)) =
            (id.class.kind(), v.class.kind())
        else {
            return None;
        };
        let order = id_type.order.or(native)?;
        let sound = |i: &Integer, bits: u32, align: u64, role: Role| {
            let plain = !i.signed()
                && !i.reversed
                && i.roles.has(role)
                && i.order.or(native) == Some(order);
            plain && i.bits == bits && i.align == align
        };
        let layout = match id_type.bits {
            5 => Self::Compact(order),
            16 => Self::Large(order),
            _ => return None,
        };
        let (id_align, clock_bits, clock_align) =
            if id_type.bits == 5 { (1, 27, 1) } else { (8, 32, 8) };
        let last: i128 = (1 << id_type.bits) - 1;
        let selected = variant.selector.names.last().is_some_and(|n| *n == id.raw);
        if variant.options.len() != 2 {
            return None;
        }
        let mut options = Vec::new();
        for (option, ranges) in
            variant.options.iter().zip(ranges(variant, id_type.mappings.as_deref())?)
        {
            options.push((ranges, integers(option)?));
        }
        let short = |i: &[&Integer]| matches!(i, [clock] if sound(clock, clock_bits, clock_align, Role::Clock));
        let long = |i: &[&Integer]| matches!(i, [id, clock] if sound(id, 32, 8, Role::EventClass) && sound(clock, 64, 8, Role::Clock));
        let has = |range: IntegerRange, fits: &dyn Fn(&[&Integer]) -> bool| {
            options.iter().filter(|(ranges, integers)| *ranges == [range] && fits(integers)).count()
                == 1
        };
        let fits = class.align() == 8
            && sound(id_type, id_type.bits, id_align, Role::EventClass)
            && !id_type.roles.has(Role::Clock)
            && selected
            && has((0, last - 1), &short)
            && has((last, last), &long);
        fits.then_some(layout)
    }

    /// Decodes the header at the next byte. Returns the class id and updates the clock. `None`: the
    /// header is incomplete, or its layout is general.
    #[inline]
    pub(crate) fn next(self, cursor: &mut Cursor<'_>) -> Option<u64> {
        let start = align_up(cursor.bit, 3);
        let bytes = cursor.data.get(byte(start)..)?;
        let header = self.read(bytes, cursor.clock)?;
        cursor.clock = header.clock;
        cursor.bit = start + (bytes.len() - header.rest.len()) as u64 * 8;
        // The content may end within the last byte.
        (cursor.bit <= cursor.end).then_some(header.id)
    }

    /// Decodes the header at the front of `bytes`, with the clock before it. `None`: it is
    /// incomplete, or its layout is general.
    #[inline(always)]
    pub(crate) fn read(self, bytes: &[u8], clock: u64) -> Option<Header<'_>> {
        match self {
            Self::Large(ByteOrder::Little) => {
                large(bytes, clock, u16::from_le_bytes, u32::from_le_bytes, u64::from_le_bytes)
            }
            Self::Large(ByteOrder::Big) => {
                large(bytes, clock, u16::from_be_bytes, u32::from_be_bytes, u64::from_be_bytes)
            }
            Self::Compact(ByteOrder::Little) => {
                let split = |w| (w & 0x1f, w >> 5);
                compact(bytes, clock, split, u32::from_le_bytes, u64::from_le_bytes)
            }
            Self::Compact(ByteOrder::Big) => {
                let split = |w| (w >> 27, w & 0x07ff_ffff);
                compact(bytes, clock, split, u32::from_be_bytes, u64::from_be_bytes)
            }
            Self::General => None,
        }
    }
}

/// A decoded event record header.
pub(crate) struct Header<'a> {
    pub(crate) id: u64,
    /// The clock after it.
    pub(crate) clock: u64,
    /// The bytes after it.
    pub(crate) rest: &'a [u8],
}

#[inline(always)]
fn large(
    bytes: &[u8],
    before: u64,
    u16: impl Fn([u8; 2]) -> u16,
    u32: impl Fn([u8; 4]) -> u32,
    u64: impl Fn([u8; 8]) -> u64,
) -> Option<Header<'_>> {
    let (&[a, b, c, d, e, f], rest) = bytes.split_first_chunk()?;
    let id = u16([a, b]);
    if id != u16::MAX {
        let clock = advance(before, u32([c, d, e, f]).into(), 32);
        return Some(Header { id: id.into(), clock, rest });
    }
    long(bytes.get(2..)?, u32, u64)
}

#[inline(always)]
fn compact(
    bytes: &[u8],
    before: u64,
    split: impl Fn(u32) -> (u32, u32),
    u32: impl Fn([u8; 4]) -> u32,
    u64: impl Fn([u8; 8]) -> u64,
) -> Option<Header<'_>> {
    let (word, rest) = bytes.split_first_chunk()?;
    let (id, clock) = split(u32(*word));
    if id != 0x1f {
        return Some(Header { id: id.into(), clock: advance(before, clock.into(), 27), rest });
    }
    long(bytes.get(1..)?, u32, u64)
}

/// The rest of a long header.
#[inline(always)]
fn long(
    bytes: &[u8],
    u32: impl Fn([u8; 4]) -> u32,
    u64: impl Fn([u8; 8]) -> u64,
) -> Option<Header<'_>> {
    let (id, bytes) = bytes.split_first_chunk()?;
    let (clock, rest) = bytes.split_first_chunk()?;
    Some(Header { id: u32(*id).into(), clock: u64(*clock), rest })
}

/// The ranges of each option.
fn ranges(variant: &Variant, mappings: Option<&Mappings>) -> Option<Vec<Vec<IntegerRange>>> {
    if let Some(ranges) = &variant.ranges {
        return Some(ranges.clone());
    }
    variant.options.iter().map(|o| Some(mappings?.named(&o.raw)?.ranges.clone())).collect()
}

/// The members of an option, if it is a structure of integers.
fn integers(option: &Member) -> Option<Vec<&Integer>> {
    let integer = |f: &'_ Member| matches!(f.class.kind(), FieldClassKind::Integer(_));
    let fields = &option.class.structure()?.members;
    if !fields.iter().all(integer) {
        return None;
    }
    Some(
        fields
            .iter()
            .filter_map(|f| {
                if let FieldClassKind::Integer(i) = f.class.kind() { Some(i) } else { None }
            })
            .collect(),
    )
}

/// Finds the class id while the plan is run.
pub(crate) struct IdVisitor<'n> {
    pub(crate) nodes: &'n Nodes,
    pub(crate) id: Option<u64>,
}

impl<'a> Visitor<'a> for IdVisitor<'_> {
    fn unsigned(&mut self, node: NodeId, value: u64) {
        if self.nodes.get(node).is_some_and(|n| n.roles.has(Role::EventClass)) {
            // The long form has the true id after the short one.
            self.id = Some(value);
        }
    }

    fn signed(&mut self, _: NodeId, _: i64) {}
    fn float(&mut self, _: NodeId, _: f64) {}
    fn string(&mut self, _: NodeId, _: &'a [u8]) {}
    fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
}

#[cfg(test)]
#[path = "header_tests.rs"]
mod tests;
