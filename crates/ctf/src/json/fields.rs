//! Member classes (CTF 2, 5.3).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::object::At;
use crate::ByteOrder;
use crate::error::{DeclarationError, bounded};
use crate::limits;
use crate::schema::{
    DisplayBase, Encoding, FieldClass, FieldClassKind, FieldLocation, Float, Integer, IntegerKind,
    IntegerRange, Length, LocationOrigin, Mappings, Member, Role, Roles, Scope, Structure, Variant,
};

/// Declarations of earlier fragments.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) aliases: HashMap<String, Arc<FieldClass>>,
    /// Number of field classes, fields and mappings so far.
    declared: u64,
}

impl Known {
    /// Counts one more field class, field or mapping.
    pub(super) fn declare(&mut self) -> Result<(), DeclarationError> {
        self.declared += 1;
        bounded("declarations of a trace", self.declared, limits::DECLARED)
    }
}

/// The field class of an object, or of the name of an alias.
pub(super) fn class(at: &At<'_>, known: &mut Known) -> Result<Arc<FieldClass>, DeclarationError> {
    if let Ok(alias) = at.text() {
        return known.aliases.get(alias).cloned().map_or_else(|| at.wrong("no such alias"), Ok);
    }
    let kind = match at.need("type")?.text()? {
        "fixed-length-bit-array" => fixed(at, IntegerKind::BitMap, None, known)?,
        "fixed-length-bit-map" => fixed(at, IntegerKind::BitMap, Some("flags"), known)?,
        "fixed-length-boolean" => fixed(at, IntegerKind::Boolean, None, known)?,
        "fixed-length-unsigned-integer" => {
            fixed(at, IntegerKind::Unsigned, Some("mappings"), known)?
        }
        "fixed-length-signed-integer" => fixed(at, IntegerKind::Signed, Some("mappings"), known)?,
        "fixed-length-floating-point-number" => {
            let (order, reversed) = order(at)?;
            let bits = bits(at)?;
            FieldClassKind::Float(Float {
                bits,
                align: at.unsigned_or("alignment", 1)?,
                order: Some(order),
                reversed,
            })
        }
        "variable-length-unsigned-integer" => FieldClassKind::Integer(details(
            at,
            Integer::new(0),
            IntegerKind::Unsigned,
            Some("mappings"),
            known,
        )?),
        "variable-length-signed-integer" => FieldClassKind::Integer(details(
            at,
            Integer::new(0),
            IntegerKind::Signed,
            Some("mappings"),
            known,
        )?),
        "null-terminated-string" => FieldClassKind::NullTerminatedString(encoding(at)?),
        "static-length-string" => FieldClassKind::SizedString(fixed_length(at)?, encoding(at)?),
        "dynamic-length-string" => FieldClassKind::SizedString(field_length(at)?, encoding(at)?),
        "static-length-blob" => FieldClassKind::Blob(fixed_length(at)?, roles(at)?),
        "dynamic-length-blob" => FieldClassKind::Blob(field_length(at)?, roles(at)?),
        "structure" => structure(at, known)?,
        "static-length-array" => array(at, fixed_length(at)?, known)?,
        "dynamic-length-array" => array(at, field_length(at)?, known)?,
        "optional" => {
            let selector = location(&at.need("selector-field-location")?)?;
            let ranges = at.get("selector-field-ranges").map(|at| ranges(&at)).transpose()?;
            FieldClassKind::Optional(selector, ranges, class(&at.need("field-class")?, known)?)
        }
        "variant" => variant(at, known)?,
        other => return Err(DeclarationError::Unsupported(format!("field class {other}"))),
    };
    at.check(FieldClass::new(kind))
}

fn bits(at: &At<'_>) -> Result<u32, DeclarationError> {
    let length = at.need("length")?;
    match u32::try_from(length.unsigned()?) {
        Ok(0) => length.wrong("no bits"),
        Ok(bits) => Ok(bits),
        Err(_) => Err(DeclarationError::Unsupported("a number of so many bits".into())),
    }
}

