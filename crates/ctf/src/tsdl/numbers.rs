//! Field classes in braces: `integer { }`, `floating_point { }`, `string { }`, `enum { }` (CTF 1.8,
//! 4.1).

use std::collections::HashSet;
use std::sync::Arc;

use super::lexer::Word;
use super::parser::{Parsed, Parser, Value};
use crate::ByteOrder;
use crate::error::{DeclarationError, bounded, malformed};
use crate::limits;
use crate::schema::{
    DisplayBase, Encoding, FieldClass, FieldClassKind, Float, Integer, IntegerKind, IntegerRange,
    Mappings, Role,
};

/// Parses `le` and its synonyms; `None`: native.
fn byte_order(value: &Value) -> Result<Option<ByteOrder>, DeclarationError> {
    match value.text()? {
        "le" => Ok(Some(ByteOrder::Little)),
        "be" | "network" => Ok(Some(ByteOrder::Big)),
        "native" => Ok(None),
        other => malformed!("byte order {other}"),
    }
}

/// Parses the byte order of the trace, which cannot be native.
pub(super) fn trace_order(value: &Value) -> Result<ByteOrder, DeclarationError> {
    byte_order(value)?.map_or_else(|| malformed!("byte order native of a trace"), Ok)
}

fn base(value: &Value) -> Result<DisplayBase, DeclarationError> {
    match value {
        Value::Integer(2) => Ok(DisplayBase::Binary),
        Value::Integer(8) => Ok(DisplayBase::Octal),
        Value::Integer(10) => Ok(DisplayBase::Decimal),
        Value::Integer(16) => Ok(DisplayBase::Hexadecimal),
        Value::Integer(n) => malformed!("base {n}"),
        Value::Text(text) | Value::Path(text) => match text.as_str() {
            "binary" | "b" => Ok(DisplayBase::Binary),
            "octal" | "oct" | "o" => Ok(DisplayBase::Octal),
            "decimal" | "dec" | "d" | "i" | "u" => Ok(DisplayBase::Decimal),
            "hexadecimal" | "hex" | "x" | "X" | "p" => Ok(DisplayBase::Hexadecimal),
            other => malformed!("base {other}"),
        },
    }
}

/// Whether the encoding is that of a text.
fn encoding(value: &Value) -> Result<bool, DeclarationError> {
    match value.text()? {
        "none" => Ok(false),
        "UTF8" | "utf8" | "UTF-8" | "utf-8" | "ASCII" | "ascii" => Ok(true),
        other => malformed!("encoding {other}"),
    }
}

/// `clock.NAME.value`
fn clock(value: &Value) -> Result<Arc<str>, DeclarationError> {
    let path = value.text()?;
    let name = path.strip_prefix("clock.").map(|rest| rest.strip_suffix(".value").unwrap_or(rest));
    name.map_or_else(|| malformed!("map to {path}, not to a clock"), |name| Ok(name.into()))
}

fn bits(value: u64) -> Result<u32, DeclarationError> {
    match u32::try_from(value) {
        Ok(bits) if (1..=64).contains(&bits) => Ok(bits),
        _ => Err(DeclarationError::Unsupported(format!("number of {value} bits"))),
    }
}

impl Parser<'_> {
    /// `{ key = value; ... }`, each key once.
    fn attributes(
        &mut self,
        mut each: impl FnMut(&str, &Value) -> Result<(), DeclarationError>,
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

    pub(super) fn integer_type(&mut self) -> Parsed<Arc<FieldClass>> {
        self.advance()?;
        let (mut integer, mut size, mut align) = (Integer::new(8), None, None);
        self.attributes(|key, value| {
            match key {
                "size" => size = Some(bits(value.unsigned()?)?),
                "align" => align = Some(value.unsigned()?),
                "signed" => {
                    integer.kind =
                        if value.truth()? { IntegerKind::Signed } else { IntegerKind::Unsigned }
                }
                "byte_order" => integer.order = byte_order(value)?,
                "base" => integer.base = base(value)?,
                "encoding" => integer.text = encoding(value)?,
                "map" => integer.clock = Some(clock(value)?),
                // Unknown attributes of other tools are ignored.
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
        self.check(FieldClass::new(FieldClassKind::Integer(integer)))
    }

    pub(super) fn float_type(&mut self) -> Parsed<Arc<FieldClass>> {
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
                return self.check(Err(DeclarationError::Unsupported(format!(
                    "floating point of {e} and {m} bits"
                ))));
            }
            _ => return self.wrong("floating point without exp_dig or mant_dig"),
        };
        self.check(FieldClass::new(FieldClassKind::Float(Float {
            bits,
            align: align.unwrap_or(8),
            order,
            reversed: false,
        })))
    }

    pub(super) fn string_type(&mut self) -> Parsed<Arc<FieldClass>> {
        self.advance()?;
        if self.at_punctuation("{") {
            self.attributes(
                |key, value| if key == "encoding" { encoding(value).map(|_| ()) } else { Ok(()) },
            )?;
        }
        self.check(FieldClass::new(FieldClassKind::NullTerminatedString(Encoding::Utf8)))
    }

    /// `enum NAME`, `enum NAME : integer { A, B = 1, C = 2 ... 3 }`
    pub(super) fn enumeration(&mut self) -> Parsed<Arc<FieldClass>> {
        self.advance()?;
        let name = self.tag()?;
        let container = if self.skip(":")? {
            self.deeper(Self::specifier)?
        } else {
            super::declare::Specifier::Words("int".into())
        };
        if !self.at_punctuation("{") {
            return self.known("enum", name);
        }
        let container = self.resolve(&container, 0)?;
        let FieldClassKind::Integer(integer) = container.kind() else {
            return self.wrong("enumeration of what is no integer");
        };
        let ranges = self.enumerators()?;
        let mappings = self.check(Mappings::new(ranges))?;
        let integer = Integer { mappings: Some(Arc::new(mappings)), ..integer.clone() };
        let class = self.check(FieldClass::new(FieldClassKind::Integer(integer)))?;
        if let Some(name) = name {
            self.define_tag("enum", &name, class.clone())?;
        }
        Ok(class)
    }

    fn enumerators(&mut self) -> Parsed<Vec<(Arc<str>, IntegerRange)>> {
        self.expect("{")?;
        let mut ranges: Vec<(Arc<str>, IntegerRange)> = Vec::new();
        let mut next = 0;
        while !self.skip("}")? {
            let mapping: Arc<str> = match &self.token.word {
                Word::Name(name) => (*name).into(),
                Word::Text(text) => text.as_str().into(),
                _ => return self.wrong(format!("mapping expected, not {}", self.shown())),
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
            ranges.push((mapping, (low, high)));
            if !self.skip(",")? {
                self.expect("}")?;
                break;
            }
        }
        Ok(ranges)
    }
}
