//! First walk over the field classes: collects nodes, names, references.

use std::sync::Arc;

use super::node::{Kind, Node, NodeId, Nodes, Target};
use super::resolve::{self, Context, Use};
use crate::error::{DeclarationError, bounded};
use crate::limits;
use crate::schema::{
    DisplayBase, FieldClass, FieldClassKind, FieldLocation, Integer, IntegerKind, Length, Role,
    Roles, Scope,
};

/// The nodes of consecutive scopes.
pub(crate) fn survey(
    context: &Context<'_>,
    scopes: &[(Scope, &Arc<FieldClass>)],
) -> Result<Nodes, DeclarationError> {
    let mut survey = Survey { context, nodes: Nodes::default(), names: 0 };
    for (scope, class) in scopes {
        let root = survey.count()?;
        survey.nodes.roots.push((*scope, root));
        survey.walk(
            class,
            Place {
                scope: *scope,
                parent: None,
                raw: "",
                named: false,
                name: "".into(),
                path: "".into(),
            },
        )?;
    }
    hide(&mut survey.nodes);
    Ok(survey.nodes)
}

struct Survey<'a> {
    context: &'a Context<'a>,
    nodes: Nodes,
    /// Total bytes of all paths.
    names: u64,
}

struct Place<'a> {
    scope: Scope,
    parent: Option<NodeId>,
    raw: &'a str,
    /// Whether the field has a name: then paths use `raw`.
    named: bool,
    name: Arc<str>,
    path: Arc<str>,
}

const fn integer_kind(i: &Integer) -> Kind {
    match i.kind {
        IntegerKind::Unsigned => Kind::Unsigned(i.bits),
        IntegerKind::Signed => Kind::Signed(i.bits),
        IntegerKind::Boolean => Kind::Boolean(i.bits),
        IntegerKind::BitMap => Kind::BitMap(i.bits),
    }
}

impl Survey<'_> {
    fn count(&self) -> Result<NodeId, DeclarationError> {
        let count = self.nodes.list.len() as u64;
        bounded("fields of a class", count + 1, limits::FIELDS)?;
        Ok(NodeId::new(u32::try_from(count).unwrap_or(u32::MAX)))
    }

    fn walk(&mut self, class: &FieldClass, place: Place<'_>) -> Result<(), DeclarationError> {
        let id = self.count()?;
        self.names = self.names.saturating_add(place.path.len() as u64);
        bounded("bytes of field names", self.names, limits::NAMES)?;
        if let Some(parent) = place.parent.filter(|_| place.named) {
            self.nodes.members.insert((parent, place.raw.into()), id);
        }
        let (kind, roles) = match class.kind() {
            FieldClassKind::Integer(i) => (integer_kind(i), i.roles),
            FieldClassKind::Float(f) => (Kind::Float(f.bits), Roles::default()),
            FieldClassKind::NullTerminatedString(e) | FieldClassKind::SizedString(_, e) => {
                (Kind::String(*e), Roles::default())
            }
            FieldClassKind::Blob(_, roles) => (Kind::Blob, *roles),
            FieldClassKind::Array(Length::Static(n), ..) => {
                (Kind::Array(Some(*n)), Roles::default())
            }
            FieldClassKind::Array(..) => (Kind::Array(None), Roles::default()),
            FieldClassKind::Structure(_) => (Kind::Structure, Roles::default()),
            FieldClassKind::Variant(_) => (Kind::Variant, Roles::default()),
            FieldClassKind::Optional(..) => (Kind::Optional, Roles::default()),
        };
        if let FieldClassKind::Integer(i) = class.kind()
            && i.roles.has(Role::Clock)
            && !i.signed()
            && self.nodes.clocks.len() < 2
            && !self.nodes.clocks.contains(&i.clock)
        {
            self.nodes.clocks.push(i.clock.clone());
        }
        let (base, mappings) = match class.kind() {
            FieldClassKind::Integer(i) => (i.base, i.mappings.clone()),
            _ => (DisplayBase::default(), None),
        };
        let (scope, path) = (place.scope, place.path.clone());
        self.nodes.names = self.names;
        self.nodes.list.push(Node {
            scope,
            parent: place.parent,
            name: place.name,
            path: place.path,
            kind,
            base,
            mappings,
            hidden: false,
            roles,
            least: class.least(),
        });
        let inner = |raw, named, name: &Arc<str>, path: Arc<str>| {
            let name = name.clone();
            Place { scope, parent: Some(id), raw, named, name, path }
        };
        let dotted = |name: &str| {
            if path.is_empty() { name.into() } else { format!("{path}.{name}").into() }
        };
        match class.kind() {
            FieldClassKind::SizedString(length, _) | FieldClassKind::Blob(length, _) => {
                self.length(id, length)?
            }
            FieldClassKind::Array(length, element, _) => {
                self.length(id, length)?;
                self.walk(element, inner("", false, &"".into(), format!("{path}[]").into()))?;
            }
            FieldClassKind::Structure(s) => {
                for field in &s.members {
                    self.walk(
                        &field.class,
                        inner(&field.raw, true, &field.name, dotted(&field.name)),
                    )?;
                }
            }
            FieldClassKind::Variant(v) => {
                self.refer(
                    id,
                    &v.selector,
                    if v.ranges.is_none() { Use::Mappings } else { Use::Selector },
                )?;
                for option in &v.options {
                    self.walk(
                        &option.class,
                        inner(&option.raw, v.ranges.is_none(), &option.name, dotted(&option.name)),
                    )?;
                }
            }
            FieldClassKind::Optional(selector, _, class) => {
                self.refer(id, selector, Use::Selector)?;
                self.walk(class, inner("", false, &"".into(), path.clone()))?;
            }
            FieldClassKind::Integer(_)
            | FieldClassKind::Float(_)
            | FieldClassKind::NullTerminatedString(_) => {}
        }
        Ok(())
    }

    fn length(&mut self, id: NodeId, length: &Length) -> Result<(), DeclarationError> {
        match length {
            Length::Static(_) => Ok(()),
            Length::Dynamic(path) => self.refer(id, path, Use::Length),
        }
    }

    fn refer(
        &mut self,
        id: NodeId,
        path: &FieldLocation,
        what: Use,
    ) -> Result<(), DeclarationError> {
        let target = resolve::target(self.context, &self.nodes, id, path, what)?;
        self.nodes.targets.insert(id, target);
        Ok(())
    }
}

