//! Arrays and structures as one text: `[1,2,3]`, `{a=1,b="x"}`; bytes in hexadecimal: `00ff7f`.
//! A text that reaches its limit is cut and ends in `…`.

use std::fmt::Write as _;

use super::super::metrics::is_byte;
use crate::ctf::schema::Encoding;
use crate::ctf::show::{AsciiSink, IntegerFormat};
use crate::ctf::{Kind, Node, NodeId, Packed, Visitor, decode_string, show};
use crate::events::TextWriter;

/// An integer with its sign.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Integer {
    /// Two's complement.
    pub(crate) bits: u64,
    pub(crate) signed: bool,
}

impl Integer {
    pub(crate) fn wide(self) -> i128 {
        if self.signed { self.bits.cast_signed().into() } else { self.bits.into() }
    }

    /// See [`IntegerFormat::short`].
    #[inline(always)]
    fn short(self, form: IntegerFormat) -> Option<(u64, usize)> {
        if self.signed { form.short_signed(self.bits.cast_signed()) } else { form.short(self.bits) }
    }

    #[inline(always)]
    fn show(self, form: IntegerFormat, out: &mut TextWriter<'_>) {
        if self.signed {
            form.signed(self.bits.cast_signed(), &mut Digits(out))
        } else {
            form.unsigned(self.bits, &mut Digits(out))
        }
    }
}

/// Appends digits to the text of a record.
struct Digits<'w, 'b>(&'w mut TextWriter<'b>);

impl AsciiSink for Digits<'_, '_> {
    #[inline(always)]
    fn chars(&mut self, ascii: [u8; 8], count: usize) {
        self.0.push_ascii(ascii, count);
    }
}

/// State of a text while it is written.
#[derive(Debug, Default)]
pub(crate) struct TextBuilder {
    /// Most bytes of a text.
    pub(crate) limit: usize,
    /// The text was cut.
    pub(crate) cut: bool,
    /// Open arrays and structures.
    pub(crate) depth: u32,
    /// A value precedes on this level: the next one needs a comma.
    follows: bool,
    /// Buffer for formatted values.
    part: String,
}

#[inline]
fn at(nodes: &[Node], id: NodeId) -> Option<&Node> {
    nodes.get(id.index())
}

impl TextBuilder {
    /// Resets the state for the next text.
    pub(crate) fn clear(&mut self) {
        (self.cut, self.depth, self.follows) = (false, 0, false);
    }

    /// Writes comma and member name before a value. `false`: no room is left.
    #[inline]
    fn value(&mut self, nodes: &[Node], id: NodeId, out: &mut TextWriter<'_>) -> bool {
        let room = before(&mut self.follows, self.limit, out);
        self.cut |= !room;
        if room && self.depth > 0 {
            member(nodes, id, out);
        }
        room
    }

    pub(crate) fn integer(
        &mut self,
        nodes: &[Node],
        id: NodeId,
        value: Integer,
        out: &mut TextWriter<'_>,
    ) {
        if self.value(nodes, id, out)
            && let Some(node) = at(nodes, id)
        {
            match node.mappings.as_ref().and_then(|labels| labels.shown(value.wide())) {
                Some(label) => out.push(label),
                None => value.show(IntegerFormat::new(node.kind, node.base), out),
            }
        }
    }

    /// Writes a whole array of numbers.
    #[inline]
    pub(crate) fn packed(
        &mut self,
        nodes: &[Node],
        id: NodeId,
        items: &Packed<'_>,
        out: &mut TextWriter<'_>,
    ) {
        if self.depth > 0 && !self.value(nodes, id, out) {
            return out.push("]");
        }
        match at(nodes, id.next()) {
            Some(node) if is_byte(node) => self.cut |= bytes_text(items.bytes(), self.limit, out),
            Some(node) if node.mappings.is_none() => {
                self.cut |=
                    numbers_text(items, IntegerFormat::new(node.kind, node.base), self.limit, out);
            }
            _ => {
                out.push("[");
                self.follows = false;
                items.each(id.next(), &mut Items { text: self, nodes, out });
                out.push("]");
            }
        }
        self.follows = true;
    }

    pub(crate) fn float(
        &mut self,
        nodes: &[Node],
        id: NodeId,
        value: f64,
        out: &mut TextWriter<'_>,
    ) {
        if self.value(nodes, id, out) {
            self.part.clear();
            let _ = write!(self.part, "{value}");
            out.push(&self.part);
        }
    }

