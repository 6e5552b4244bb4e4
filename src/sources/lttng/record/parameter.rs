//! The metric of a field's parameter, and the line that restores it after a restart.

use std::fmt::Write as _;

use super::super::metrics::RESERVED;
use crate::ctf::schema::Scope;
use crate::ctf::{Kind, Node};
use crate::model::{MetricSpec, Place, Semantics, Units, ValueType, component};

/// Properties of a field, from which its metric is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    /// `provider:event`; `None` for a context, which all events share.
    pub(crate) event: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) ty: ValueType,
    /// The metric shows the label of an enumeration; else the number.
    pub(crate) label: bool,
    /// Type and labels in words.
    pub(crate) about: String,
}

/// The provider in `PROVIDER:EVENT`. Names of kernel events have no provider.
pub(crate) fn provider(event: &str) -> &str {
    event.split_once(':').map_or(KERNEL, |(provider, _)| provider)
}
const KERNEL: &str = "kernel";

/// Most labels of an enumeration in a help text. No label follows once the text is longer than
/// `ABOUT` bytes.
const LABELS: usize = 32;
const ABOUT: usize = 600;

/// Whether arrays of this element are shown as bytes in hexadecimal.
pub(crate) fn is_byte(element: &Node) -> bool {
    matches!(element.kind, Kind::Unsigned(8) | Kind::Signed(8)) && element.mappings.is_none()
}

/// Type and labels in words: `unsigned integer of 8 bits: RED = 0, GREEN = 1..2`. If `node` is an
/// array, `next` is its element.
fn about(node: &Node, next: Option<&Node>) -> String {
    let bytes = matches!(node.kind, Kind::Array(_)) && next.is_some_and(is_byte);
    let mut text = match node.kind {
        Kind::Unsigned(0) => "unsigned integer of variable length".to_owned(),
        Kind::Unsigned(bits) => format!("unsigned integer of {bits} bits"),
        Kind::Signed(0) => "signed integer of variable length".to_owned(),
        Kind::Signed(bits) => format!("signed integer of {bits} bits"),
        Kind::Boolean(bits) => format!("truth value of {bits} bits"),
        Kind::BitMap(bits) => format!("set of {bits} bits"),
        Kind::Float(bits) => format!("floating-point number of {bits} bits"),
        Kind::String(_) => "text".to_owned(),
        Kind::Blob => "bytes, shown in hexadecimal".to_owned(),
        Kind::Structure => "structure, shown as {name=value,...}".to_owned(),
        Kind::Array(Some(length)) if bytes => {
            format!("array of {length} bytes, shown in hexadecimal")
        }
        Kind::Array(None) if bytes => "sequence of bytes, shown in hexadecimal".to_owned(),
        Kind::Array(Some(length)) => format!("array of {length}, shown as [value,...]"),
        Kind::Array(None) => "sequence, shown as [value,...]".to_owned(),
        Kind::Variant | Kind::Optional => "one of several types, or none".to_owned(),
    };
    let labels = node.mappings.as_ref().map(|l| l.all()).unwrap_or_default();
    for (n, label) in labels.iter().enumerate() {
        if n >= LABELS || text.len() > ABOUT {
            text.push_str(", ...");
            break;
        }
        let ranges = label.ranges.iter().map(|(low, high)| {
            if low == high { format!("{low}") } else { format!("{low}..{high}") }
        });
        let clean: String = label.name.chars().filter(|c| !c.is_control()).take(80).collect();
        let _ = write!(
            text,
            "{} {clean} = {}",
            if n == 0 { ":" } else { "," },
            ranges.take(4).collect::<Vec<_>>().join(" ")
        );
    }
    text
}

/// Value type of the parameter. Arrays and structures are texts.
pub(crate) const fn value_type(kind: Kind) -> ValueType {
    match kind {
        Kind::Unsigned(1..=32) | Kind::Boolean(1..=32) | Kind::BitMap(1..=32) => ValueType::U32,
        Kind::Unsigned(_) | Kind::Boolean(_) | Kind::BitMap(_) => ValueType::U64,
        Kind::Signed(1..=32) => ValueType::I32,
        Kind::Signed(_) => ValueType::I64,
        Kind::Float(_) => ValueType::F64,
        _ => ValueType::Text,
    }
}

