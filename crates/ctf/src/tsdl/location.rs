//! Paths of lengths and selectors (CTF 1.8, 7.3.2).

use std::sync::Arc;

use crate::error::{DeclarationError, bounded, malformed};
use crate::limits;
use crate::schema::{FieldLocation, LocationOrigin, Scope};

/// Absolute if the path starts with the name of a dynamic scope, else relative to the nearest
/// structure that has its first name.
pub(super) fn parse(text: &str) -> Result<FieldLocation, DeclarationError> {
    let scope = |s: Scope| {
        text.strip_prefix(s.name())
            .and_then(|rest| rest.strip_prefix('.'))
            .map(|rest| (LocationOrigin::Scope(s), rest))
    };
    let (origin, rest) = Scope::ALL
        .into_iter()
        .find_map(scope)
        .or_else(|| text.strip_prefix("env.").map(|rest| (LocationOrigin::Environment, rest)))
        .unwrap_or((LocationOrigin::Nearest, text));
    let names: Vec<Arc<str>> = rest.split('.').map(Arc::from).collect();
    bounded("names of a path", names.len() as u64, limits::DEPTH)?;
    if names.iter().any(|n| n.is_empty()) {
        return malformed!("{text} is no path");
    }
    Ok(FieldLocation { origin, names })
}