    pub(crate) fn string(
        &mut self,
        nodes: &[Node],
        id: NodeId,
        value: &[u8],
        out: &mut TextWriter<'_>,
    ) {
        if self.value(nodes, id, out) {
            let encoding = if let Some(Kind::String(encoding)) = at(nodes, id).map(|n| n.kind) {
                encoding
            } else {
                Default::default()
            };
            let room = self.limit.saturating_sub(out.len());
            let part = value.get(..room / encoding.unit() * encoding.unit()).unwrap_or(value);
            let shown = decode_string(whole(part, encoding), encoding);
            if self.depth > 0 {
                self.part.clear();
                show::quoted(&shown, &mut self.part);
                out.push(&self.part);
            } else {
                out.push(&shown);
            }
            if part.len() < value.len() {
                self.cut = true;
                out.push("…");
            }
        }
    }

    pub(crate) fn blob(
        &mut self,
        nodes: &[Node],
        id: NodeId,
        value: &[u8],
        out: &mut TextWriter<'_>,
    ) {
        if self.value(nodes, id, out) {
            self.cut |= bytes_text(value, self.limit, out);
        }
    }

    pub(crate) fn open(&mut self, nodes: &[Node], id: NodeId, out: &mut TextWriter<'_>) {
        let shown = self.value(nodes, id, out);
        if let Some(bracket) = bracket(nodes, id, ["[", "{"]).filter(|_| shown) {
            out.push(bracket);
        }
        self.depth += 1;
        self.follows = false;
    }

    pub(crate) fn close(&mut self, nodes: &[Node], id: NodeId, out: &mut TextWriter<'_>) {
        if let Some(bracket) = bracket(nodes, id, ["]", "}"]) {
            out.push(bracket);
        }
        self.depth = self.depth.saturating_sub(1);
        self.follows = true;
    }
}

/// Writes the comma before a value. `false`: no room is left.
#[inline]
fn before(follows: &mut bool, limit: usize, out: &mut TextWriter<'_>) -> bool {
    if out.len() >= limit {
        if !out.ends_with("…") {
            out.push("…");
        }
        return false;
    }
    if std::mem::replace(follows, true) {
        out.push(",");
    }
    true
}

/// Writes the name of a structure's member.
fn member(nodes: &[Node], id: NodeId, out: &mut TextWriter<'_>) {
    let Some(node) = at(nodes, id) else { return };
    if node.parent.and_then(|p| at(nodes, p)).is_some_and(|p| p.kind == Kind::Structure) {
        out.push(&node.name);
        out.push("=");
    }
}

/// The bracket of an array or structure. Variants and optionals have none.
#[inline]
fn bracket(
    nodes: &[Node],
    id: NodeId,
    [array, structure]: [&'static str; 2],
) -> Option<&'static str> {
    match at(nodes, id)?.kind {
        Kind::Array(_) => Some(array),
        Kind::Structure => Some(structure),
        _ => None,
    }
}

/// The bytes without an incomplete character at the end.
fn whole(part: &[u8], encoding: Encoding) -> &[u8] {
    let half = match encoding {
        Encoding::Utf8 => std::str::from_utf8(part)
            .err()
            .filter(|e| e.error_len().is_none())
            .map(|e| part.len() - e.valid_up_to()),
        _ => None,
    };
    half.and_then(|half| part.get(..part.len() - half)).unwrap_or(part)
}

/// Writes a whole array of numbers without labels. `true`: it was cut.
#[inline]
pub(crate) fn numbers_text(
    items: &Packed<'_>,
    form: IntegerFormat,
    limit: usize,
    out: &mut TextWriter<'_>,
) -> bool {
    let full = out.len() >= limit;
    if items.is_empty() || full {
        out.push(if items.is_empty() { "[]" } else { "[…]" });
        return !items.is_empty();
    }
    // Every element has a comma before it. The first comma becomes the bracket.
    let begin = out.len();
    let mut plain = Plain { form, limit, cut: false, out };
    items.each(NodeId::default(), &mut plain);
    let cut = plain.cut;
    out.replace_ascii(begin, b'[');
    out.push("]");
    cut
}

/// Bytes of [`numbers_text`]; `None`: it would be cut.
pub(crate) fn numbers_size(items: &Packed<'_>, form: IntegerFormat, limit: usize) -> Option<usize> {
    // A bracket or comma before each element, and the other bracket.
    let mut count = Count { form, bytes: items.len().max(1) + 1 };
    items.each(NodeId::default(), &mut count);
    (count.bytes <= limit || items.is_empty()).then_some(count.bytes)
}

/// Bytes of [`bytes_text`]; `None`: it would be cut.
pub(crate) const fn bytes_size(bytes: &[u8], limit: usize) -> Option<usize> {
    if bytes.len() <= limit / 2 { Some(2 * bytes.len()) } else { None }
}

/// Counts the bytes of elements of an array of numbers without labels.
struct Count {
    form: IntegerFormat,
    bytes: usize,
}

