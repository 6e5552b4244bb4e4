//! What is shown of a process, whatever way it is seen by.

use super::seat::Seat;
use super::share::Way;
use super::stage::Stage;
use crate::contract::Peer;
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
    pub(crate) fn tick(&mut self, seat: &Seat, peer: &mut Peer) -> u8 {
        let changes = seat.changes();
        let (ways, stage) = match self.seen {
            Some(seen) if self.changes == changes => seen,
            _ => seat.look(),
        };
        (self.changes, self.seen) = (changes, Some((ways, stage)));
        if !std::mem::replace(&mut self.begun, true) {
            self.begin(seat, peer);
        }
        peer.row_member(m::PROGRAMS, PROGRAM);
        if self.ways != Some(ways) {
            self.ways = Some(ways);
            let names = [(Way::Module, "module"), (Way::Stream, "stream"), (Way::Area, "area")];
            let seen = names.iter().filter(|(way, _)| ways & way.bit() != 0);
            let text = seen.map(|(_, name)| *name).collect::<Vec<_>>().join(",");
            peer.set(m::VIA, Value::text(&text));
        }
        self.stage(stage, peer);
        ways
    }

    /// Shows how far the reading of a process has come.
    pub(crate) fn stage(&mut self, stage: Stage, peer: &mut Peer) {
        if self.stage.replace(stage) != Some(stage) {
            peer.set(m::STATE, stage as u32);
        }
    }

    /// Shows that the process is no longer read, and why. That stays as long as its values.
    pub(crate) fn gone(&mut self, why: &str, peer: &mut Peer) {
        self.stage(Stage::Gone, peer);
        peer.set(m::REASON, Value::text(why));
    }

    fn begin(&self, seat: &Seat, peer: &mut Peer) {
        let (program, facts) = (seat.program(), seat.facts());
        let (table, slot) = (m::PROGRAMS, PROGRAM);
        peer.row(table, slot, Some(program));
        peer.row_labels(table, slot, &[("program", program)]);
        let command = facts.command_line();
        let set = [
            (m::COMMAND, Value::text(cut(&command, COMMAND))),
            (m::OWNER, Value::text(&facts.owner)),
            (m::CONTAINER_PID, Value::U32(facts.inner_pid)),
        ];
        for (item, value) in set {
            peer.set(item, value);
        }
        if let Some(started) = facts.started {
            peer.set(m::START_TIME, started);
        }
    }
}
