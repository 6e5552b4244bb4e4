//! Values of fields, of real runtimes and of streams made by hand.

use std::fmt::Write;

use super::{read, stream};
use crate::sources::dotnet::wire::nettrace::{Event, EventType, Value, Values, Visitor};

/// Events as text.
#[derive(Default)]
struct Texts {
    types: Vec<EventType>,
    events: Vec<String>,
}

impl Visitor for Texts {
    fn event_type(&mut self, event_type: &EventType) {
        self.types.push(event_type.clone());
    }

    fn event(&mut self, event: &Event<'_>) {
        let mut text = format!("{}:", event.event_type.name);
        fields(Values::new(&event.event_type.fields, event.payload), &mut text);
        self.events.push(text);
    }
}

fn fields(values: Values<'_>, out: &mut String) {
    for (field, value) in values {
        write!(out, " {}=", field.name).unwrap();
        one(value, out);
    }
}

fn one(value: Value<'_>, out: &mut String) {
    match value {
        Value::Bool(v) => write!(out, "{v}").unwrap(),
        Value::I64(v) => write!(out, "{v}").unwrap(),
        Value::U64(v) => write!(out, "{v}u").unwrap(),
        Value::F64(v) => write!(out, "{v:?}").unwrap(),
        Value::Char(v) => write!(out, "'{v}'").unwrap(),
        Value::Text(v) => write!(out, "{v:?}").unwrap(),
        Value::Utf8(v) => write!(out, "{:?}", str::from_utf8(v).unwrap()).unwrap(),
        Value::Guid(v) | Value::Decimal(v) => write!(out, "{v:02x?}").unwrap(),
        Value::Time(v) => write!(out, "@{v}").unwrap(),
        Value::Object(values) => {
            out.push('{');
            fields(values, out);
            out.push('}');
        }
        Value::Array(elements) => {
            write!(out, "{}[", elements.len()).unwrap();
            for element in elements {
                one(element, out);
                out.push(' ');
            }
            out.push(']');
        }
    }
}

fn texts(name: &str) -> Texts {
    let mut texts = Texts::default();
    read(&stream(name), &mut texts).1.unwrap();
    texts
}

#[test]
fn every_type_of_an_event_source() {
    for name in ["types-31", "types-9"] {
        let found = texts(name);
        let types: Vec<_> = found.events.iter().filter(|e| e.starts_with("Types:")).collect();
        assert_eq!(
            types[0],
            "Types: b=true u1=200u i2=-5 i4=-100000 i8=-5000000000 r4=1.5 r8=-2.25 s=\"\" \
             g=[33, 22, 11, 00, 55, 44, 77, 66, 88, 99, aa, bb, cc, dd, ee, ff] \
             t=@134117966456780000"
        );
        assert!(types.len() == 4 && types[1].contains(" s=\"s中😀1\" "));
        let nested = "Nested: ={ Id=2 Inner={ Name=\"in2\" Value=3.5} After=7}";
        assert!(found.events.iter().any(|event| event == nested));
    }
}

#[test]
fn arrays_and_opcodes_of_tags() {
    let found = texts("handmade-v2params");
    assert_eq!(found.types[0].opcode, 7);
    assert_eq!(
        found.events,
        [
            "Arrays: ints=3[1 -2 3 ] words=2[\"one\" \"\" ] tail=9u",
            "Arrays: ints=0[] words=0[] tail=10u",
            "EventCounters: ={ Payload={ Name=\"own\" Mean=inf}}",
        ]
    );
}

#[test]
fn all_types_of_version_6() {
    let found = texts("handmade-v6");
    let t = &found.types[0];
    assert_eq!((t.opcode, t.level, t.keywords, t.version), (9, 2, 0x10, 3));
    let text = "Six: obj={ i=-7} b8=true v=-5 u=300u fix=2[-1 2 ] arr=2[5u 6u ] s=\"six\" \
                rel=\"abc\"";
    assert_eq!(found.events, [text; 3]);
}

#[test]
fn payloads_may_be_longer_and_shorter_than_their_fields() {
    let found = texts("handmade-odd");
    assert_eq!(found.events[4], "Odd: n=5 text=\"e\"");
    assert_eq!(found.events[5], "Odd: n=6");
}
