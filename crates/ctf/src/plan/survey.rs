//! First walk over the types of a class: numbers, names, references.

use std::sync::Arc;

use super::node::{Kind, Node, NodeId, Nodes};
use super::resolve;
use crate::error::{Fault, bounded};
use crate::limits;
use crate::schema::{Base, Integer, Length, Number, Path, Role, Roles, Schema, Scope, Shape, Type};

/// What a length or selector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A node of the same code.
    Here(NodeId),
    /// A node of the packet's header or context or of the event header: which of
    /// [`Context::outer`].
    Outer(usize, NodeId),
    /// A number of the environment.
    Constant(u64),
}

/// What is around the scopes that are compiled.
pub(crate) struct Context<'a> {
    pub(crate) schema: &'a Schema,
    /// Nodes of earlier scopes, in the order of decoding.
    pub(crate) outer: &'a [&'a Nodes],
}

/// What a reference is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Length,
    /// Of a variant that goes by the labels of its selector (CTF 1.8).
    Labels,
    Selector,
}

/// The nodes of scopes that follow each other.
pub(crate) fn survey(
    context: &Context<'_>,
    scopes: &[(Scope, &Arc<Type>)],
) -> Result<Nodes, Fault> {
    let mut survey = Survey { context, nodes: Nodes::default(), names: 0 };
    for (scope, ty) in scopes {
        let root = survey.count()?;
        survey.nodes.roots.push((*scope, root));
        survey.walk(
            ty,
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
    /// Bytes of all paths.
    names: u64,
}

struct Place<'a> {
    scope: Scope,
    parent: Option<NodeId>,
    raw: &'a str,
    /// Paths go by `raw`.
    named: bool,
    name: Arc<str>,
    path: Arc<str>,
}

const fn integer_kind(i: &Integer) -> Kind {
    match i.number {
        Number::Unsigned => Kind::Unsigned(i.bits),
        Number::Signed => Kind::Signed(i.bits),
        Number::Boolean => Kind::Boolean(i.bits),
        Number::Bits => Kind::Bits(i.bits),
    }
}

impl Survey<'_> {
    fn count(&self) -> Result<NodeId, Fault> {
        let count = self.nodes.list.len() as u64;
        bounded("fields of a class", count + 1, limits::FIELDS)?;
        Ok(NodeId::try_from(count).unwrap_or(NodeId::MAX))
    }

    fn walk(&mut self, ty: &Type, place: Place<'_>) -> Result<(), Fault> {
        let id = self.count()?;
        self.names = self.names.saturating_add(place.path.len() as u64);
        bounded("bytes of field names", self.names, limits::NAMES)?;
        if let Some(parent) = place.parent.filter(|_| place.named) {
            self.nodes.members.insert((parent, place.raw.into()), id);
        }
        let (kind, roles) = match ty.shape() {
            Shape::Integer(i) => (integer_kind(i), i.roles),
            Shape::Float(f) => (Kind::Float(f.bits), Roles::default()),
            Shape::Text(e) | Shape::Chars(_, e) => (Kind::Text(*e), Roles::default()),
            Shape::Blob(_, roles) => (Kind::Blob, *roles),
            Shape::Array(Length::Fixed(n), ..) => (Kind::Array(Some(*n)), Roles::default()),
            Shape::Array(..) => (Kind::Array(None), Roles::default()),
            Shape::Structure(_) => (Kind::Structure, Roles::default()),
            Shape::Variant(_) => (Kind::Variant, Roles::default()),
            Shape::Optional(..) => (Kind::Optional, Roles::default()),
        };
        if let Shape::Integer(i) = ty.shape()
            && i.roles.has(Role::Clock)
            && !i.signed()
            && self.nodes.clocks.len() < 2
            && !self.nodes.clocks.contains(&i.clock)
        {
            self.nodes.clocks.push(i.clock.clone());
        }
        let (base, labels) = match ty.shape() {
            Shape::Integer(i) => (i.base, i.labels.clone()),
            _ => (Base::default(), None),
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
            labels,
            hidden: false,
            roles,
            least: ty.least(),
        });
        let inner = |raw, named, name: &Arc<str>, path: Arc<str>| {
            let name = name.clone();
            Place { scope, parent: Some(id), raw, named, name, path }
        };
        let dotted = |name: &str| {
            if path.is_empty() { name.into() } else { format!("{path}.{name}").into() }
        };
        match ty.shape() {
            Shape::Chars(length, _) | Shape::Blob(length, _) => self.length(id, length)?,
            Shape::Array(length, element, _) => {
                self.length(id, length)?;
                self.walk(element, inner("", false, &"".into(), format!("{path}[]").into()))?;
            }
            Shape::Structure(s) => {
                for field in &s.fields {
                    self.walk(
                        &field.ty,
                        inner(&field.raw, true, &field.name, dotted(&field.name)),
                    )?;
                }
            }
            Shape::Variant(v) => {
                self.refer(
                    id,
                    &v.selector,
                    if v.ranges.is_none() { Use::Labels } else { Use::Selector },
                )?;
                for option in &v.options {
                    self.walk(
                        &option.ty,
                        inner(&option.raw, v.ranges.is_none(), &option.name, dotted(&option.name)),
                    )?;
                }
            }
            Shape::Optional(selector, _, ty) => {
                self.refer(id, selector, Use::Selector)?;
                self.walk(ty, inner("", false, &"".into(), path.clone()))?;
            }
            Shape::Integer(_) | Shape::Float(_) | Shape::Text(_) => {}
        }
        Ok(())
    }

    fn length(&mut self, id: NodeId, length: &Length) -> Result<(), Fault> {
        match length {
            Length::Fixed(_) => Ok(()),
            Length::Field(path) => self.refer(id, path, Use::Length),
        }
    }

    fn refer(&mut self, id: NodeId, path: &Path, what: Use) -> Result<(), Fault> {
        let target = resolve::target(self.context, &self.nodes, id, path, what)?;
        self.nodes.targets.insert(id, target);
        Ok(())
    }
}

