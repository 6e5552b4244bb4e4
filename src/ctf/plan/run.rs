//! Runs the operations over the bytes of a packet.

use super::emit::Code;
use super::load::Load;
use super::node::{NodeId, Nodes};
use super::op::{Class, Form, Op};
use crate::ctf::bits;
use crate::ctf::error::{PacketError, Wrong};
use crate::ctf::limits;
use crate::ctf::schema::Encoding;
use crate::ctf::text;
use crate::ctf::visit::{Packed, Visitor};
use crate::read::Order;
use std::ops::Range;

/// Where decoding of a packet is, and what it must remember.
#[derive(Clone, Debug)]
pub(in crate::ctf) struct Cursor<'a> {
    pub(in crate::ctf) data: &'a [u8],
    /// The next bit.
    pub(in crate::ctf) bit: u64,
    /// Bits of content; never more than there are in `data`.
    pub(in crate::ctf) end: u64,
    /// The stream's clock.
    pub(in crate::ctf) clock: u64,
    /// Values that lengths and selectors look at.
    pub(in crate::ctf) slots: Vec<u64>,
    /// Byte order of the last field that ended between bytes.
    order: Option<Order>,
    /// Operations that may still come.
    work: u64,
}

/// A fault before its field has a name.
#[derive(Clone, Copy, Debug)]
pub(in crate::ctf) struct Fault {
    pub(in crate::ctf) bit: u64,
    pub(in crate::ctf) node: NodeId,
    pub(in crate::ctf) wrong: Wrong,
}

impl Fault {
    #[cold]
    pub(in crate::ctf) fn named(self, nodes: &Nodes) -> PacketError {
        PacketError { bit: self.bit, field: nodes.full_name(self.node), wrong: self.wrong }
    }
}

impl<'a> Cursor<'a> {
    /// At the beginning of a packet whose content may be all of `data`.
    pub(in crate::ctf) fn new(data: &'a [u8], clock: u64, slots: u32) -> Self {
        let end = (data.len() as u64).saturating_mul(8);
        let slots = vec![0; usize::try_from(slots).unwrap_or_default()];
        let work = end.saturating_mul(limits::WORK_FOR_BIT).saturating_add(limits::WORK);
        Self { data, bit: 0, end, clock, slots, order: None, work }
    }

    /// The clock takes an integer of so many bits (0: 64 or what came of a variable length).
    #[inline]
    pub(in crate::ctf) fn tick(&mut self, value: u64, bits: u32) {
        self.clock = advance(self.clock, value, bits);
    }

    fn slot(&self, slot: u32) -> u64 {
        self.slots.get(slot as usize).copied().unwrap_or_default()
    }

    fn keep(&mut self, slot: u32, value: u64) {
        if let Some(kept) = self.slots.get_mut(slot as usize) {
            *kept = value;
        }
    }

    #[inline]
    fn bytes(&self, byte: usize, count: usize) -> Option<&'a [u8]> {
        self.data.get(byte..byte.checked_add(count)?)
    }

    #[inline]
    fn left(&self) -> u64 {
        self.end.saturating_sub(self.bit)
    }

    #[cold]
    fn short(&self, node: NodeId, need: u64) -> Fault {
        Fault { bit: self.bit, node, wrong: Wrong::Short { need, left: self.left() } }
    }

    /// So many bytes from here, which is at a byte.
    fn take(&mut self, node: NodeId, count: u64) -> Result<&'a [u8], Fault> {
        let need = count.saturating_mul(8);
        let taken = if need > self.left() { None } else { self.bytes(byte(self.bit), byte(need)) };
        let taken = taken.ok_or_else(|| self.short(node, need))?;
        self.bit += need;
        Ok(taken)
    }
}

