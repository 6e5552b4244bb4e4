//! Sums of one agent's SQL statements.

use super::rows::{Layout, Of, Rows};
use super::sql::{key, normalise};
use super::types::SpanSums;
use crate::contract::Peer;
use crate::sources::zorka::limits::STATEMENTS;
use crate::sources::zorka::metrics as m;

const LAYOUT: Layout<3> = Layout {
    table: m::STATEMENTS,
    items: [m::STATEMENT_TIME, m::STATEMENT_COUNT, m::STATEMENT_ERRORS],
    max: STATEMENTS,
};

/// The statements of one agent.
#[derive(Debug)]
pub(crate) struct Statements(Rows<3>);

impl Default for Statements {
    fn default() -> Self {
        Self(Rows::new(LAYOUT))
    }
}

impl Statements {
    /// Counts a span with a statement of the agent: which service is slow is asked first, which
    /// statement of it next. `kind`: kind of the database, if known.
    pub(crate) fn add(
        &mut self,
        agent: &str,
        statement: &str,
        kind: Option<&str>,
        span: SpanSums,
        peer: &mut Peer,
    ) {
        let text = normalise(statement, kind);
        let slot = self.0.slot(&text, peer, |slot, of, peer| {
            let (table, own) = (m::STATEMENTS, of == Of::Key);
            let name = format!("{agent}::{}", key(&text));
            peer.row(table, slot, own.then_some(&*name));
            if own {
                let labels = &[("agent", agent), ("statement", &*text)];
                peer.row_labels(table, slot, labels);
            }
        });
        self.0.add(slot, [span.duration, 1, span.error.into()]);
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        self.0.report(peer);
    }

    /// A second has passed: full tables are begun anew, since new statements may take more time
    /// than those that have a row.
    pub(crate) fn tick(&mut self, peer: &mut Peer) {
        if self.0.is_full() {
            self.0.clear(peer);
        }
    }

    /// Frees what an idle agent does not need.
    pub(crate) fn clear(&mut self, peer: &mut Peer) {
        self.0.clear(peer);
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.0.memory()
    }
}
