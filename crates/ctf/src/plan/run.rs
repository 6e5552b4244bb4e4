//! Runs the operations over the bytes of a packet.

use std::ops::Range;

use super::cursor::{Cursor, DecodeError, align_up, byte};
use super::emit::Code;
use super::node::{NodeId, Nodes};
use super::op::{BitField, Class, Op};
use super::step;
use crate::bits;
use crate::error::Violation;
use crate::schema::Encoding;
use crate::string;
use crate::visit::{Nobody, Packed, Visitor};

/// Decodes the fields of the code. After an error the cursor is at some position within it.
///
/// # Errors
/// [`DecodeError`]: the packet contradicts its metadata or the specification.
#[inline]
pub(crate) fn run<'a, V: Visitor<'a> + ?Sized>(
    code: &Code,
    nodes: &Nodes,
    cursor: &mut Cursor<'a>,
    visitor: &mut V,
) -> Result<(), DecodeError> {
    match *code.ops.as_slice() {
        // All fields at constant offsets.
        [Op::Block { align, count, bits, first }] => {
            let (_, bytes) = block(code, 0, align, bits, cursor)?;
            fields(code, first, count, bytes, visitor);
            Ok(())
        }
        [] => Ok(()),
        _ => several(code, nodes, cursor, visitor),
    }
}

/// Not a part of its caller, so that both have registers enough.
#[inline(never)]
fn several<'a, V: Visitor<'a> + ?Sized>(
    code: &Code,
    nodes: &Nodes,
    cursor: &mut Cursor<'a>,
    visitor: &mut V,
) -> Result<(), DecodeError> {
    let all = 0..code.ops.len();
    cursor.can_work()?;
    let Some((class, (bytes, slots))) = code.steps.as_ref().zip(cursor.bytes()) else {
        return steps(code, nodes, all, cursor, visitor);
    };
    let Some(rest) = class.read(bytes, slots, visitor) else {
        // Once more, to find out what is wrong.
        return steps(code, nodes, all, cursor, &mut Nobody);
    };
    cursor.moved(bytes.len() - rest.len(), class.spare);
    cursor.order = class.order.or(cursor.order);
    cursor.worked(all.len() as u64);
    Ok(())
}

/// State shared by rare and common operations.
struct Left<'a> {
    /// First bit offset of the block, and its bytes.
    block: u64,
    bytes: &'a [u8],
    /// The last decoded integer, and its number of bits if that is variable.
    last: u64,
    last_bits: u32,
}

fn steps<'a, V: Visitor<'a> + ?Sized>(
    code: &Code,
    nodes: &Nodes,
    range: Range<usize>,
    cursor: &mut Cursor<'a>,
    visitor: &mut V,
) -> Result<(), DecodeError> {
    let (mut start, mut within): (u64, &'a [u8]) = (0, &[]);
    let (mut last, mut last_bits) = (0, 0);
    let ops = code.ops.get(..range.end).unwrap_or_default();
    let (mut at, mut done) = (range.start, 1);
    cursor.can_work()?;
    while let Some(op) = ops.get(at) {
        at += 1;
        done += 1;
        match *op {
            Op::Block { align, count, bits, first } => {
                (start, within) = block(code, at - 1, align, bits, cursor)?;
                last = fields(code, first, count, within, visitor);
            }
            Op::Text { encoding: Encoding::Utf8, node } => {
                let bytes = cursor.rest();
                let Some(length) = string::zero_byte(bytes) else {
                    return Err(DecodeError {
                        bit: cursor.bit,
                        node,
                        violation: Violation::Unterminated,
                    });
                };
                cursor.bit += (length as u64 + 1) * 8;
                visitor.string(node, bytes.get(..length).unwrap_or_default());
            }
            Op::Save { slot } => cursor.keep(slot, last),
            Op::PackedOf { layout, slot, node } => {
                let bytes =
                    cursor.take(node, cursor.slot(slot).saturating_mul(layout.size() as u64))?;
                visitor.packed(node, Packed::new(bytes, layout));
            }
            Op::CharsOf { encoding, slot, node } => {
                let taken = cursor.take(node, cursor.slot(slot))?;
                visitor.string(node, string::until_nul(taken, encoding));
            }
            Op::Repeat { slot, node, end } => {
                let body = at..end as usize;
                at = body.end;
                repeat(code, nodes, (node, cursor.slot(slot), body), cursor, visitor)?;
            }
            Op::Switch { slot, node, choice } => {
                at = switch(code, nodes, (node, slot, choice), cursor, visitor)?
            }
            op => {
                let mut left = Left { block: start, bytes: within, last, last_bits };
                rare(code, op, &mut left, cursor, visitor)?;
                (last, last_bits) = (left.last, left.last_bits);
            }
        }
    }
    cursor.worked(done);
    Ok(())
}

/// Skips a block, all bits of which must be available. Returns its first bit and the bytes from
/// there.
#[inline(always)]
fn block<'a>(
    code: &Code,
    op: usize,
    align: u8,
    bits: u32,
    cursor: &mut Cursor<'a>,
) -> Result<(u64, &'a [u8]), DecodeError> {
    let start = align_up(cursor.bit, align);
    let end = start.saturating_add(bits.into());
    match cursor.data.get(byte(start)..).filter(|_| end <= cursor.end) {
        Some(bytes) => {
            cursor.bit = end;
            Ok((start, bytes))
        }
        None => Err(short_in_block(code, op, start, cursor)),
    }
}

