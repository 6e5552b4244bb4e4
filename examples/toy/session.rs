//! One connection of a toy, without I/O.

use std::net::SocketAddr;

use bytes::BytesMut;

use super::metrics::{LINE, LINES, METRICS, MISSED, SPEED, TEXT, TRACK_LAPS, TRACKS, TRACKS_MAX};
use crate::contract::{Control, Identity, Peer, Rate, Service, Session, SessionError};
use crate::events::flags;
use crate::model::Now;

/// Most bytes of a line.
const LINE_MAX: usize = 256;
/// Most records of a peer in a second.
const RECORDS_A_SECOND: u64 = 10;

/// One peer.
pub(super) struct Toy {
    address: SocketAddr,
    /// What the line `hello` said; empty: none has come.
    name: String,
    /// Tracks that have slots: their positions here.
    tracks: Vec<String>,
    records: Rate,
    /// Stream offset after the last whole line, for errors.
    offset: u64,
}

impl Toy {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            name: String::new(),
            tracks: Vec::new(),
            records: Rate::default(),
            offset: 0,
        }
    }

    fn malformed(&self, what: &str) -> SessionError {
        SessionError::Malformed { offset: self.offset, what: what.to_owned() }
    }

    fn hello(&mut self, names: &str, peer: &mut Peer) -> Result<(), SessionError> {
        let (name, fleet) = names.split_once(' ').unwrap_or((names, ""));
        if name.is_empty() || names.trim_end() != names || fleet.contains(char::is_whitespace) {
            return Err(self.malformed("names without blanks are needed"));
        }
        name.clone_into(&mut self.name);
        let service = Service { name: fleet.to_owned(), ..Service::default() };
        let has_fleet = !fleet.is_empty();
        peer.is(Identity {
            name: name.to_owned(),
            peer: self.address.to_string(),
            labels: has_fleet.then(|| ("fleet", fleet.to_owned())).into_iter().collect(),
            service: has_fleet.then_some(service),
            ..Identity::default()
        });
        peer.start_counters(METRICS);
        Ok(())
    }

    fn lap(&mut self, track: &str, peer: &mut Peer) {
        let known = self.tracks.iter().position(|name| name == track);
        let at = known.unwrap_or(self.tracks.len());
        let slot = u32::try_from(at).unwrap_or(u32::MAX);
        if at == TRACKS_MAX {
            // All others share one slot, so what a peer may use is bounded.
            peer.row(TRACKS, slot, None);
        } else if known.is_none() {
            // A key is NAME::KEY, as instances of one domain have different names.
            peer.row(TRACKS, slot, Some(&format!("{}::{track}", self.name)));
            peer.row_labels(TRACKS, slot, &[("track", track)]);
            self.tracks.push(track.to_owned());
        }
        peer.row_add(slot, TRACK_LAPS, 1);
    }

    fn line(&mut self, now: Now, text: &str, peer: &mut Peer) -> Result<(), SessionError> {
        match text.split_once(' ') {
            Some(("hello", names)) if self.name.is_empty() => self.hello(names, peer)?,
            _ if self.name.is_empty() => {
                return Err(self.malformed("the first line is hello NAME"));
            }
            Some(("speed", number)) => {
                let speed: i64 =
                    number.parse().map_err(|_| self.malformed("speed takes a number"))?;
                peer.set(SPEED, speed);
            }
            Some(("lap", track)) if !track.contains(char::is_whitespace) => self.lap(track, peer),
            _ if self.records.allows(now.wall, Rate::step(RECORDS_A_SECOND)) => {
                peer.record(LINE, now.wall, flags::POINT, |record| record.text(TEXT, text));
            }
            _ => peer.add(MISSED, 1),
        }
        peer.add(LINES, 1);
        peer.message();
        Ok(())
    }
}

impl Session for Toy {
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        _: &mut BytesMut,
        peer: &mut Peer,
    ) -> Result<(), SessionError> {
        while let Some(end) = input.iter().position(|byte| *byte == b'\n') {
            let line = input.split_to(end + 1);
            let text = std::str::from_utf8(&line).map_err(|_| self.malformed("not UTF-8"))?;
            self.line(now, text.trim_end(), peer)?;
            self.offset += line.len() as u64;
        }
        if input.len() > LINE_MAX {
            let (got, max) = (input.len() as u64, LINE_MAX as u64);
            return Err(SessionError::Limit { limit: "line", got, max });
        }
        Ok(())
    }

    fn tick(&mut self, _: Now, _: &mut BytesMut, _: &mut Peer) -> Result<(), SessionError> {
        Ok(())
    }

    fn control(
        &mut self,
        _: Now,
        request: &Control,
        _: &mut BytesMut,
        _: &mut Peer,
    ) -> Result<(), SessionError> {
        match request {
            Control::Replaced => Err(SessionError::Closed("a newer connection took over")),
            _ => Ok(()),
        }
    }

    fn close(&mut self, _: Now, _: &mut BytesMut, _: &mut Peer) {}

    fn established(&self) -> bool {
        !self.name.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Recorded;
    use crate::model::Stamp;

    #[test]
    fn lines_become_updates_wherever_they_are_cut() {
        let now = Now::default();
        let mut peer = Recorded::new(&super::super::metrics::TABLE);
        let mut toy = Toy::new(SocketAddr::from(([127, 0, 0, 1], 1)));
        let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
        for byte in b"hello car\nspeed 88\nhonk\n" {
            input.extend_from_slice(&[*byte]);
            toy.feed(now, &mut input, &mut out, &mut peer).expect("sound");
        }
        assert!(toy.established() && out.is_empty() && input.is_empty());
        assert_eq!(peer.identity().expect("said").name, "car");
        assert_eq!((peer.number(SPEED), peer.count(LINES)), (Some(88), 3));
        assert_eq!(peer.records()[0].get("text"), Some("honk"));
        input.extend_from_slice(b"speed fast\n");
        assert!(toy.feed(now, &mut input, &mut out, &mut peer).is_err());
    }

    /// Feeds lines to a new toy.
    fn fed(at: Now, lines: &str) -> Recorded {
        let mut peer = Recorded::new(&super::super::metrics::TABLE);
        let mut toy = Toy::new(SocketAddr::from(([127, 0, 0, 1], 1)));
        let (mut input, mut out) = (BytesMut::from(lines), BytesMut::new());
        toy.feed(at, &mut input, &mut out, &mut peer).expect("sound");
        peer
    }

    #[test]
    fn tracks_are_rows_of_the_peer_and_its_fleet_is_its_service() {
        let laps: String = (0..40).map(|n| format!("lap T{}\n", n % 20)).collect();
        let peer = fed(Now::default(), &format!("hello car red\n{laps}"));
        // `Recorded` names rows without the peer. The store adds to the row of the service, not the session.
        let rows = peer.rows(TRACK_LAPS);
        assert_eq!((rows.len(), rows["T3"], rows["other"]), (TRACKS_MAX + 1, 2, 8));
        let labels = peer.log().row_labels[&(TRACKS, "T3".to_owned())].clone();
        assert_eq!(labels, [("track".to_owned(), "T3".to_owned())]);
        assert_eq!(peer.identity().and_then(|who| who.service).expect("a fleet").name, "red");
    }

    #[test]
    fn a_second_has_ten_records() {
        let at = Now { wall: Stamp::from_millis(1_800_000_000_000), ..Now::default() };
        let peer = fed(at, &format!("hello car\n{}", "honk\n".repeat(25)));
        assert_eq!((peer.events(LINE).len(), peer.count(MISSED)), (10, 15));
    }
}