impl AsciiSink for Count {
    #[inline(always)]
    fn chars(&mut self, _: [u8; 8], count: usize) {
        self.bytes += count;
    }
}

impl<'a> Visitor<'a> for Count {
    #[inline(always)]
    fn unsigned(&mut self, _: NodeId, value: u64) {
        match self.form.short(value) {
            Some((_, count)) => self.bytes += count,
            None => self.form.unsigned(value, self),
        }
    }

    #[inline(always)]
    fn signed(&mut self, _: NodeId, value: i64) {
        match self.form.short_signed(value) {
            Some((_, count)) => self.bytes += count,
            None => self.form.signed(value, self),
        }
    }

    fn float(&mut self, _: NodeId, value: f64) {
        self.bytes += value.to_string().len();
    }

    fn string(&mut self, _: NodeId, _: &'a [u8]) {}
    fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
}

/// Writes bytes as two hexadecimal digits each. `true`: they were cut.
pub(crate) fn bytes_text(bytes: &[u8], limit: usize, out: &mut TextWriter<'_>) -> bool {
    let shown = bytes.get(..limit.saturating_sub(out.len()) / 2).unwrap_or(bytes);
    let (words, rest) = shown.as_chunks::<4>();
    for word in words {
        out.push_ascii(digits(u32::from_le_bytes(*word)), 8);
    }
    for byte in rest {
        out.push_ascii(digits(u32::from(*byte)), 2);
    }
    let cut = shown.len() < bytes.len();
    if cut {
        out.push("…");
    }
    cut
}

/// The eight hexadecimal digits of four bytes, lowest byte first.
#[inline]
fn digits(bytes: u32) -> [u8; 8] {
    // Each byte becomes two bytes, the high half in the lower one.
    let spread = u64::from(bytes);
    let spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    let spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    let halves = (spread >> 4 | spread << 8) & 0x0f0f_0f0f_0f0f_0f0f;
    // 1 where the half is more than nine.
    let letters = (halves + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    (halves + 0x3030_3030_3030_3030 + letters * u64::from(b'a' - b'0' - 10)).to_le_bytes()
}

/// Writes elements of an array of numbers without labels.
struct Plain<'o, 'b> {
    form: IntegerFormat,
    limit: usize,
    cut: bool,
    out: &'o mut TextWriter<'b>,
}

impl Plain<'_, '_> {
    #[inline(always)]
    fn integer(&mut self, value: Integer) {
        let short = if self.out.len() >= self.limit { None } else { value.short(self.form) };
        let Some((chars, count)) = short else { return self.long(value) };
        // Digits and comma fit into one word.
        self.out.push_ascii((chars << 8 | u64::from(b',')).to_le_bytes(), count + 1);
    }

    #[inline(never)]
    fn long(&mut self, value: Integer) {
        if self.begin() {
            value.show(self.form, self.out);
        }
    }

    /// Writes the comma before an element. `false`: no room is left.
    fn begin(&mut self) -> bool {
        let room = before(&mut true, self.limit, self.out);
        self.cut |= !room;
        room
    }
}

impl<'a> Visitor<'a> for Plain<'_, '_> {
    #[inline(always)]
    fn unsigned(&mut self, _: NodeId, bits: u64) {
        self.integer(Integer { bits, signed: false });
    }

    #[inline(always)]
    fn signed(&mut self, _: NodeId, value: i64) {
        self.integer(Integer { bits: value.cast_unsigned(), signed: true });
    }

    fn float(&mut self, _: NodeId, value: f64) {
        if self.begin() {
            self.out.push(&value.to_string());
        }
    }

    fn string(&mut self, _: NodeId, _: &'a [u8]) {}
    fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
}

/// Writes elements of an array of numbers that have labels.
struct Items<'n, 'o, 'b> {
    text: &'n mut TextBuilder,
    nodes: &'n [Node],
    out: &'o mut TextWriter<'b>,
}

impl<'a> Visitor<'a> for Items<'_, '_, '_> {
    fn unsigned(&mut self, id: NodeId, bits: u64) {
        self.text.integer(self.nodes, id, Integer { bits, signed: false }, self.out);
    }

    fn signed(&mut self, id: NodeId, value: i64) {
        self.text.integer(
            self.nodes,
            id,
            Integer { bits: value.cast_unsigned(), signed: true },
            self.out,
        );
    }

    fn float(&mut self, id: NodeId, value: f64) {
        self.text.float(self.nodes, id, value, self.out);
    }

    fn string(&mut self, _: NodeId, _: &'a [u8]) {}
    fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
}

#[cfg(test)]
#[path = "tests/text.rs"]
mod tests;