/// Reports the fields at constant offsets of a block. Returns the bits of the last integer.
#[inline(always)]
fn fields<'a, V: Visitor<'a> + ?Sized>(
    code: &Code,
    first: u32,
    count: u16,
    bytes: &'a [u8],
    visitor: &mut V,
) -> u64 {
    let first = first as usize;
    let fields = code.fixed.get(first..first + usize::from(count));
    debug_assert!(fields.is_some(), "fields of a block that are not compiled");
    let Some(fields) = fields else { return 0 };
    let mut last = 0;
    for field in fields {
        let bits = step::field(field, bytes, visitor);
        debug_assert!(bits.is_some(), "field {field:?} beyond its block");
        last = bits.unwrap_or_default();
    }
    last
}

/// Operations that few classes need, kept out of the inner loop.
#[inline(never)]
fn rare<'a, V: Visitor<'a> + ?Sized>(
    code: &Code,
    op: Op,
    left: &mut Left<'a>,
    cursor: &mut Cursor<'a>,
    visitor: &mut V,
) -> Result<(), DecodeError> {
    match op {
        Op::More { count, first } => left.last = fields(code, first, count, left.bytes, visitor),
        Op::Bits { form, at, node } => {
            left.last = bitfield(form, left.block + u64::from(at), node, cursor, visitor)?
        }
        Op::Chars { encoding, at, bytes, node } => {
            let bytes = left
                .bytes
                .get(at as usize..)
                .and_then(|b| b.get(..bytes as usize))
                .unwrap_or_default();
            visitor.string(node, string::until_nul(bytes, encoding));
        }
        Op::Align { align } => {
            let aligned = align_up(cursor.bit, align);
            if aligned > cursor.end {
                return Err(cursor.short(NodeId::new(0), aligned - cursor.bit));
            }
            cursor.bit = aligned;
        }
        Op::Set { slot, value } => cursor.keep(slot, value),
        Op::Clock { bits } => {
            cursor.tick(left.last, if bits == 0 { left.last_bits } else { bits.into() })
        }
        Op::Leb { signed, node } => {
            (left.last, left.last_bits) = leb(cursor, node, signed)?;
            report(
                if signed { Class::Signed } else { Class::Unsigned },
                left.last,
                64,
                node,
                visitor,
            );
        }
        Op::Text { encoding, node } => {
            let bytes = cursor.rest();
            let Some(length) = string::nul(bytes, encoding) else {
                return Err(DecodeError {
                    bit: cursor.bit,
                    node,
                    violation: Violation::Unterminated,
                });
            };
            cursor.bit += (length + encoding.unit()) as u64 * 8;
            visitor.string(node, bytes.get(..length).unwrap_or_default());
        }
        Op::BlobOf { slot, node } => {
            let taken = cursor.take(node, cursor.slot(slot))?;
            visitor.blob(node, taken);
        }
        Op::Open { node, count } => visitor.open(node, count.into()),
        Op::Close { node } => visitor.close(node),
        _ => {}
    }
    Ok(())
}

/// An array that is not packed: its node, number of elements, operations of the element.
#[inline(never)]
fn repeat<'a, V: Visitor<'a> + ?Sized>(
    code: &Code,
    nodes: &Nodes,
    (node, count, body): (NodeId, u64, Range<usize>),
    cursor: &mut Cursor<'a>,
    visitor: &mut V,
) -> Result<(), DecodeError> {
    let need = count.saturating_mul(nodes.get(node.next()).map_or(0, |n| n.least));
    if need > cursor.left() {
        return Err(cursor.short(node, need));
    }
    visitor.open(node, count);
    for _ in 0..count {
        steps(code, nodes, body.clone(), cursor, visitor)?;
    }
    visitor.close(node);
    Ok(())
}

