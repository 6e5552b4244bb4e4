//! Exceptions of one process. The stream has no classes of exceptions, only objects: a throw event
//! is a throw or a rethrow, and where it came from is its innermost frame.

use super::names::{Names, site, type_name};
use super::rows::{Fixed, Pending};
use crate::contract::Peer;
use crate::runtimes::Layout;
use crate::sources::mono::metrics as m;
use crate::sources::mono::mlpd::clause;

const SITES: Layout<1> = Layout { table: m::SITES, items: [m::SITE_EXCEPTIONS], label: "site" };
const TYPES: Layout<1> =
    Layout { table: m::EXCEPTION_TYPES, items: [m::EXCEPTION_TYPE], label: "type" };
/// Rows of the table of clauses, and the numbers of their kinds.
const CLAUSES: [&str; 4] = ["catch", "filter", "finally", "fault"];
const KINDS: [u8; 4] = [clause::CATCH, clause::FILTER, clause::FINALLY, clause::FAULT];

/// Exceptions and their clauses.
#[derive(Debug)]
pub(super) struct Exceptions {
    /// By method.
    sites: Pending<u64, 1>,
    /// By type of the object.
    types: Pending<u64, 1>,
    clauses: Fixed<4, 1>,
    /// Thrown since the stream began.
    pub(super) thrown: u64,
}

impl Default for Exceptions {
    fn default() -> Self {
        Self {
            sites: Pending::new(SITES),
            types: Pending::new(TYPES),
            clauses: Fixed::new(m::CLAUSES, "clause", CLAUSES, [m::CLAUSE]),
            thrown: 0,
        }
    }
}

impl Exceptions {
    /// All rows that are known exist.
    pub(super) fn start(&mut self, owner: &str, peer: &mut Peer) {
        self.clauses.start(owner, peer);
    }

    /// An exception was thrown. `kind`: the type of the object, if types are known at all.
    pub(super) fn thrown(&mut self, frames: &[u64], kind: Option<Option<u64>>) {
        self.thrown = self.thrown.saturating_add(1);
        if let Some(innermost) = frames.last() {
            self.sites.add(Some(*innermost), [1]);
        }
        if let Some(kind) = kind {
            self.types.add(kind, [1]);
        }
    }

    /// A clause runs.
    pub(super) fn clause(&mut self, kind: u8) {
        if let Some(row) = KINDS.iter().position(|known| *known == kind) {
            self.clauses.add(row, [1]);
        }
    }

    /// Reports the sums since the last report.
    pub(super) fn report(
        &mut self,
        (owner, version): (&str, u8),
        force: bool,
        names: &dyn Names,
        peer: &mut Peer,
    ) {
        self.sites.report(owner, force, |id| names.method(*id).map(site), peer);
        let kind = |id: &u64| type_name(names, version, *id).map(str::to_owned);
        self.types.report(owner, force, kind, peer);
        self.clauses.report(owner, peer);
    }

    /// Nothing waits for a name.
    pub(super) fn is_settled(&self) -> bool {
        self.sites.is_empty() && self.types.is_empty()
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.sites.memory() + self.types.memory()
    }
}
