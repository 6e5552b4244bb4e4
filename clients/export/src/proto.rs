//! Protobuf's binary form, written field by field into one buffer.

/// Fields of messages, one behind the other.
#[derive(Debug, Default, Clone)]
pub struct Proto {
    bytes: Vec<u8>,
}

/// Wire types.
const VARINT: u32 = 0;
const BITS_64: u32 = 1;
const LENGTH: u32 = 2;
const BITS_32: u32 = 5;

impl Proto {
    /// What was written.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What was written.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Bytes that were written.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Forgets what was written; the memory is kept.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Fields that were written before, as they are.
    pub fn fields(&mut self, of: &Self) {
        self.bytes.extend_from_slice(&of.bytes);
    }

    /// Fields that were encoded before, as they are.
    pub fn encoded(&mut self, fields: &[u8]) {
        self.bytes.extend_from_slice(fields);
    }

    /// `uint32`, `uint64`, an enumeration.
    pub fn uint(&mut self, field: u32, value: u64) {
        self.tag(field, VARINT);
        self.varint(value);
    }

    /// `int32`, `int64`: a negative one has ten bytes.
    pub fn int(&mut self, field: u32, value: i64) {
        self.uint(field, value.cast_unsigned());
    }

    /// `bool`.
    pub fn bool(&mut self, field: u32, value: bool) {
        self.uint(field, u64::from(value));
    }

    /// `fixed64`.
    pub fn fixed64(&mut self, field: u32, value: u64) {
        self.tag(field, BITS_64);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// `fixed32`.
    pub fn fixed32(&mut self, field: u32, value: u32) {
        self.tag(field, BITS_32);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// `double`.
    pub fn double(&mut self, field: u32, value: f64) {
        self.fixed64(field, value.to_bits());
    }

    /// `bytes`.
    pub fn bytes(&mut self, field: u32, value: &[u8]) {
        self.tag(field, LENGTH);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    /// `string`.
    pub fn text(&mut self, field: u32, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    /// A message in the message, as `write` writes it.
    pub fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        self.tag(field, LENGTH);
        let start = self.bytes.len();
        write(self);
        // Its length stands before it, in as few bytes as it takes: there they are put last.
        let end = self.bytes.len();
        self.varint((end - start) as u64);
        let length = self.bytes.len() - end;
        if let Some(all) = self.bytes.get_mut(start..) {
            all.rotate_right(length);
        }
    }

    /// Numbers, packed.
    pub fn packed(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        self.message(field, |inner| values.into_iter().for_each(|value| inner.varint(value)));
    }

    fn tag(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.bytes.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.bytes.push(value.to_le_bytes()[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_encoding() {
        let mut out = Proto::default();
        out.uint(1, 150);
        out.text(2, "testing");
        out.int(3, -1);
        out.fixed64(1, 1);
        out.fixed32(16, 0x300);
        out.double(4, 1.0);
        out.packed(6, [3, 270, 86_942]);
        let mut wanted = vec![0x08, 0x96, 0x01, 0x12, 7];
        wanted.extend(b"testing");
        wanted.extend([0x18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        wanted.extend([0x09, 1, 0, 0, 0, 0, 0, 0, 0, 0x85, 1, 0, 3, 0, 0]);
        wanted.extend([0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        wanted.extend([0x32, 6, 3, 0x8e, 2, 0x9e, 0xa7, 5]);
        assert_eq!(out.as_bytes(), wanted);
    }

    #[test]
    fn messages_have_their_length_before_them() {
        for length in [0, 1, 127, 128, 16_383, 16_384] {
            let text = "x".repeat(length);
            let mut out = Proto::default();
            out.message(3, |inner| inner.message(1, |inner| inner.bytes.extend(text.bytes())));
            let mut inner = Proto::default();
            inner.text(1, &text);
            let mut wanted = Proto::default();
            wanted.bytes(3, inner.as_bytes());
            assert_eq!(out.as_bytes(), wanted.as_bytes());
        }
    }
}
