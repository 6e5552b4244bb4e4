//! What can be wrong with the tables of all sources together.

use std::collections::HashMap;

/// Two tables contradict each other, or an id is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// A component of a name that PCP's tools reject.
    #[error("{0}: a component of a name is [a-z][a-z0-9_]+")]
    Name(String),
    /// Two objects with the same name or id.
    #[error("{id} is given twice: to {first} and to {second}")]
    Twice {
        /// The shared name or id.
        id: String,
        /// The first place.
        first: String,
        /// The second place.
        second: String,
    },
    /// An id that is not within its bounds.
    #[error("{place}: {what} is out of range: {got}, must be {must}")]
    Range {
        /// The place.
        place: String,
        /// Which id.
        what: &'static str,
        /// Its value.
        got: u32,
        /// Its bounds.
        must: String,
    },
}

/// All contradictions of the tables, at least one. As a text: one a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct CatalogueError(Vec<Contradiction>);

/// Collects contradictions.
#[derive(Debug, Default)]
pub(super) struct Contradictions(Vec<Contradiction>);

impl Contradictions {
    pub(super) fn add(&mut self, contradiction: Contradiction) {
        self.0.push(contradiction);
    }

    /// `got` must be below the limit.
    pub(super) fn below(&mut self, limit: u32, got: u32, what: &'static str, place: &str) {
        if got >= limit {
            let must = format!("below {limit}");
            self.add(Contradiction::Range { place: place.to_owned(), what, got, must });
        }
    }

    /// A component of a name must be one that all of PCP's tools take.
    pub(super) fn component(&mut self, name: &str, place: &str) {
        let legal = name.len() >= 2
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !legal {
            self.add(Contradiction::Name(place.to_owned()));
        }
    }

    /// Each id has one place.
    pub(super) fn unique(&mut self, ids: &mut HashMap<String, String>, id: String, place: &str) {
        match ids.get(&id) {
            Some(first) => {
                let (first, second) = (first.clone(), place.to_owned());
                self.add(Contradiction::Twice { id, first, second });
            }
            None => {
                ids.insert(id, place.to_owned());
            }
        }
    }

    /// `Ok` if there is none.
    pub(super) fn result(self) -> Result<(), CatalogueError> {
        if self.0.is_empty() { Ok(()) } else { Err(CatalogueError(self.0)) }
    }
}
