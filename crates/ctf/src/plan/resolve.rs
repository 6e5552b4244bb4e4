//! Resolves a field location to a node (CTF 1.8, 7.3.2; CTF 2, 5.3.2).

use std::sync::Arc;

use super::node::{Kind, NodeId, Nodes, Target};
use crate::error::{DeclarationError, malformed};
use crate::schema::{EnvValue, FieldLocation, LocationOrigin, Schema};

/// The surroundings of the compiled scopes.
pub(crate) struct Context<'a> {
    pub(crate) schema: &'a Schema,
    /// Nodes of earlier scopes, in the order of decoding.
    pub(crate) outer: &'a [&'a Nodes],
}

/// The use of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Length,
    /// The selector of a variant whose options have the names of its mappings (CTF 1.8).
    Mappings,
    Selector,
}

/// The target of a path in node `id`. All nodes before `id` are known.
pub(super) fn target(
    context: &Context<'_>,
    nodes: &Nodes,
    id: NodeId,
    path: &FieldLocation,
    what: Use,
) -> Result<Target, DeclarationError> {
    let text = || path.names.join(".");
    let target = match path.origin {
        LocationOrigin::Environment => return constant(context, path, what),
        LocationOrigin::Scope(scope) => match nodes.roots.iter().find(|(s, _)| *s == scope) {
            Some((_, root)) => follow(nodes, *root, &path.names, id).map(Target::Here),
            None => outer(context, |s| s == scope, &path.names),
        },
        LocationOrigin::Up(levels) => {
            let around = structures(nodes, id).nth(usize::try_from(levels).unwrap_or(usize::MAX));
            around.and_then(|s| follow(nodes, s, &path.names, id)).map(Target::Here)
        }
        LocationOrigin::Nearest => structures(nodes, id)
            .chain(nodes.roots.iter().rev().map(|(_, root)| *root))
            .find_map(|s| follow(nodes, s, &path.names, id))
            .map(Target::Here)
            .or_else(|| outer(context, |_| true, &path.names)),
    };
    let Some(target) = target else {
        return malformed!("{}: no field {} before it", nodes.full_name(id), text());
    };
    let node = match target {
        Target::Here(id) => nodes.get(id),
        Target::Outer(layer, id) => context.outer.get(layer).and_then(|nodes| nodes.get(id)),
        Target::Constant(_) => None,
    };
    let fits = node.is_some_and(|node| match (what, node.kind) {
        (Use::Length, kind) => matches!(kind, Kind::Unsigned(_)),
        (Use::Mappings, Kind::Unsigned(_) | Kind::Signed(_)) => node.mappings.is_some(),
        (Use::Selector, kind) => {
            matches!(kind, Kind::Unsigned(_) | Kind::Signed(_) | Kind::Boolean(_))
        }
        (Use::Mappings, _) => false,
    });
    if fits {
        return Ok(target);
    }
    let wanted = match what {
        Use::Length => "unsigned integer",
        Use::Mappings => "enumeration",
        Use::Selector => "integer",
    };
    malformed!("{}: {} is no {wanted}", nodes.full_name(id), text())
}

/// The structures that enclose a node, innermost first.
fn structures(nodes: &Nodes, id: NodeId) -> impl Iterator<Item = NodeId> {
    around(nodes, id).filter(|id| nodes.is_structure(*id))
}

/// The nodes that enclose a node, innermost first.
fn around(nodes: &Nodes, id: NodeId) -> impl Iterator<Item = NodeId> {
    std::iter::successors(nodes.parent(id), |id| nodes.parent(*id))
}

/// Follows names down from a structure. Enters other kinds only if they enclose `from`, since only
/// then is the element or option unambiguous. Arrays and optionals have no names; variants have
/// those of their options in CTF 1.8 only.
fn follow(nodes: &Nodes, structure: NodeId, names: &[Arc<str>], from: NodeId) -> Option<NodeId> {
    let chain: Vec<NodeId> = around(nodes, from).collect();
    let mut at = structure;
    for name in names {
        let mut next = nodes.members.get(&(at, name.clone()));
        while !nodes.is_structure(at) {
            let inside = chain.iter().position(|id| *id == at)?;
            if let Some(option) = next {
                // Only the option that encloses `from`.
                chain.get(..inside)?.iter().find(|id| *id == option)?;
                break;
            }
            at = *chain.get(inside.checked_sub(1)?)?;
            next = nodes.members.get(&(at, name.clone()));
        }
        at = *next?;
    }
    Some(at)
}

/// Searches earlier scopes, the latest first.
fn outer(
    context: &Context<'_>,
    wanted: impl Fn(crate::schema::Scope) -> bool,
    names: &[Arc<str>],
) -> Option<Target> {
    context.outer.iter().enumerate().rev().find_map(|(layer, nodes)| {
        let roots = nodes.roots.iter().rev().filter(|(scope, _)| wanted(*scope));
        let find = |root: NodeId| {
            // No node of an earlier scope encloses the field, so only structures can be entered.
            let mut at = root;
            for (n, name) in names.iter().enumerate() {
                at = *nodes.members.get(&(at, name.clone()))?;
                if n + 1 < names.len() && !nodes.is_structure(at) {
                    return None;
                }
            }
            Some(at)
        };
        roots.map(|(_, root)| *root).find_map(find).map(|id| Target::Outer(layer, id))
    })
}

fn constant(
    context: &Context<'_>,
    path: &FieldLocation,
    what: Use,
) -> Result<Target, DeclarationError> {
    let key = path.names.join(".");
    match (what, context.schema.env(&key)) {
        (Use::Length, Some(EnvValue::Integer(n))) if u64::try_from(*n).is_ok() => {
            Ok(Target::Constant(u64::try_from(*n).unwrap_or_default()))
        }
        _ => malformed!("env.{key} is no length"),
    }
}
