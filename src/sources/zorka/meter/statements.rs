//! Sums of one agent's SQL statements.

use super::rows::{Layout, Of, Rows};
use super::sql::{key, normalise};
use super::types::SpanSums;
use crate::contract::Sink;
use crate::contract::Update;
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
        sink: &mut dyn Sink,
    ) {
        let text = normalise(statement, kind);
        let slot = self.0.slot(&text, sink, |slot, of, sink| {
            let (table, own) = (m::STATEMENTS, of == Of::Key);
            let name = format!("{agent}::{}", key(&text));
            sink.update(Update::Row { table, slot, key: own.then_some(&*name) });
            if own {
                let labels = &[("agent", agent), ("statement", &*text)];
                sink.update(Update::RowLabels { table, slot, labels });
            }
        });
        self.0.add(slot, [span.duration, 1, span.error.into()]);
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, sink: &mut dyn Sink) {
        self.0.report(sink);
    }

    /// A second has passed: full tables are begun anew, since new statements may take more time
    /// than those that have a row.
    pub(crate) fn tick(&mut self, sink: &mut dyn Sink) {
        if self.0.is_full() {
            self.0.clear(sink);
        }
    }

    /// Frees what an idle agent does not need.
    pub(crate) fn clear(&mut self, sink: &mut dyn Sink) {
        self.0.clear(sink);
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.0.memory()
    }
}
