//! Names of types, in lexical scopes: innermost out to the file.

use crate::ctf::schema::{Field, Type};
use std::collections::HashMap;
use std::sync::Arc;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Named {
    Type(Arc<Type>),
    /// Options of a variant without a selector; each use brings its own.
    Options(Arc<Vec<Field>>),
}

/// The scopes that are open. Structures, variants and enumerations have names of their own: `struct a`.
#[derive(Clone, Debug)]
pub(super) struct Names(Vec<HashMap<String, Named>>);

impl Default for Names {
    fn default() -> Self {
        Self(vec![HashMap::new()])
    }
}

impl Names {
    pub(super) fn enter(&mut self) {
        self.0.push(HashMap::new());
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    /// Back to the file, after a fault.
    pub(super) fn reset(&mut self) {
        self.0.truncate(1);
    }

    pub(super) fn find(&self, name: &str) -> Option<&Named> {
        self.0.iter().rev().find_map(|scope| scope.get(name))
    }

    /// False if the innermost scope has it already.
    pub(super) fn add(&mut self, name: String, named: Named) -> bool {
        self.0.last_mut().is_some_and(|scope| scope.insert(name, named).is_none())
    }
}