impl<'a> Field<'a> {
    /// From a node directly below a scope; `next` is the node after it.
    pub(crate) fn of(event: &'a str, node: &'a Node, next: Option<&Node>, label: bool) -> Self {
        let context = matches!(node.scope, Scope::CommonContext | Scope::Context);
        let ty = if label { ValueType::Text } else { value_type(node.kind) };
        Self {
            event: (!context).then_some(event),
            name: &node.name,
            ty,
            label,
            about: about(node, next),
        }
    }

    /// The metric: `PROVIDER.EVENT.FIELD` or `ctx.NAME`.
    pub(crate) fn spec(&self) -> MetricSpec {
        let Self { event, name, ty, label, about } = self;
        let suffix = if *label { "_label" } else { "" };
        let (path, what, key) = match event {
            None => (
                format!("ctx.{}{suffix}", component(name)),
                format!("context {name}"),
                format!("ctx/{name}"),
            ),
            Some(event) => {
                let (provider, short) = event.split_once(':').unwrap_or((KERNEL, event));
                let mut provider = component(provider);
                if RESERVED.contains(&provider.as_str()) {
                    provider.push('_');
                }
                let path = format!("{provider}.{}.{}{suffix}", component(short), component(name));
                (path, format!("field {name} of {event}"), format!("{event}/{name}"))
            }
        };
        let of = if *label { "label of " } else { "" };
        MetricSpec {
            key: format!("{key}{suffix} {}", ty.name()),
            place: Place::Param,
            path,
            ty: *ty,
            sem: if *ty == ValueType::Text { Semantics::Discrete } else { Semantics::Instant },
            units: Units::None,
            oneline: format!("{of}{what}"),
            help: format!("The {of}{what}. In the trace it is of this type: {about}."),
            labels: event
                .map(|e| ("event", e.to_owned()))
                .into_iter()
                .chain([("field", (*name).to_owned())])
                .collect(),
            persist: self.persist(),
        }
    }

    /// `["U32","demo:tick","seq","unsigned integer of 32 bits"]`. A type with the prefix `l` marks
    /// a label; null instead of the event marks a context.
    fn persist(&self) -> String {
        let ty = format!("{}{}", if self.label { "l" } else { "" }, self.ty.name());
        serde_json::to_string(&(ty, self.event, self.name, &self.about)).unwrap_or_default()
    }
}

/// `Dynamic::restore`: parses a line of `MetricSpec::persist`.
pub(crate) fn restore(line: &str) -> Option<MetricSpec> {
    let (ty, event, name, about): (String, Option<String>, String, String) =
        serde_json::from_str(line).ok()?;
    let (label, ty) = ty.strip_prefix('l').map_or((false, ty.as_str()), |ty| (true, ty));
    let types = [
        ValueType::U32,
        ValueType::U64,
        ValueType::I32,
        ValueType::I64,
        ValueType::F64,
        ValueType::Text,
    ];
    let ty = types.into_iter().find(|t| t.name() == ty)?;
    Some(Field { event: event.as_deref(), name: &name, ty, label, about }.spec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_the_way_back() {
        for (event, name, label, path) in [
            (Some("DotNETRuntime:GCStart_V2"), "Count", false, "dotnetruntime.gcstart_v2.count"),
            (Some("sched_switch"), "prev_comm", false, "kernel.sched_switch.prev_comm"),
            (Some("event:x"), "y", true, "event_.c_x.c_y_label"),
            (Some("a:b:c"), "a \"b\"", false, "c_a.b_c.a_b"),
            (None, "vpid", false, "ctx.vpid"),
        ] {
            let field = Field {
                event,
                name,
                ty: if label { ValueType::Text } else { ValueType::I32 },
                label,
                about: "x: A = 1".into(),
            };
            let spec = field.spec();
            assert_eq!((spec.path.as_str(), restore(&spec.persist)), (path, Some(spec.clone())));
            assert!(!spec.persist.contains(char::is_control));
        }
        assert_eq!(
            [restore(""), restore("[]"), restore("[\"U99\",null,\"x\"]")],
            [const { None }; 3]
        );
    }
}
