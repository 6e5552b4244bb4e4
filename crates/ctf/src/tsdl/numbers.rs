//! Types in braces: `integer { }`, `floating_point { }`, `string { }`, `enum { }` (CTF 1.8, 4.1).

use std::collections::HashSet;
use std::sync::Arc;

use super::lexer::Word;
use super::parser::{Parsed, Parser, Value};
use crate::Order;
use crate::error::{Fault, bounded, malformed};
use crate::limits;
use crate::schema::{Base, Encoding, Float, Integer, Labels, Number, Range, Role, Shape, Type};

/// `le` and its other spellings; `None`: native.
fn byte_order(value: &Value) -> Result<Option<Order>, Fault> {
    match value.text()? {
        "le" => Ok(Some(Order::Little)),
        "be" | "network" => Ok(Some(Order::Big)),
        "native" => Ok(None),
        other => malformed!("byte order {other}"),
    }
}

/// The byte order of the trace, which cannot be native.
pub(super) fn trace_order(value: &Value) -> Result<Order, Fault> {
    byte_order(value)?.map_or_else(|| malformed!("byte order native of a trace"), Ok)
}

fn base(value: &Value) -> Result<Base, Fault> {
    match value {
        Value::Integer(2) => Ok(Base::Binary),
        Value::Integer(8) => Ok(Base::Octal),
        Value::Integer(10) => Ok(Base::Decimal),
        Value::Integer(16) => Ok(Base::Hexadecimal),
        Value::Integer(n) => malformed!("base {n}"),
        Value::Text(text) | Value::Path(text) => match text.as_str() {
            "binary" | "b" => Ok(Base::Binary),
            "octal" | "oct" | "o" => Ok(Base::Octal),
            "decimal" | "dec" | "d" | "i" | "u" => Ok(Base::Decimal),
            "hexadecimal" | "hex" | "x" | "X" | "p" => Ok(Base::Hexadecimal),
            other => malformed!("base {other}"),
        },
    }
}

/// Whether it is text.
fn encoding(value: &Value) -> Result<bool, Fault> {
    match value.text()? {
        "none" => Ok(false),
        "UTF8" | "utf8" | "UTF-8" | "utf-8" | "ASCII" | "ascii" => Ok(true),
        other => malformed!("encoding {other}"),
    }
}

/// `clock.NAME.value`
fn clock(value: &Value) -> Result<Arc<str>, Fault> {
    let path = value.text()?;
    let name = path.strip_prefix("clock.").map(|rest| rest.strip_suffix(".value").unwrap_or(rest));
    name.map_or_else(|| malformed!("map to {path}, not to a clock"), |name| Ok(name.into()))
}

fn bits(value: u64) -> Result<u32, Fault> {
    match u32::try_from(value) {
        Ok(bits) if (1..=64).contains(&bits) => Ok(bits),
        _ => Err(Fault::Unsupported(format!("number of {value} bits"))),
    }
}