/// Byte order, and whether the bit order is not the usual one for it.
fn order(at: &At<'_>) -> Result<(ByteOrder, bool), DeclarationError> {
    let order = at.need("byte-order")?;
    let (order, custom) = match order.text()? {
        "little-endian" => (ByteOrder::Little, "first-to-last"),
        "big-endian" => (ByteOrder::Big, "last-to-first"),
        _ => return order.wrong("no byte order"),
    };
    let reversed = match at.get("bit-order") {
        None => false,
        Some(bits) => match bits.text()? {
            told @ ("first-to-last" | "last-to-first") => told != custom,
            _ => return bits.wrong("no bit order"),
        },
    };
    Ok((order, reversed))
}

fn fixed(
    at: &At<'_>,
    number: IntegerKind,
    mappings: Option<&str>,
    known: &mut Known,
) -> Result<FieldClassKind, DeclarationError> {
    let (order, reversed) = order(at)?;
    let bits = bits(at)?;
    let align = at.unsigned_or("alignment", 1)?;
    let integer = Integer { align, order: Some(order), reversed, ..Integer::new(bits) };
    Ok(FieldClassKind::Integer(details(at, integer, number, mappings, known)?))
}

/// Display base, mappings and roles.
fn details(
    at: &At<'_>,
    integer: Integer,
    number: IntegerKind,
    mappings: Option<&str>,
    known: &mut Known,
) -> Result<Integer, DeclarationError> {
    let base = match at.get("preferred-display-base") {
        None => DisplayBase::Decimal,
        Some(base) => match base.unsigned()? {
            2 => DisplayBase::Binary,
            8 => DisplayBase::Octal,
            10 => DisplayBase::Decimal,
            16 => DisplayBase::Hexadecimal,
            _ => return base.wrong("no base"),
        },
    };
    let mappings = match mappings.and_then(|key| at.get(key)) {
        None => None,
        Some(map) => {
            let mut all = Vec::new();
            for (name, at) in map.entries()? {
                let name: Arc<str> = name.as_str().into();
                for range in ranges(&at)? {
                    known.declare()?;
                    all.push((name.clone(), range));
                }
            }
            Some(Arc::new(Mappings::new(all)?))
        }
    };
    let roles = if number == IntegerKind::Unsigned { roles(at)? } else { Roles::default() };
    Ok(Integer { kind: number, base, mappings, roles, ..integer })
}

fn ranges(at: &At<'_>) -> Result<Vec<IntegerRange>, DeclarationError> {
    let mut ranges = Vec::new();
    for range in at.array()? {
        let ends: Result<Vec<i128>, DeclarationError> =
            range.array()?.take(3).map(|end| end.integer()).collect();
        match ends?.as_slice() {
            [low, high] if low <= high => ranges.push((*low, *high)),
            _ => return range.wrong("no range"),
        }
        bounded("ranges of an enumeration", ranges.len() as u64, limits::RANGES)?;
    }
    Ok(ranges)
}

/// Unknown roles are ignored (CTF 2, 5.3.1).
fn roles(at: &At<'_>) -> Result<Roles, DeclarationError> {
    let mut roles = Roles::default();
    let Some(list) = at.get("roles") else { return Ok(roles) };
    for role in list.array()? {
        let role = match role.text()? {
            "packet-magic-number" => Role::Magic,
            "metadata-stream-uuid" => Role::Uuid,
            "data-stream-class-id" => Role::StreamClass,
            "data-stream-id" => Role::Stream,
            "packet-total-length" => Role::PacketSize,
            "packet-content-length" => Role::ContentSize,
            "packet-end-default-clock-timestamp" => Role::End,
            "packet-sequence-number" => Role::Sequence,
            "discarded-event-record-counter-snapshot" => Role::Discarded,
            "event-record-class-id" => Role::EventClass,
            "default-clock-timestamp" => Role::Clock,
            _ => continue,
        };
        roles = roles.with(role);
    }
    Ok(roles)
}