/// Marks what says nothing to a reader. babeltrace does not show these either.
fn hide(nodes: &mut Nodes) {
    let count = nodes.list.len();
    // Shown, has members, wanted by something that is shown, shown with its siblings.
    let (mut shown, mut full, mut wanted, mut forced) =
        (vec![false; count], vec![false; count], vec![false; count], vec![false; count]);
    let set = |flags: &mut Vec<bool>, id: Option<NodeId>| {
        if let Some(flag) = id.and_then(|id| flags.get_mut(usize::try_from(id).ok()?)) {
            *flag = true;
        }
    };
    let is = |flags: &[bool], n: usize| flags.get(n).copied().unwrap_or(false);
    // What is referred to is before what refers, and members are behind their structure.
    for (n, node) in nodes.list.iter().enumerate().rev() {
        let internal = matches!(node.scope, Scope::PacketHeader | Scope::EventHeader);
        let own = match node.kind {
            Kind::Unsigned(_) | Kind::Signed(_) | Kind::Boolean(_) | Kind::Bits(_) => {
                node.roles.is_empty() || is(&wanted, n)
            }
            Kind::Blob => !node.roles.has(Role::Uuid),
            Kind::Structure => !is(&full, n) || is(&shown, n),
            Kind::Array(_) | Kind::Variant | Kind::Optional => is(&shown, n),
            Kind::Float(_) | Kind::Text(_) => true,
        };
        let own = own && !internal;
        set(&mut full, node.parent);
        if own {
            set(&mut shown, NodeId::try_from(n).ok());
            set(&mut shown, node.parent);
            if let Some(Target::Here(target)) =
                NodeId::try_from(n).ok().and_then(|id| nodes.targets.get(&id))
            {
                set(&mut wanted, Some(*target));
            }
        } else if let Some(flag) = shown.get_mut(n) {
            *flag = false;
        }
    }
    // An option that would be hidden is shown with its variant, since the selector may choose it.
    for (n, node) in nodes.list.iter().enumerate() {
        let variant =
            node.parent.filter(|p| nodes.get(*p).is_some_and(|p| p.kind == Kind::Variant));
        if variant.and_then(|p| usize::try_from(p).ok()).is_some_and(|p| is(&shown, p)) {
            set(&mut forced, NodeId::try_from(n).ok());
        }
    }
    for (n, node) in nodes.list.iter_mut().enumerate() {
        node.hidden = !is(&shown, n) && !is(&forced, n);
    }
}
