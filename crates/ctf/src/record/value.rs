//! Owned values of fields.

use std::fmt;
use std::sync::Arc;

use crate::show;

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// An unsigned integer, a bit array or a bit map.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// An integer with mappings: its value and the first mapping that contains it, in the order of the
    /// metadata. [`Mappings::of`](crate::schema::Mappings::of) has all names.
    Enumeration(i128, Option<Arc<str>>),
    /// A boolean.
    Boolean(bool),
    /// A floating-point number.
    Float(f64),
    /// A string; U+FFFD replaces invalid bytes.
    String(String),
    /// A BLOB.
    Blob(Vec<u8>),
    /// An array.
    Array(Vec<Self>),
    /// A structure.
    Structure(Fields),
    /// An absent optional. (A present one is the value of its field; a variant is that of its
    /// selected option.)
    Absent,
}

/// Named values, in the order of decoding. Fields that the decoder has used and that have no
/// further information (sizes, ids, time stamps) are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(pub(super) Vec<(Arc<str>, Value)>);

impl Fields {
    /// The value of the first field with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// The names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// Whether there are no fields.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `{ a = 1, b = "x" }`
impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (n, (name, value)) in self.iter().enumerate() {
            write!(f, "{} {name} = {value}", if n == 0 { "" } else { "," })?;
        }
        f.write_str(" }")
    }
}

/// The notation of [`Fields`]: `"RED" (0)` for enumerations, `[1, 2]` for arrays, hexadecimal
/// digits for BLOBs.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Signed(value) => write!(f, "{value}"),
            Self::Enumeration(value, Some(name)) => write!(f, "{name:?} ({value})"),
            Self::Enumeration(value, None) => write!(f, "{value}"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Float(value) => {
                let mut text = String::new();
                show::float(*value, &mut text);
                f.write_str(&text)
            }
            Self::String(text) => write!(f, "{text:?}"),
            Self::Blob(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Array(items) => {
                f.write_str("[")?;
                for (n, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if n == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Structure(fields) => write!(f, "{fields}"),
            Self::Absent => f.write_str("none"),
        }
    }
}