/// A clock after it has taken an integer of so many bits: at most one wrap is assumed (specification, 8).
#[inline]
pub(in crate::ctf) const fn advance(clock: u64, value: u64, bits: u32) -> u64 {
    if bits == 0 || bits >= 64 {
        return value;
    }
    let mask = (1 << bits) - 1;
    let value = value & mask;
    let clock = if value < clock & mask { clock.wrapping_add(mask + 1) } else { clock };
    clock & !mask | value
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "positions are within a slice, so that they fit")]
const fn byte(bit: u64) -> usize {
    (bit / 8) as usize
}

/// Reads what the code describes. On a fault the cursor is somewhere within.
///
/// # Errors
/// [`Fault`]: the packet is not as it should be.
#[inline]
pub(in crate::ctf) fn run<'a, V: Visitor<'a> + ?Sized>(
    code: &Code,
    nodes: &Nodes,
    cursor: &mut Cursor<'a>,
    visitor: &mut V,
) -> Result<(), Fault> {
    steps(code, nodes, 0..code.ops.len(), cursor, visitor)
}

fn steps<'a, V: Visitor<'a> + ?Sized>(
    code: &Code,
    nodes: &Nodes,
    range: Range<usize>,
    cursor: &mut Cursor<'a>,
    visitor: &mut V,
) -> Result<(), Fault> {
    // Of the current block: first bit, first byte.
    let (mut block, mut start) = (0, 0);
    // The integer that was just read, and its bits if that is not known beforehand.
    let (mut last, mut last_bits) = (0, 0);
    let (mut at, mut done) = (range.start, 1);
    if cursor.work == 0 {
        return Err(Fault { bit: cursor.bit, node: 0, wrong: Wrong::Work });
    }
    let lost = |cursor: &Cursor<'a>, node| cursor.short(node, 0);
    while let Some(op) = code.ops.get(at).filter(|_| at < range.end) {
        at += 1;
        done += 1;
        match *op {
            Op::Load { load, at, node } => {
                let from = start + at as usize;
                last = number(load, cursor.data, from, node, visitor).ok_or_else(|| lost(cursor, node))?;
            }
            Op::Block { align, bits } => {
                block = align_up(cursor.bit, align);
                if block.saturating_add(bits.into()) > cursor.end {
                    return Err(short_in_block(code, at, block, cursor));
                }
                start = byte(block);
                cursor.bit = block + u64::from(bits);
            }
            Op::Chars { encoding, at, bytes, node } => {
                let taken = cursor.bytes(start + at as usize, bytes as usize).ok_or_else(|| lost(cursor, node))?;
                visitor.text(node, until_nul(taken, encoding));
            }
            Op::Text { encoding, node } => {
                let bytes = cursor.data.get(byte(cursor.bit)..byte(cursor.end)).unwrap_or_default();
                let Some(length) = text::nul(bytes, encoding) else {
                    return Err(Fault { bit: cursor.bit, node, wrong: Wrong::Unterminated });
                };
                cursor.bit += (length + encoding.unit()) as u64 * 8;
                visitor.text(node, bytes.get(..length).unwrap_or_default());
            }
            Op::Packed { load, at, count, node } => {
                let taken = cursor.bytes(start + at as usize, count as usize * load.size());
                visitor.packed(node, Packed { bytes: taken.ok_or_else(|| lost(cursor, node))?, load });
            }
            Op::PackedOf { load, slot, node } => {
                let bytes = cursor.slot(slot).saturating_mul(load.size() as u64);
                let bytes = cursor.take(node, bytes)?;
                visitor.packed(node, Packed { bytes, load });
            }
            Op::CharsOf { encoding, slot, node } => {
                let taken = cursor.take(node, cursor.slot(slot))?;
                visitor.text(node, until_nul(taken, encoding));
            }
            Op::Save { slot } => cursor.keep(slot, last),
            Op::Set { slot, value } => cursor.keep(slot, value),
            Op::Clock { bits } => cursor.tick(last, if bits == 0 { last_bits } else { bits.into() }),
            Op::Bits { form, at, node } => last = bitfield(form, block + u64::from(at), node, cursor, visitor)?,
            Op::Align { align } => {
                let aligned = align_up(cursor.bit, align);
                if aligned > cursor.end {
                    let node = nodes.list.len().saturating_sub(1);
                    return Err(cursor.short(NodeId::try_from(node).unwrap_or_default(), aligned - cursor.bit));
                }
                cursor.bit = aligned;
            }
            Op::Leb { signed, node } => {
                (last, last_bits) = leb(cursor, node, signed)?;
                tell(if signed { Class::Signed } else { Class::Unsigned }, last, 64, node, visitor);
            }
            Op::Blob { at, bytes, node } => {
                let taken = cursor.bytes(start + at as usize, bytes as usize).ok_or_else(|| lost(cursor, node))?;
                visitor.blob(node, taken);
            }
            Op::BlobOf { slot, node } => {
                let taken = cursor.take(node, cursor.slot(slot))?;
                visitor.blob(node, taken);
            }
            Op::Repeat { slot, node, end } => {
                let (first, count) = (at, cursor.slot(slot));
                at = end as usize;
                let least = nodes.get(node + 1).map_or(0, |n| n.least);
                let need = count.saturating_mul(least);
                if need > cursor.left() {
                    return Err(cursor.short(node, need));
                }
                visitor.open(node, count);
                for _ in 0..count {
                    steps(code, nodes, first..at, cursor, visitor)?;
                }
                visitor.close(node);
            }
            Op::Switch { slot, node, choice } => {
                let Some(choice) = code.choices.get(choice as usize) else { return Err(lost(cursor, node)) };
                at = choice.after;
                let value = cursor.slot(slot);
                match choice.option(value) {
                    Some(option) => {
                        let range = choice.options.get(option as usize).cloned().unwrap_or_default();
                        visitor.open(node, if choice.optional { 1 } else { option.into() });
                        steps(code, nodes, range, cursor, visitor)?;
                    }
                    None if choice.optional => visitor.open(node, 0),
                    None => return Err(Fault { bit: cursor.bit, node, wrong: Wrong::Option(value) }),
                }
                visitor.close(node);
            }
            Op::Open { node, count } => visitor.open(node, count.into()),
            Op::Close { node } => visitor.close(node),
        }
    }
    cursor.work = cursor.work.saturating_sub(done);
    Ok(())
}

