//! What is shown of a process, whatever way it is seen by.

use super::seat::Seat;
use super::share::Way;
use super::stage::Stage;
use crate::contract::Sink;
use crate::contract::Update;
use crate::model::{Value, cut};
use crate::sources::mono::metrics as m;

/// Bytes of a command line.
const COMMAND: usize = 1024;
/// Slot of the program's row.
const PROGRAM: u32 = 0;

/// What one way has shown of its process.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    begun: bool,
    /// The ways and the stage, as of [`Seat::changes`].
    seen: Option<(u8, Stage)>,
    changes: u64,
    /// The ways and the stage that are reported.
    ways: Option<u8>,
    stage: Option<Stage>,
}

impl Shown {
    /// Shows the process, once, and the ways that it is seen by and how far its reading has come,
    /// when they change: after the identity and about once a second. Returns the ways, as
    /// [`Way::bit`].
    pub(crate) fn tick(&mut self, seat: &Seat, sink: &mut dyn Sink) -> u8 {
        let changes = seat.changes();
        let (ways, stage) = match self.seen {
            Some(seen) if self.changes == changes => seen,
            _ => seat.look(),
        };
        (self.changes, self.seen) = (changes, Some((ways, stage)));
        if !std::mem::replace(&mut self.begun, true) {
            self.begin(seat, sink);
        }
        sink.update(Update::RowMember { table: m::PROGRAMS, slot: PROGRAM });
        if self.ways != Some(ways) {
            self.ways = Some(ways);
            let names = [(Way::Module, "module"), (Way::Stream, "stream"), (Way::Area, "area")];
            let seen = names.iter().filter(|(way, _)| ways & way.bit() != 0);
            let text = seen.map(|(_, name)| *name).collect::<Vec<_>>().join(",");
            sink.update(Update::Set { item: m::VIA, value: Value::text(&text) });
        }
        self.stage(stage, sink);
        ways
    }

    /// Shows how far the reading of a process has come.
    pub(crate) fn stage(&mut self, stage: Stage, sink: &mut dyn Sink) {
        if self.stage.replace(stage) != Some(stage) {
            sink.update(Update::Set { item: m::STATE, value: Value::U32(stage as u32) });
        }
    }

    /// Shows that the process is no longer read, and why. That stays as long as its values.
    pub(crate) fn gone(&mut self, why: &str, sink: &mut dyn Sink) {
        self.stage(Stage::Gone, sink);
        sink.update(Update::Set { item: m::REASON, value: Value::text(why) });
    }

    fn begin(&self, seat: &Seat, sink: &mut dyn Sink) {
        let (program, facts) = (seat.program(), seat.facts());
        let (table, slot) = (m::PROGRAMS, PROGRAM);
        sink.update(Update::Row { table, slot, key: Some(program) });
        sink.update(Update::RowLabels { table, slot, labels: &[("program", program)] });
        let command = facts.command_line();
        let set = [
            (m::COMMAND, Value::text(cut(&command, COMMAND))),
            (m::OWNER, Value::text(&facts.owner)),
            (m::CONTAINER_PID, Value::U32(facts.inner_pid)),
        ];
        for (item, value) in set {
            sink.update(Update::Set { item, value });
        }
        if let Some(started) = facts.started {
            sink.update(Update::Set { item: m::START_TIME, value: Value::I64(started) });
        }
    }
}