/// A variant or optional: its node, the slot of the selector, the index of the choice. Returns the
/// next operation.
#[inline(never)]
fn switch<'a, V: Visitor<'a> + ?Sized>(
    code: &Code,
    nodes: &Nodes,
    (node, slot, choice): (NodeId, u32, u32),
    cursor: &mut Cursor<'a>,
    visitor: &mut V,
) -> Result<usize, DecodeError> {
    let Some(choice) = code.choices.get(choice as usize) else { return Err(cursor.short(node, 0)) };
    let value = cursor.slot(slot);
    match choice.option(value) {
        Some(option) => {
            debug_assert!((option as usize) < choice.options.len(), "option without code");
            let range = choice.options.get(option as usize).cloned().unwrap_or_default();
            visitor.open(node, if choice.optional { 1 } else { option.into() });
            steps(code, nodes, range, cursor, visitor)?;
        }
        None if choice.optional => visitor.open(node, 0),
        None => {
            return Err(DecodeError { bit: cursor.bit, node, violation: Violation::Option(value) });
        }
    }
    visitor.close(node);
    Ok(choice.after)
}

/// Reports a number at any bit offset. Returns the bits of an integer.
fn bitfield<'a, V: Visitor<'a> + ?Sized>(
    form: BitField,
    bit: u64,
    node: NodeId,
    cursor: &mut Cursor<'a>,
    visitor: &mut V,
) -> Result<u64, DecodeError> {
    let count = u32::from(form.bits);
    if !bit.is_multiple_of(8) && cursor.order.is_some_and(|order| order != form.order) {
        return Err(DecodeError { bit, node, violation: Violation::MixedOrder });
    }
    cursor.order = Some(form.order);
    let value = bits::read(cursor.data, bit, count, form.order)
        .ok_or_else(|| cursor.short(node, count.into()))?;
    // As in yactfr and babeltrace 2.1: the bytes are read in the byte order, then all bits of the
    // value are reversed.
    let value = if form.reversed { bits::reverse(value, count) } else { value };
    Ok(report(form.class, value, count, node, visitor))
}

fn report<'a, V: Visitor<'a> + ?Sized>(
    class: Class,
    value: u64,
    count: u32,
    node: NodeId,
    visitor: &mut V,
) -> u64 {
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

/// Decodes a variable-length integer. Returns the value and its number of bits in the packet.
fn leb(cursor: &mut Cursor<'_>, node: NodeId, signed: bool) -> Result<(u64, u32), DecodeError> {
    let from = cursor.bit;
    let (mut value, mut count) = (0_u64, 0_u32);
    loop {
        let b = cursor.take(node, 1)?.first().copied().unwrap_or_default();
        let part = u64::from(b & 0x7f);
        // The tenth byte has one bit left; the bits above it must repeat the sign.
        let rest = if signed && part & 1 != 0 { 0x7f } else { part & 1 };
        if count > 63 || count == 63 && part != rest {
            return Err(DecodeError { bit: from, node, violation: Violation::Long });
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

/// The error for the first field of a block that extends beyond the content.
#[cold]
fn short_in_block(code: &Code, at: usize, block: u64, cursor: &Cursor<'_>) -> DecodeError {
    let mut ops = code.ops.iter().skip(at);
    let first = ops.next();
    let same_block = first.into_iter().chain(ops.take_while(|op| !matches!(op, Op::Block { .. })));
    let fields = same_block.flat_map(|op| within(code, op));
    let missing =
        fields.into_iter().find(|(from, bits, _)| block.saturating_add(from + bits) > cursor.end);
    let (from, bits, node) = missing.unwrap_or_default();
    let bit = block.saturating_add(from);
    DecodeError {
        bit,
        node,
        violation: Violation::Short { need: bits, left: cursor.end.saturating_sub(bit) },
    }
}

/// Fields of an operation: first bit offset in the block, number of bits, node.
fn within(code: &Code, op: &Op) -> Vec<(u64, u64, NodeId)> {
    match *op {
        Op::Block { count, first, .. } | Op::More { count, first } => {
            let first = first as usize;
            let fields = code.fixed.get(first..first + usize::from(count)).unwrap_or_default();
            fields.iter().map(|f| (u64::from(f.at) * 8, u64::from(f.bytes) * 8, f.node)).collect()
        }
        Op::Bits { form, at, node } => vec![(at.into(), form.bits.into(), node)],
        Op::Chars { at, bytes, node, .. } => vec![(u64::from(at) * 8, u64::from(bytes) * 8, node)],
        _ => Vec::new(),
    }
}
