//! The metric of a field's parameter, and the line that restores it after a restart.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::model::{MetricSpec, Semantics, Units, ValueType, component};
use crate::sources::dotnet::metrics::{FIELDS, PARAMS};
use crate::sources::dotnet::wire::nettrace::FieldType;

/// What a field is shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Shape {
    /// 1 is true.
    Bool,
    I32,
    U32,
    I64,
    U64,
    F64,
    /// A text, a character.
    Text,
    Guid,
    Decimal,
    /// `2026-01-02T03:04:05.678000000Z`.
    Time,
    /// `{name=value,...}`.
    Object,
    /// `[value,...]`.
    Array,
}

impl Shape {
    pub(super) const fn of(kind: &FieldType) -> Self {
        match kind {
            FieldType::Bool | FieldType::Bool8 => Self::Bool,
            FieldType::I8 | FieldType::I16 | FieldType::I32 => Self::I32,
            FieldType::U8 | FieldType::U16 | FieldType::U32 => Self::U32,
            FieldType::I64 | FieldType::VarI64 => Self::I64,
            FieldType::U64 | FieldType::VarU64 => Self::U64,
            FieldType::F32 | FieldType::F64 => Self::F64,
            FieldType::Char | FieldType::Char8 | FieldType::Text => Self::Text,
            FieldType::Guid => Self::Guid,
            FieldType::Decimal => Self::Decimal,
            FieldType::Time => Self::Time,
            FieldType::Object(_) => Self::Object,
            FieldType::Array(of)
            | FieldType::Fixed(of, _)
            | FieldType::RelLoc(of)
            | FieldType::DataLoc(of) => match **of {
                FieldType::Char | FieldType::Char8 => Self::Text,
                _ => Self::Array,
            },
        }
    }

    /// Type of the parameter.
    pub(super) const fn value_type(self) -> ValueType {
        match self {
            Self::Bool | Self::U32 => ValueType::U32,
            Self::I32 => ValueType::I32,
            Self::I64 => ValueType::I64,
            Self::U64 => ValueType::U64,
            Self::F64 => ValueType::F64,
            _ => ValueType::Text,
        }
    }

    const fn about(self) -> &'static str {
        match self {
            Self::Bool => "a truth value: 1 is true",
            Self::I32 | Self::I64 => "a signed integer",
            Self::U32 | Self::U64 => "an unsigned integer",
            Self::F64 => "a floating-point number",
            Self::Text => "a text",
            Self::Guid => "a GUID",
            Self::Decimal => "a decimal number, shown as a text",
            Self::Time => "a time, shown in UTC",
            Self::Object => "an object, shown as {name=value,...}",
            Self::Array => "an array, shown as [value,...]",
        }
    }
}

/// A name without control characters: keys and help texts have none.
pub(super) fn clean(name: &str) -> Cow<'_, str> {
    if name.contains(char::is_control) {
        name.replace(char::is_control, " ").into()
    } else {
        name.into()
    }
}

/// A field of an event, from which its metric is made. Its names are [`clean`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parameter<'a> {
    pub(super) shape: Shape,
    #[serde(borrow)]
    pub(super) provider: &'a str,
    pub(super) event: &'a str,
    pub(super) field: &'a str,
    /// Fields of the same name before it in the event.
    pub(super) nth: u32,
}

impl Parameter<'_> {
    /// The metric: `PROVIDER.EVENT.FIELD` below `param`.
    pub(super) fn spec(&self) -> MetricSpec {
        let Self { shape, provider, event, field, nth } = *self;
        let mut first = component(provider);
        if first == "lost" || PARAMS.iter().any(|param| param.name == first) {
            // The names of other parameters.
            first.push('_');
        }
        let ty = shape.value_type();
        let again = if nth == 0 { String::new() } else { format!("#{}", nth.saturating_add(1)) };
        let key = format!("param {provider}/{event}/{field}{again} {shape:?}");
        MetricSpec {
            key,
            place: FIELDS,
            path: format!("{first}.{}.{}", component(event), component(field)),
            ty,
            sem: if ty == ValueType::Text { Semantics::Discrete } else { Semantics::Instant },
            units: Units::None,
            oneline: format!("field {field} of {event} of {provider}"),
            help: format!(
                "The field {field} of events {event} of the provider {provider}: {}.",
                shape.about()
            ),
            labels: [("provider", provider), ("event", event), ("field", field)]
                .map(|(name, text)| (name, text.to_owned()))
                .to_vec(),
            persist: serde_json::to_string(self).unwrap_or_default(),
        }
    }
}

/// The metric that a line of [`MetricSpec::persist`] was made from.
pub(crate) fn restore(line: &str) -> Option<MetricSpec> {
    serde_json::from_str::<Owned>(line).ok().map(|owned| owned.parameter().spec())
}

/// As [`Parameter`], with texts that may have had escapes.
#[derive(Deserialize)]
struct Owned {
    shape: Shape,
    provider: String,
    event: String,
    field: String,
    nth: u32,
}

impl Owned {
    fn parameter(&self) -> Parameter<'_> {
        Parameter {
            shape: self.shape,
            provider: &self.provider,
            event: &self.event,
            field: &self.field,
            nth: self.nth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn names_and_the_way_back() {
        for (provider, event, field, nth, path) in [
            ("My-Shop.Orders", "OrderPlaced", "orderId", 0, "my_shop_orders.orderplaced.orderid"),
            ("thread_name", "1", "a b\"", 1, "thread_name_.c_1.a_b"),
            ("lost", "", "日本", u32::MAX, "lost_.c_.c_"),
        ] {
            let parameter = Parameter { shape: Shape::Time, provider, event, field, nth };
            let spec = parameter.spec();
            assert_eq!((spec.path.as_str(), spec.ty), (path, ValueType::Text));
            assert_eq!(restore(&spec.persist), Some(spec.clone()));
            let texts = [&spec.key, &spec.persist, &spec.oneline, &spec.help];
            assert!(texts.iter().all(|text| !text.contains(char::is_control)));
        }
        for line in
            ["", "{}", "[1]", r#"{"shape":"X","provider":"","event":"","field":"","nth":0}"#]
        {
            assert_eq!(restore(line), None);
        }
    }
}
