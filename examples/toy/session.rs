//! One connection of a toy, without I/O.

use std::net::SocketAddr;

use bytes::BytesMut;

use super::{LINE, LINES, METRICS, SPEED, TEXT};
use crate::events::flags;
use crate::contract::{Control, EventParam, Identity, Peer, Session, SessionError};
use crate::model::Now;

/// Most bytes of a line.
const LINE_MAX: usize = 256;

/// One peer.
pub(super) struct Toy {
    address: SocketAddr,
    /// The line `hello` was received.
    named: bool,
    /// Stream offset after the last whole line, for errors.
    offset: u64,
}

impl Toy {
    pub(super) const fn new(address: SocketAddr) -> Self {
        Self { address, named: false, offset: 0 }
    }

    fn malformed(&self, what: &str) -> SessionError {
        SessionError::Malformed { offset: self.offset, what: what.to_owned() }
    }

    fn line(&mut self, now: Now, text: &str, peer: &mut Peer) -> Result<(), SessionError> {
        match text.split_once(' ') {
            Some(("hello", name)) if !self.named => {
                if name.is_empty() || name.contains(char::is_whitespace) {
                    return Err(self.malformed("a name without blanks is needed"));
                }
                self.named = true;
                peer.is(Identity {
                    name: name.to_owned(),
                    peer: self.address.to_string(),
                    ..Identity::default()
                });
                peer.start_counters(METRICS);
            }
            _ if !self.named => return Err(self.malformed("the first line is hello NAME")),
            Some(("speed", number)) => {
                let speed: i64 = number.parse().map_err(|_| self.malformed("speed takes a number"))?;
                peer.set(SPEED, speed);
            }
            _ => peer.event(LINE, now.wall, flags::POINT, &[EventParam::text(TEXT, text)]),
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
        self.named
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Recorded;
    use crate::sources::Source;

    #[test]
    fn lines_become_updates_wherever_they_are_cut() {
        let now = Now { wall: crate::model::Stamp::default(), monotonic: std::time::Duration::ZERO };
        let mut peer = Recorded::new(&crate::sources::toy::Toy::TABLE);
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
}