#[inline]
const fn align_up(bit: u64, align: u8) -> u64 {
    let mask = (1 << align) - 1;
    bit.saturating_add(mask) & !mask
}

fn until_nul(bytes: &[u8], encoding: Encoding) -> &[u8] {
    text::nul(bytes, encoding).and_then(|n| bytes.get(..n)).unwrap_or(bytes)
}

/// Tells a number of whole bytes; gives an integer's bits.
#[inline]
fn number<'a, V: Visitor<'a> + ?Sized>(load: Load, data: &[u8], from: usize, node: NodeId, visitor: &mut V) -> Option<u64> {
    macro_rules! raw {
        ($ty:ident $from:ident) => {
            $ty::$from(*data.get(from..)?.first_chunk()?)
        };
    }
    macro_rules! unsigned {
        ($ty:ident $from:ident) => {{
            let value = u64::from(raw!($ty $from));
            visitor.unsigned(node, value);
            value
        }};
    }
    macro_rules! signed {
        ($ty:ident $from:ident) => {{
            let value = i64::from(raw!($ty $from));
            visitor.signed(node, value);
            value.cast_unsigned()
        }};
    }
    macro_rules! float {
        ($ty:ident $from:ident) => {{
            visitor.float(node, f64::from(raw!($ty $from)));
            0
        }};
    }
    Some(match load {
        Load::U8 => unsigned!(u8 from_le_bytes),
        Load::I8 => signed!(i8 from_le_bytes),
        Load::U16Le => unsigned!(u16 from_le_bytes),
        Load::U16Be => unsigned!(u16 from_be_bytes),
        Load::I16Le => signed!(i16 from_le_bytes),
        Load::I16Be => signed!(i16 from_be_bytes),
        Load::U32Le => unsigned!(u32 from_le_bytes),
        Load::U32Be => unsigned!(u32 from_be_bytes),
        Load::I32Le => signed!(i32 from_le_bytes),
        Load::I32Be => signed!(i32 from_be_bytes),
        Load::U64Le => unsigned!(u64 from_le_bytes),
        Load::U64Be => unsigned!(u64 from_be_bytes),
        Load::I64Le => signed!(i64 from_le_bytes),
        Load::I64Be => signed!(i64 from_be_bytes),
        Load::F32Le => float!(f32 from_le_bytes),
        Load::F32Be => float!(f32 from_be_bytes),
        Load::F64Le => float!(f64 from_le_bytes),
        Load::F64Be => float!(f64 from_be_bytes),
    })
}

