//! One connection of a toy, without I/O.

use std::net::SocketAddr;

use bytes::BytesMut;

use super::{LINE, LINES, METRICS, SPEED, TEXT};
use crate::events::flags;
use crate::contract::{Control, EventParam, Identity, Update};
use crate::model::{Now, Value};
use crate::contract::{Session, SessionError, Sink, start_counters};

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

    fn line(&mut self, now: Now, text: &str, sink: &mut dyn Sink) -> Result<(), SessionError> {
        match text.split_once(' ') {
            Some(("hello", name)) if !self.named => {
                if name.is_empty() || name.contains(char::is_whitespace) {
                    return Err(self.malformed("a name without blanks is needed"));
                }
                self.named = true;
                sink.update(Update::Identity(Identity {
                    name: name.to_owned(),
                    peer: self.address.to_string(),
                    ..Identity::default()
                }));
                start_counters(METRICS, sink);
            }
            _ if !self.named => return Err(self.malformed("the first line is hello NAME")),
            Some(("speed", number)) => {
                let speed = number.parse().map_err(|_| self.malformed("speed takes a number"))?;
                sink.update(Update::Set { item: SPEED, value: Value::I64(speed) });
            }
            _ => sink.update(Update::Event {
                kind: LINE,
                stamp: now.wall,
                flags: flags::POINT,
                params: &[EventParam::text(TEXT, text)],
            }),
        }
        sink.update(Update::Count { item: LINES, more: 1 });
        sink.update(Update::Message);
        Ok(())
    }
}

impl Session for Toy {
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        _: &mut BytesMut,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        while let Some(end) = input.iter().position(|byte| *byte == b'\n') {
            let line = input.split_to(end + 1);
            let text = std::str::from_utf8(&line).map_err(|_| self.malformed("not UTF-8"))?;
            self.line(now, text.trim_end(), sink)?;
            self.offset += line.len() as u64;
        }
        if input.len() > LINE_MAX {
            let (got, max) = (input.len() as u64, LINE_MAX as u64);
            return Err(SessionError::Limit { limit: "line", got, max });
        }
        Ok(())
    }

    fn tick(&mut self, _: Now, _: &mut BytesMut, _: &mut dyn Sink) -> Result<(), SessionError> {
        Ok(())
    }

    fn control(
        &mut self,
        _: Now,
        request: &Control,
        _: &mut BytesMut,
        _: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        match request {
            Control::Replaced => Err(SessionError::Closed("a newer connection took over")),
            _ => Ok(()),
        }
    }

    fn close(&mut self, _: Now, _: &mut BytesMut, _: &mut dyn Sink) {}

    fn established(&self) -> bool {
        self.named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Updates(Vec<String>);

    impl Sink for Updates {
        fn update(&mut self, update: Update<'_>) {
            self.0.push(format!("{update:?}"));
        }
    }

    #[test]
    fn lines_become_updates_wherever_they_are_cut() {
        let now = Now { wall: crate::model::Stamp::default(), monotonic: std::time::Duration::ZERO };
        let mut sink = Updates::default();
        let mut toy = Toy::new(SocketAddr::from(([127, 0, 0, 1], 1)));
        let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
        for byte in b"hello car\nspeed 88\nhonk\n" {
            input.extend_from_slice(&[*byte]);
            toy.feed(now, &mut input, &mut out, &mut sink).expect("sound");
        }
        assert!(toy.established() && out.is_empty() && input.is_empty());
        let has = |text: &str| sink.0.iter().any(|update| update.contains(text));
        assert!(has("name: \"car\"") && has("I64(88)") && has("honk"), "{:?}", sink.0);
        input.extend_from_slice(b"speed fast\n");
        assert!(toy.feed(now, &mut input, &mut out, &mut sink).is_err());
    }
}
