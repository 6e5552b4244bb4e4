//! The events of most packets: the layout of their headers is known, and the places of all fields
//! follow from the byte after the header.

use super::{Event, EventVisitor, Packet};
use crate::error::PacketError;
use crate::visit::Nobody;

impl<'t, 'a> Packet<'t, 'a> {
    /// Reports up to `events` events, without the cursor: the position and the clock are in
    /// registers. Returns how many are left when the next one is not of this kind, is not complete,
    /// not wanted now or not there. If its header was decoded, it is [`Self::next`].
    ///
    /// # Errors
    /// [`PacketError`], as of [`Self::visit`].
    #[inline(always)]
    pub(super) fn quick<S: EventVisitor<'t, 'a> + ?Sized>(
        &mut self,
        mut events: usize,
        sink: &mut S,
    ) -> Result<usize, PacketError> {
        let (stream, mut latest, mut clock) = (self.stream, self.latest, self.cursor.clock);
        let first = self.cursor.bit;
        let Some((bytes, slots)) = self.cursor.bytes() else { return Ok(events) };
        // Bits of the last byte before `rest` that belong to no event.
        let (mut rest, mut spare, mut cut) = (bytes, 0, None);
        while events > 0 {
            let Some(header) = stream.layout.read(rest, clock) else { break };
            let class = match latest.filter(|class| header.id == class.id) {
                Some(class) => class,
                None => {
                    let Some(class) = stream.event(header.id) else { break };
                    latest = Some(class);
                    class
                }
            };
            let bit = first + (bytes.len() - rest.len()) as u64 * 8;
            let event = Event { class, cycles: header.clock, bit };
            (rest, clock, spare) = (header.rest, header.clock, 0);
            let steps = match &class.code.steps {
                Some(steps) if sink.ready(&event) => steps,
                _ => {
                    self.next = Some(event);
                    break;
                }
            };
            let wanted = sink.event(&event);
            let after =
                if wanted { steps.read(rest, slots, sink) } else { steps.skip(rest, slots) };
            let Some(after) = after else {
                cut = Some(event);
                break;
            };
            (rest, spare) = (after, steps.spare);
            if wanted {
                sink.done();
            } else {
                sink.skipped();
            }
            events -= 1;
        }
        self.cursor.moved(bytes.len() - rest.len(), spare);
        (self.latest, self.cursor.clock) = (latest, clock);
        if let Some(event) = cut {
            // Once more, to find out what is wrong.
            self.fields(event, &mut Nobody)?;
            debug_assert!(false, "steps and operations do not agree");
        }
        Ok(events)
    }
}
