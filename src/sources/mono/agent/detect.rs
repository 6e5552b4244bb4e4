//! Detection of dialect and byte order: up to six readers over the same bytes, each dropped at its
//! first impossible value (docs/protocols/mono-counters.md section 3.2).
//!
//! ```text
//!              ┌ N little ┐                       the first that decodes Headers and a Sample, strictly
//!   the same   │ N big    │   a violation         the last that is left
//!   bytes ────▶│ B little │ ─────────────────────▶ ─────────────────────────────────────────▶ decided
//!              │ …        │   drops a reader      the first that decodes both, when no strict one is left
//!              └ A big    ┘
//! ```
//!
//! A strict reader accepts only numbers of category, type, unit and variance that known runtimes
//! send. A reader with other numbers is not dropped, so that the counters of a future runtime are
//! accepted, but any strict one takes precedence.
//!
//! The decision depends on the bytes alone, not on the pieces in which they arrive: every reader
//! records the byte at which it failed or was done, and the earliest of these bytes decides.

use super::tokens::{Framing, Token, Tokenizer, Violation};
use crate::contract::SessionError;
use crate::heap_size;
use crate::read::Order;
use crate::sources::mono::limits;

/// Bytes that all readers decode between two checks of the decision; most streams are decided
/// within 16.
const WINDOW: usize = 64;
/// One assumption about the stream, followed until it fails or is proved.
#[derive(Debug)]
struct Hypothesis {
    tokenizer: Tokenizer,
    /// Bytes read as tokens.
    read: usize,
    /// Offset of the first impossible value.
    failed: Option<(u64, Violation)>,
    /// End of the first sample.
    done: Option<u64>,
}

heap_size!(Hypothesis { tokenizer });

impl Hypothesis {
    fn advance(&mut self, bytes: &[u8]) {
        while self.failed.is_none() && self.done.is_none() {
            match self.tokenizer.token(bytes.get(self.read..).unwrap_or_default()) {
                Ok(None) => return,
                Ok(Some((token, length))) => {
                    self.read += length;
                    if token == Token::SampleEnd {
                        self.done = Some(self.tokenizer.consumed());
                    }
                }
                Err(error) => self.failed = Some((error.offset, error.violation)),
            }
        }
    }

    fn failed_at(&self) -> u64 {
        self.failed.map_or(u64::MAX, |(at, _)| at)
    }

    /// The byte at which a strict reader stops.
    fn strict_until(&self) -> u64 {
        self.failed_at().min(self.tokenizer.odd().unwrap_or(u64::MAX))
    }
}

/// The framing and byte order of a stream.
pub(crate) type Decision = (Framing, Order);

/// The readers of a stream whose dialect is not known yet.
#[derive(Debug)]
pub(crate) struct Detector {
    hypotheses: Vec<Hypothesis>,
    seen: usize,
}

heap_size!(Detector { each hypotheses });

impl Detector {
    pub(crate) fn new() -> Self {
        let orders = [Order::Little, Order::Big];
        let all =
            [Framing::N, Framing::B, Framing::A].into_iter().flat_map(|f| orders.map(|o| (f, o)));
        let hypothesis = |(framing, order)| Hypothesis {
            tokenizer: Tokenizer::new(framing, order),
            read: 0,
            failed: None,
            done: None,
        };
        Self { hypotheses: all.map(hypothesis).collect(), seen: 0 }
    }

    /// Decodes the stream; `bytes` are all bytes since its beginning. `None`: too few to decide.
    pub(crate) fn look(&mut self, bytes: &[u8]) -> Result<Option<Decision>, SessionError> {
        let most = undecided_bytes(bytes);
        while self.seen < bytes.len().min(most) {
            self.seen = (self.seen + WINDOW).min(bytes.len()).min(most);
            let window = bytes.get(..self.seen).unwrap_or_default();
            self.hypotheses.iter_mut().for_each(|h| h.advance(window));
            if let Some(verdict) = self.verdict() {
                return verdict.map(Some).ok_or_else(|| self.fault(window));
            }
        }
        if self.seen == most {
            return Err(SessionError::Limit {
                limit: "bytes before the dialect shows",
                got: most as u64 + 1,
                max: most as u64,
            });
        }
        Ok(None)
    }

    /// The decision at the time-out: a complete Hello without a sample decides too.
    pub(crate) fn settle(&self) -> Option<Decision> {
        let complete =
            |h: &&Hypothesis| h.strict_until() == u64::MAX && h.tokenizer.hello_complete();
        let mut complete = self.hypotheses.iter().filter(complete);
        complete.next().filter(|_| complete.next().is_none()).map(decision)
    }

    /// The earliest of the three events that decide. `Some(None)`: no reader fits.
    fn verdict(&self) -> Option<Option<Decision>> {
        let strict = self
            .hypotheses
            .iter()
            .filter_map(|h| h.done.filter(|at| h.strict_until() > *at).map(|at| (at, h)));
        let none_strict =
            self.hypotheses.iter().map(Hypothesis::strict_until).max().filter(|at| *at < u64::MAX);
        let done = self.hypotheses.iter().filter_map(|h| Some((h.done?.max(none_strict?), h)));
        let proved = strict.chain(done).min_by_key(|(at, _)| *at);

        let mut by_end: Vec<&Hypothesis> = self.hypotheses.iter().collect();
        by_end.sort_by_key(|h| std::cmp::Reverse(h.failed_at()));
        let second = by_end.get(1).map_or(0, |h| h.failed_at());
        let alone = by_end.first().filter(|h| h.failed_at() > second);

        match proved {
            Some((at, h)) if at < second => Some(Some(decision(h))),
            _ if second < u64::MAX => Some(alone.map(|h| decision(h))),
            _ => None,
        }
    }

    /// No reader fits: the error of the one that decoded most.
    fn fault(&self, bytes: &[u8]) -> SessionError {
        let furthest = self.hypotheses.iter().filter_map(|h| h.failed).max_by_key(|(at, _)| *at);
        let (offset, what) =
            furthest.map_or((0, String::new()), |(at, what)| (at, format!(" ({what})")));
        // Only the bytes decoded, so that the message does not depend on how many have arrived.
        let shown = usize::try_from(offset).unwrap_or(usize::MAX).min(16);
        let start = bytes.get(..shown).unwrap_or_default().escape_ascii();
        SessionError::Malformed {
            offset,
            what: format!("no Mono counters agent: starts with \"{start}\"{what}"),
        }
    }
}

fn decision(h: &Hypothesis) -> Decision {
    (h.tokenizer.framing(), h.tokenizer.order())
}

/// Most bytes that may stay undecided, by the largest count that the first bytes can mean.
fn undecided_bytes(bytes: &[u8]) -> usize {
    let count = |at: usize| {
        let field = bytes.get(at..)?.first_chunk::<2>()?;
        [i16::from_le_bytes(*field), i16::from_be_bytes(*field)]
            .into_iter()
            .filter_map(|n| usize::try_from(n).ok())
            .max()
    };
    // A and B begin with the count; in N a command and a version come first.
    let largest = count(0).max(count(3)).unwrap_or(0);
    limits::UNDECIDED + largest * limits::UNDECIDED_PER_COUNTER
}

#[cfg(test)]
#[path = "detect_tests.rs"]
mod tests;