/// Hides nodes without information for a reader. babeltrace does not print these either.
fn hide(nodes: &mut Nodes) {
    let count = nodes.list.len();
    // Shown; has members; target of a shown node; shown with its siblings.
    let (mut shown, mut full, mut wanted, mut forced) =
        (vec![false; count], vec![false; count], vec![false; count], vec![false; count]);
    let set = |flags: &mut Vec<bool>, id: Option<NodeId>| {
        if let Some(flag) = id.and_then(|id| flags.get_mut(id.index())) {
            *flag = true;
        }
    };
    let id = |n: usize| NodeId::new(u32::try_from(n).unwrap_or(u32::MAX));
    let is = |flags: &[bool], n: usize| flags.get(n).copied().unwrap_or(false);
    // Backwards: a target is before its reference, and members are after their structure.
    for (n, node) in nodes.list.iter().enumerate().rev() {
        let internal = matches!(node.scope, Scope::PacketHeader | Scope::EventHeader);
        let own = match node.kind {
            Kind::Unsigned(_) | Kind::Signed(_) | Kind::Boolean(_) | Kind::BitMap(_) => {
                node.roles.is_empty() || is(&wanted, n)
            }
            Kind::Blob => !node.roles.has(Role::Uuid),
            Kind::Structure => !is(&full, n) || is(&shown, n),
            Kind::Array(_) | Kind::Variant | Kind::Optional => is(&shown, n),
            Kind::Float(_) | Kind::String(_) => true,
        };
        let own = own && !internal;
        set(&mut full, node.parent);
        if own {
            set(&mut shown, Some(id(n)));
            set(&mut shown, node.parent);
            if let Some(Target::Here(target)) = nodes.targets.get(&id(n)) {
                set(&mut wanted, Some(*target));
            }
        } else if let Some(flag) = shown.get_mut(n) {
            *flag = false;
        }
    }
    // All options of a shown variant are shown, since the selector may choose any of them.
    for (n, node) in nodes.list.iter().enumerate() {
        let variant =
            node.parent.filter(|p| nodes.get(*p).is_some_and(|p| p.kind == Kind::Variant));
        if variant.is_some_and(|p| is(&shown, p.index())) {
            set(&mut forced, Some(id(n)));
        }
    }
    for (n, node) in nodes.list.iter_mut().enumerate() {
        node.hidden = !is(&shown, n) && !is(&forced, n);
    }
}