impl Parser<'_> {
    /// `{ key = value; ... }`, each key once.
    fn attributes(
        &mut self,
        mut each: impl FnMut(&str, &Value) -> Result<(), Fault>,
    ) -> Parsed<()> {
        self.expect("{")?;
        let mut known: HashSet<String> = HashSet::new();
        while !self.skip("}")? {
            if self.skip(";")? {
                continue;
            }
            let key = self.path()?;
            self.expect("=")?;
            let value = self.value()?;
            self.check(each(&key, &value))?;
            if !known.insert(key) {
                return self.wrong("an attribute a second time");
            }
            self.expect(";")?;
        }
        Ok(())
    }

    pub(super) fn integer_type(&mut self) -> Parsed<Arc<Type>> {
        self.advance()?;
        let (mut integer, mut size, mut align) = (Integer::new(8), None, None);
        self.attributes(|key, value| {
            match key {
                "size" => size = Some(bits(value.unsigned()?)?),
                "align" => align = Some(value.unsigned()?),
                "signed" => {
                    integer.number = if value.truth()? { Number::Signed } else { Number::Unsigned }
                }
                "byte_order" => integer.order = byte_order(value)?,
                "base" => integer.base = base(value)?,
                "encoding" => integer.text = encoding(value)?,
                "map" => integer.clock = Some(clock(value)?),
                // Other tools may add what they like.
                _ => {}
            }
            Ok(())
        })?;
        let Some(size) = size else { return self.wrong("integer without size") };
        if integer.signed() && integer.clock.is_some() {
            return self.wrong("clock of a signed integer");
        }
        integer.align = align.unwrap_or(Integer::new(size).align);
        integer.bits = size;
        if integer.clock.is_some() {
            integer.roles = integer.roles.with(Role::Clock);
        }
        self.check(Type::new(Shape::Integer(integer)))
    }

    pub(super) fn float_type(&mut self) -> Parsed<Arc<Type>> {
        self.advance()?;
        let (mut exponent, mut mantissa, mut align, mut order) = (None, None, None, None);
        self.attributes(|key, value| {
            match key {
                "exp_dig" => exponent = Some(value.unsigned()?),
                "mant_dig" => mantissa = Some(value.unsigned()?),
                "align" => align = Some(value.unsigned()?),
                "byte_order" => order = byte_order(value)?,
                _ => {}
            }
            Ok(())
        })?;
        let bits = match (exponent, mantissa) {
            (Some(8), Some(24)) => 32,
            (Some(11), Some(53)) => 64,
            (Some(5), Some(11)) => 16,
            (Some(e), Some(m)) => {
                return self
                    .check(Err(Fault::Unsupported(format!("floating point of {e} and {m} bits"))));
            }
            _ => return self.wrong("floating point without exp_dig or mant_dig"),
        };
        self.check(Type::new(Shape::Float(Float {
            bits,
            align: align.unwrap_or(8),
            order,
            reversed: false,
        })))
    }

    pub(super) fn string_type(&mut self) -> Parsed<Arc<Type>> {
        self.advance()?;
        if self.at_mark("{") {
            self.attributes(
                |key, value| if key == "encoding" { encoding(value).map(|_| ()) } else { Ok(()) },
            )?;
        }
        self.check(Type::new(Shape::Text(Encoding::Utf8)))
    }

    /// `enum NAME`, `enum NAME : integer { A, B = 1, C = 2 ... 3 }`
    pub(super) fn enumeration(&mut self) -> Parsed<Arc<Type>> {
        self.advance()?;
        let name = self.tag()?;
        let container = if self.skip(":")? {
            self.deeper(Self::specifier)?
        } else {
            super::declare::Specifier::Words("int".into())
        };
        if !self.at_mark("{") {
            return self.known("enum", name);
        }
        let container = self.resolve(&container, 0)?;
        let Shape::Integer(integer) = container.shape() else {
            return self.wrong("enumeration of what is no integer");
        };
        let ranges = self.enumerators()?;
        let labels = self.check(Labels::new(ranges))?;
        let integer = Integer { labels: Some(Arc::new(labels)), ..integer.clone() };
        let ty = self.check(Type::new(Shape::Integer(integer)))?;
        if let Some(name) = name {
            self.define_tag("enum", &name, ty.clone())?;
        }
        Ok(ty)
    }

    fn enumerators(&mut self) -> Parsed<Vec<(Arc<str>, Range)>> {
        self.expect("{")?;
        let mut ranges: Vec<(Arc<str>, Range)> = Vec::new();
        let mut next = 0;
        while !self.skip("}")? {
            let label: Arc<str> = match &self.token.word {
                Word::Name(name) => (*name).into(),
                Word::Text(text) => text.as_str().into(),
                _ => return self.wrong(format!("label expected, not {}", self.shown())),
            };
            self.advance()?;
            let (mut low, mut high) = (next, next);
            if self.skip("=")? {
                low = self.integer()?;
                high = if self.skip("...")? { self.integer()? } else { low };
            }
            if low > high {
                return self.wrong(format!("range from {low} down to {high}"));
            }
            next = high + 1;
            let counted = self.names.declare();
            self.check(counted)?;
            self.check(bounded(
                "ranges of an enumeration",
                ranges.len() as u64 + 1,
                limits::RANGES,
            ))?;
            ranges.push((label, (low, high)));
            if !self.skip(",")? {
                self.expect("}")?;
                break;
            }
        }
        Ok(ranges)
    }
}
