//! Protobuf as it is: fields with numbers. Nothing of the crate's writer is used.

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wire {
    Number(u64),
    Fixed(u64),
    Bytes(Vec<u8>),
}

/// The fields of a message, in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Message(pub(crate) Vec<(u64, Wire)>);

impl Message {
    /// Takes a message apart.
    pub(crate) fn of(mut bytes: &[u8]) -> Option<Self> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes)?;
            let value = match tag & 7 {
                0 => Wire::Number(varint(&mut bytes)?),
                1 => Wire::Fixed(u64::from_le_bytes(bytes.split_off(..8)?.try_into().ok()?)),
                2 => {
                    let length = usize::try_from(varint(&mut bytes)?).ok()?;
                    Wire::Bytes(bytes.split_off(..length)?.to_vec())
                }
                _ => return None,
            };
            fields.push((tag >> 3, value));
        }
        Some(Self(fields))
    }

    /// Puts it together again.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (field, value) in &self.0 {
            match value {
                Wire::Number(number) => {
                    put(&mut out, field << 3);
                    put(&mut out, *number);
                }
                Wire::Fixed(number) => {
                    put(&mut out, field << 3 | 1);
                    out.extend(number.to_le_bytes());
                }
                Wire::Bytes(bytes) => {
                    put(&mut out, field << 3 | 2);
                    put(&mut out, bytes.len() as u64);
                    out.extend(bytes);
                }
            }
        }
        out
    }

    /// All of a field.
    pub(crate) fn all(&self, field: u64) -> impl Iterator<Item = &Wire> {
        self.0.iter().filter(move |(number, _)| *number == field).map(|(_, value)| value)
    }

    /// A field with a message.
    pub(crate) fn message(&self, field: u64) -> Option<Self> {
        self.messages(field).next()
    }

    /// All messages of a field.
    pub(crate) fn messages(&self, field: u64) -> impl Iterator<Item = Self> {
        self.all(field).filter_map(|value| match value {
            Wire::Bytes(bytes) => Self::of(bytes),
            _ => None,
        })
    }

    /// A field with a number.
    pub(crate) fn number(&self, field: u64) -> Option<u64> {
        self.all(field).find_map(|value| match value {
            Wire::Number(number) | Wire::Fixed(number) => Some(*number),
            Wire::Bytes(_) => None,
        })
    }

    /// A field with a text.
    pub(crate) fn text(&self, field: u64) -> Option<String> {
        self.all(field).find_map(|value| match value {
            Wire::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
            _ => None,
        })
    }

    /// Sets the first of a field, or one within a message.
    pub(crate) fn set(&mut self, path: &[u64], value: Wire) {
        let (first, rest) = path.split_first().expect("a path");
        let found = self.0.iter_mut().find(|(field, _)| field == first).expect("a field");
        if rest.is_empty() {
            found.1 = value;
        } else if let Wire::Bytes(bytes) = &mut found.1 {
            let mut inner = Self::of(bytes).expect("a message");
            inner.set(rest, value);
            *bytes = inner.bytes();
        }
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..10 {
        let byte = bytes.split_off_first()?;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(u8::try_from(number & 0x7f).expect("7 bits") | 0x80);
        number >>= 7;
    }
    out.push(u8::try_from(number).expect("7 bits"));
}
