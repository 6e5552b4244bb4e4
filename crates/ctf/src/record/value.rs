//! Values of fields.

use std::fmt;

use super::flat::Item;
use crate::plan::{Kind, Node};
use crate::show;

/// The value of a field. Texts, BLOBs and names are borrowed from the record.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'r> {
    /// An unsigned integer, a bit array or a bit map.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// An integer with mappings: its value and the first mapping that contains it, in the order of the
    /// metadata. [`Mappings::of`](crate::schema::Mappings::of) has all names.
    Enumeration(i128, Option<&'r str>),
    /// A boolean.
    Boolean(bool),
    /// A floating-point number.
    Float(f64),
    /// A string; U+FFFD replaces invalid bytes.
    String(&'r str),
    /// A BLOB.
    Blob(&'r [u8]),
    /// An array.
    Array(Elements<'r>),
    /// A structure.
    Structure(Fields<'r>),
    /// An absent optional. (A present one is the value of its field; a variant is that of its
    /// selected option.)
    Absent,
}

/// Items of a record, and what they refer to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct View<'r> {
    pub(super) nodes: &'r [Node],
    pub(super) items: &'r [Item],
    /// Texts and BLOBs.
    pub(super) bytes: &'r [u8],
}

impl<'r> View<'r> {
    /// The values one after the other, those of compound fields within them; none of hidden fields.
    fn values(self) -> impl Iterator<Item = (&'r str, Value<'r>)> {
        let mut rest = self.items;
        std::iter::from_fn(move || {
            loop {
                let (item, after) = rest.split_first()?;
                let node = self.node(item)?;
                let within = if node.kind.is_value() { 0 } else { item.size as usize };
                let (within, after) = after.split_at_checked(within).unwrap_or_default();
                rest = after;
                if !node.hidden {
                    let value = self.value(node, item, Self { items: within, ..self });
                    return Some((&*node.name, value));
                }
            }
        })
    }

    fn node(self, item: &Item) -> Option<&'r Node> {
        self.nodes.get(item.node.index())
    }

    fn value(self, node: &'r Node, item: &Item, within: Self) -> Value<'r> {
        let bytes = || {
            let start = usize::try_from(item.data).unwrap_or(usize::MAX);
            self.bytes.get(start..start.saturating_add(item.size as usize)).unwrap_or_default()
        };
        let named = |value: i128, plain| match &node.mappings {
            Some(names) => Value::Enumeration(value, names.first(value).map(|name| &**name)),
            None => plain,
        };
        match node.kind {
            Kind::Unsigned(_) => named(item.data.into(), Value::Unsigned(item.data)),
            Kind::Signed(_) => {
                let value = item.data.cast_signed();
                named(value.into(), Value::Signed(value))
            }
            Kind::Boolean(_) => Value::Boolean(item.data != 0),
            Kind::BitMap(_) => Value::Unsigned(item.data),
            Kind::Float(_) => Value::Float(f64::from_bits(item.data)),
            Kind::String(_) => Value::String(str::from_utf8(bytes()).unwrap_or_default()),
            Kind::Blob => Value::Blob(bytes()),
            Kind::Structure => Value::Structure(Fields(within)),
            Kind::Array(_) => Value::Array(Elements(within)),
            Kind::Variant | Kind::Optional => {
                within.values().next().map_or(Value::Absent, |(_, value)| value)
            }
        }
    }
}

/// Named values, in the order of decoding. Fields that the decoder has used and that have no
/// further information (sizes, ids, time stamps) are left out.
#[derive(Clone, Copy, Default)]
pub struct Fields<'r>(pub(super) View<'r>);

impl<'r> Fields<'r> {
    /// The value of the first field with this name.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Value<'r>> {
        self.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// The names and values.
    pub fn iter(self) -> impl Iterator<Item = (&'r str, Value<'r>)> {
        self.0.values()
    }

    /// Whether there are no fields.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0.values().next().is_none()
    }
}

impl PartialEq for Fields<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// `{ a = 1, b = "x" }`
impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (n, (name, value)) in self.iter().enumerate() {
            write!(f, "{} {name} = {value}", if n == 0 { "" } else { "," })?;
        }
        f.write_str(" }")
    }
}

impl fmt::Debug for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// The elements of an array.
#[derive(Clone, Copy)]
pub struct Elements<'r>(View<'r>);

impl<'r> Elements<'r> {
    /// The elements in their order.
    pub fn iter(self) -> impl Iterator<Item = Value<'r>> {
        self.0.values().map(|(_, value)| value)
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0.values().next().is_none()
    }
}

impl PartialEq for Elements<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// `[1, 2]`
impl fmt::Display for Elements<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (n, item) in self.iter().enumerate() {
            write!(f, "{}{item}", if n == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Elements<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The notation of [`Fields`]: `"RED" (0)` for enumerations, `[1, 2]` for arrays, hexadecimal
/// digits for BLOBs.
impl fmt::Display for Value<'_> {
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
            Self::Array(items) => write!(f, "{items}"),
            Self::Structure(fields) => write!(f, "{fields}"),
            Self::Absent => f.write_str("none"),
        }
    }
}
