//! Writes streams as an agent does, for tests.

/// The bytes of a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Bytes {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn u8(self, v: u8) -> Self {
        self.raw(&[v])
    }

    pub(super) fn int(self, v: i32) -> Self {
        self.raw(&v.to_be_bytes())
    }

    pub(super) fn long(self, v: u64) -> Self {
        self.raw(&v.to_be_bytes())
    }

    pub(super) fn varint(mut self, mut v: u32) -> Self {
        while v >= 0x80 {
            self.0.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.u8(v as u8)
    }

    pub(super) fn varlong(mut self, mut v: u64) -> Self {
        for _ in 0..5 {
            if v < 0x80 {
                return self.u8(v as u8);
            }
            self.0.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.varint(v as u32)
    }

    pub(super) fn zigzag(self, v: i32) -> Self {
        self.varint((v << 1 ^ v >> 31).cast_unsigned())
    }

    pub(super) fn units(self, units: &[u16]) -> Self {
        units.iter().fold(self.varint(units.len() as u32), |b, u| b.raw(&u.to_be_bytes()))
    }

    pub(super) fn text(self, s: &str) -> Self {
        self.units(&s.encode_utf16().collect::<Vec<_>>())
    }

    pub(super) fn phrase(self, records: Self) -> Self {
        self.int(records.0.len() as i32).raw(&records.0)
    }
}