fn encoding(at: &At<'_>) -> Result<Encoding, DeclarationError> {
    let Some(encoding) = at.get("encoding") else { return Ok(Encoding::Utf8) };
    match encoding.text()? {
        "utf-8" => Ok(Encoding::Utf8),
        "utf-16le" => Ok(Encoding::Utf16Le),
        "utf-16be" => Ok(Encoding::Utf16Be),
        "utf-32le" => Ok(Encoding::Utf32Le),
        "utf-32be" => Ok(Encoding::Utf32Be),
        _ => encoding.wrong("no encoding"),
    }
}

fn fixed_length(at: &At<'_>) -> Result<Length, DeclarationError> {
    Ok(Length::Static(at.need("length")?.unsigned()?))
}

fn field_length(at: &At<'_>) -> Result<Length, DeclarationError> {
    Ok(Length::Dynamic(location(&at.need("length-field-location")?)?))
}

/// A field location (CTF 2, 5.3.2).
fn location(at: &At<'_>) -> Result<FieldLocation, DeclarationError> {
    let scope = match at.get("origin") {
        None => None,
        Some(origin) => Some(match origin.text()? {
            "packet-header" => Scope::PacketHeader,
            "packet-context" => Scope::PacketContext,
            "event-record-header" => Scope::EventHeader,
            "event-record-common-context" => Scope::CommonContext,
            "event-record-specific-context" => Scope::Context,
            "event-record-payload" => Scope::Payload,
            _ => return origin.wrong("no origin"),
        }),
    };
    let path = at.need("path")?;
    let (mut names, mut up): (Vec<Arc<str>>, u32) = (Vec::new(), 0);
    for name in path.array()? {
        if name.value.is_null() {
            // `null` goes up from the field of the preceding name, whether it exists or not, or
            // else from the origin.
            match (names.pop(), scope) {
                (Some(_), _) => {}
                (None, None) => up = up.saturating_add(1),
                (None, Some(_)) => return path.wrong("a way up from the origin"),
            }
        } else {
            names.push(name.text()?.into());
        }
        bounded("names of a path", names.len() as u64, limits::DEPTH)?;
    }
    if names.is_empty() {
        return path.wrong("no names");
    }
    Ok(FieldLocation { origin: scope.map_or(LocationOrigin::Up(up), LocationOrigin::Scope), names })
}

fn structure(at: &At<'_>, known: &mut Known) -> Result<FieldClassKind, DeclarationError> {
    let (mut fields, mut names): (Vec<Member>, HashSet<Arc<str>>) = (Vec::new(), HashSet::new());
    if let Some(members) = at.get("member-classes") {
        for member in members.array()? {
            bounded("fields", fields.len() as u64 + 1, limits::FIELDS)?;
            let name: Arc<str> = member.need("name")?.text()?.into();
            known.declare()?;
            if !names.insert(name.clone()) {
                return member.wrong("a name a second time");
            }
            fields.push(Member {
                raw: name.clone(),
                name,
                class: class(&member.need("field-class")?, known)?,
            });
        }
    }
    Ok(FieldClassKind::Structure(Structure {
        members: fields,
        align: at.unsigned_or("minimum-alignment", 1)?,
    }))
}

fn array(
    at: &At<'_>,
    length: Length,
    known: &mut Known,
) -> Result<FieldClassKind, DeclarationError> {
    let element = class(&at.need("element-field-class")?, known)?;
    Ok(FieldClassKind::Array(length, element, at.unsigned_or("minimum-alignment", 1)?))
}

fn variant(at: &At<'_>, known: &mut Known) -> Result<FieldClassKind, DeclarationError> {
    let selector = location(&at.need("selector-field-location")?)?;
    let (mut options, mut all) = (Vec::new(), Vec::new());
    for option in at.need("options")?.array()? {
        bounded("fields", options.len() as u64 + 1, limits::FIELDS)?;
        known.declare()?;
        let name: Arc<str> = option.text_or_none("name")?.unwrap_or_default();
        options.push(Member {
            raw: name.clone(),
            name,
            class: class(&option.need("field-class")?, known)?,
        });
        all.push(ranges(&option.need("selector-field-ranges")?)?);
    }
    Ok(FieldClassKind::Variant(Variant { selector, options, ranges: Some(all) }))
}
