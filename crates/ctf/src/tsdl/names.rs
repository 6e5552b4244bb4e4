//! Names of field classes in lexical scopes, from the innermost to the file.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{DeclarationError, bounded};
use crate::limits;
use crate::schema::{FieldClass, Member};

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(super) enum Named {
    Class(Arc<FieldClass>),
    /// Options of a variant without a selector; each use names its selector.
    Options(Arc<Vec<Member>>),
}

/// The open lexical scopes. Names of structures, variants and enumerations include the keyword:
/// `struct a`.
#[derive(Clone, Debug)]
pub(super) struct Names {
    scopes: Vec<HashMap<String, Named>>,
    /// Number of field classes, fields and mappings so far.
    declared: u64,
}

impl Default for Names {
    fn default() -> Self {
        Self { scopes: vec![HashMap::new()], declared: 0 }
    }
}

impl Names {
    pub(super) fn enter(&mut self) {
        self.scopes.push(HashMap::new());
    }

    pub(super) fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Closes all scopes except that of the file, after an error.
    pub(super) fn reset(&mut self) {
        self.scopes.truncate(1);
    }

    /// Counts one more field class, field or mapping.
    pub(super) fn declare(&mut self) -> Result<(), DeclarationError> {
        self.declared += 1;
        bounded("declarations of a trace", self.declared, limits::DECLARED)
    }

    pub(super) fn find(&self, name: &str) -> Option<&Named> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// `false` if the innermost scope already has the name.
    pub(super) fn add(&mut self, name: String, named: Named) -> bool {
        self.scopes.last_mut().is_some_and(|scope| scope.insert(name, named).is_none())
    }
}