/// Tells a number at any bit; gives an integer's bits.
fn bitfield<'a, V: Visitor<'a> + ?Sized>(
    form: Form,
    bit: u64,
    node: NodeId,
    cursor: &mut Cursor<'a>,
    visitor: &mut V,
) -> Result<u64, Fault> {
    let count = u32::from(form.bits);
    // Which end of its bytes the field's first bit is at.
    let across = match (form.order, form.reversed) {
        (Order::Little, false) | (Order::Big, true) => Order::Little,
        (Order::Big, false) | (Order::Little, true) => Order::Big,
    };
    if !bit.is_multiple_of(8) && cursor.order.is_some_and(|order| order != across) {
        return Err(Fault { bit, node, wrong: Wrong::MixedOrder });
    }
    cursor.order = Some(across);
    let value = bits::read(cursor.data, bit, count, across).ok_or_else(|| cursor.short(node, count.into()))?;
    let value = if form.reversed { bits::reverse(value, count) } else { value };
    Ok(tell(form.class, value, count, node, visitor))
}

fn tell<'a, V: Visitor<'a> + ?Sized>(class: Class, value: u64, count: u32, node: NodeId, visitor: &mut V) -> u64 {
    match class {
        Class::Unsigned => {
            visitor.unsigned(node, value);
            value
        }
        Class::Signed => {
            let value = bits::sign(value, count);
            visitor.signed(node, value);
            value.cast_unsigned()
        }
        Class::Float => {
            visitor.float(node, bits::float(value, count));
            0
        }
    }
}

/// An integer of variable length, and how many bits it has in the packet.
fn leb(cursor: &mut Cursor<'_>, node: NodeId, signed: bool) -> Result<(u64, u32), Fault> {
    let from = cursor.bit;
    let (mut value, mut count) = (0_u64, 0_u32);
    loop {
        let b = cursor.take(node, 1)?.first().copied().unwrap_or_default();
        let part = u64::from(b & 0x7f);
        // The tenth byte has one bit left; what is above it must only repeat the sign.
        let rest = if signed && part & 1 != 0 { 0x7f } else { part & 1 };
        if count > 63 || count == 63 && part != rest {
            return Err(Fault { bit: from, node, wrong: Wrong::Long });
        }
        value |= part << count;
        count += 7;
        if b & 0x80 == 0 {
            break;
        }
    }
    let value = if signed { bits::sign(value, count.min(64)).cast_unsigned() } else { value };
    Ok((value, count))
}

/// Which field of a block it is that is not there.
#[cold]
fn short_in_block(code: &Code, at: usize, block: u64, cursor: &Cursor<'_>) -> Fault {
    let ops = code.ops.iter().skip(at).take_while(|op| !matches!(op, Op::Block { .. }));
    let missing = ops.filter_map(Op::within_block).find(|(from, bits, _)| block.saturating_add(from + bits) > cursor.end);
    let (from, bits, node) = missing.unwrap_or_default();
    let bit = block.saturating_add(from);
    Fault { bit, node, wrong: Wrong::Short { need: bits, left: cursor.end.saturating_sub(bit) } }
}
