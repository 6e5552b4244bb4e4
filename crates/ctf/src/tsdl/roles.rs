//! Roles of fields by their names (CTF 1.8, sections 5.2 and 6.1), and fields that update the clock
//! without a `map`.

use std::sync::Arc;

use super::declare::shown;
use crate::error::{DeclarationError, bounded, malformed};
use crate::limits;
use crate::schema::{
    Encoding, FieldClass, FieldClassKind, Integer, Length, Member, Role, Roles, Scope, Structure,
    Variant,
};

/// The role of an integer with this name; `top`: it is a member of the scope's root structure.
fn role(scope: Scope, name: &str, top: bool) -> Option<Role> {
    match (scope, name) {
        (Scope::EventHeader, "id") => Some(Role::EventClass),
        _ if !top => None,
        (Scope::PacketHeader, "magic") => Some(Role::Magic),
        (Scope::PacketHeader, "stream_id") => Some(Role::StreamClass),
        (Scope::PacketHeader, "stream_instance_id") => Some(Role::Stream),
        (Scope::PacketContext, "packet_size") => Some(Role::PacketSize),
        (Scope::PacketContext, "content_size") => Some(Role::ContentSize),
        (Scope::PacketContext, "timestamp_end") => Some(Role::End),
        (Scope::PacketContext, "packet_seq_num") => Some(Role::Sequence),
        (Scope::PacketContext, "events_discarded") => Some(Role::Discarded),
        _ => None,
    }
}

/// Whether a field with the name of this role may be another field class: its name then has no
/// meaning, as in babeltrace2.
const fn may_be_plain(role: Role) -> bool {
    matches!(role, Role::EventClass | Role::PacketSize | Role::ContentSize)
}

/// Whether a field with this name updates the clock even without `map`, as babeltrace does for old
/// tracers.
fn clocked(scope: Scope, name: &str) -> bool {
    matches!(
        (scope, shown(name)),
        (Scope::EventHeader, "timestamp") | (Scope::PacketContext, "timestamp_begin")
    )
}

fn integer(
    integer: &Integer,
    scope: Scope,
    name: &str,
    top: bool,
) -> Result<Option<Integer>, DeclarationError> {
    let mut roles = integer.roles;
    if let Some(role) =
        role(scope, name, top).filter(|role| !(integer.signed() && may_be_plain(*role)))
    {
        if integer.signed() {
            return malformed!("{name} is signed");
        }
        if role == Role::Magic && integer.bits != 32 {
            return malformed!("magic of {} bits", integer.bits);
        }
        roles = roles.with(role);
    }
    if !integer.signed() && clocked(scope, name) {
        roles = roles.with(Role::Clock);
    }
    if roles.has(Role::End) {
        // The end time of a packet is not yet the time of its first event.
        roles = roles.without(Role::Clock);
    }
    Ok((roles != integer.roles).then(|| Integer { roles, ..integer.clone() }))
}

/// `uuid[16]` of a packet header.
fn uuid(class: &FieldClass) -> Result<FieldClassKind, DeclarationError> {
    match class.kind() {
        FieldClassKind::Array(Length::Static(16), element, _)
        | FieldClassKind::Array(Length::Static(16), element, _)
            if matches!(element.kind(), FieldClassKind::Integer(i) if i.bits == 8 && i.align == 8) =>
        {
            Ok(FieldClassKind::Blob(Length::Static(16), Roles::default().with(Role::Uuid)))
        }
        FieldClassKind::SizedString(Length::Static(16), Encoding::Utf8) => {
            Ok(FieldClassKind::Blob(Length::Static(16), Roles::default().with(Role::Uuid)))
        }
        _ => malformed!("uuid is not 16 bytes"),
    }
}

/// Walks the class of a scope and assigns roles.
struct Walk {
    scope: Scope,
    seen: u64,
}

impl Walk {
    /// The field class with its roles; `None`: it has no role.
    fn class(
        &mut self,
        class: &FieldClass,
        name: &str,
        level: u64,
    ) -> Result<Option<Arc<FieldClass>>, DeclarationError> {
        self.seen += 1;
        bounded("fields", self.seen, limits::FIELDS)?;
        let scope = self.scope;
        let kind = match class.kind() {
            _ if level == 1 && scope == Scope::PacketHeader && name == "uuid" => Some(uuid(class)?),
            FieldClassKind::Integer(i) => {
                integer(i, scope, name, level == 1)?.map(FieldClassKind::Integer)
            }
            // Only the names of structure members have meanings, and only of members that occur
            // exactly once.
            FieldClassKind::Structure(s) => self.fields(&s.members, level)?.map(|fields| {
                FieldClassKind::Structure(Structure { members: fields, align: s.align })
            }),
            FieldClassKind::Variant(v) => {
                let options = self.options(&v.options, level)?;
                options.map(|options| FieldClassKind::Variant(Variant { options, ..v.clone() }))
            }
            _ if level == 1 && role(scope, name, true).is_some_and(|role| !may_be_plain(role)) => {
                return malformed!("{name} is no integer");
            }
            _ => None,
        };
        kind.map(FieldClass::new).transpose()
    }

    fn fields(
        &mut self,
        fields: &[Member],
        level: u64,
    ) -> Result<Option<Vec<Member>>, DeclarationError> {
        let mut new = None;
        for (n, field) in fields.iter().enumerate() {
            if let Some(class) = self.class(&field.class, &field.raw, level + 1)?
                && let Some(slot) = new.get_or_insert_with(|| fields.to_vec()).get_mut(n)
            {
                slot.class = class;
            }
        }
        Ok(new)
    }

    fn options(
        &mut self,
        fields: &[Member],
        level: u64,
    ) -> Result<Option<Vec<Member>>, DeclarationError> {
        let mut new = None;
        for (n, field) in fields.iter().enumerate() {
            // babeltrace also accepts an option named `timestamp`, but not one named `id`.
            let name = if clocked(self.scope, &field.raw) { &*field.raw } else { "" };
            if let Some(class) = self.class(&field.class, name, level + 1)?
                && let Some(slot) = new.get_or_insert_with(|| fields.to_vec()).get_mut(n)
            {
                slot.class = class;
            }
        }
        Ok(new)
    }
}

/// The field class of a scope with the roles of its fields.
pub(super) fn with_roles(
    class: &Arc<FieldClass>,
    scope: Scope,
) -> Result<Arc<FieldClass>, DeclarationError> {
    if class.structure().is_none() {
        return malformed!("{} is no structure", scope.name());
    }
    if !matches!(scope, Scope::PacketHeader | Scope::PacketContext | Scope::EventHeader) {
        return Ok(class.clone());
    }
    let changed = Walk { scope, seen: 0 }.class(class, "", 0)?;
    Ok(changed.unwrap_or_else(|| class.clone()))
}
