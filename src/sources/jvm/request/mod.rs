//! What a user may ask of one JVM: what is sent to it, and what is shown of its answer (docs/jvm.md). It is pure:
//! `io::attach` sends, `io::desk` says when.

mod dump;
mod histogram;
mod profile;
#[cfg(test)]
mod tests;

use super::metrics as m;
use super::metrics::Request;
use crate::contract::Peer;
use crate::model::{ControlId, HeapSize};
use dump::Dump;
use histogram::Histogram;
use profile::Profile;
pub(super) use profile::{start, stop};

/// What an answer has, ready to be shown.
#[derive(Debug)]
pub(crate) enum Found {
    Histogram(Histogram),
    Threads(Dump),
    Profile(Profile),
}

impl Request {
    /// The oldest JDK that can do it.
    pub(super) const fn needs(self) -> u32 {
        if matches!(self, Self::Profile(_)) { 17 } else { 8 }
    }

    /// The diagnostic command that answers it at once.
    pub(super) const fn command(self) -> &'static str {
        match self {
            Self::Histogram(false) => "GC.class_histogram -all",
            Self::Histogram(true) => "GC.class_histogram",
            _ => "Thread.print",
        }
    }

    /// Reads the answer.
    ///
    /// # Errors
    /// It is not what was asked for.
    pub(super) fn read(self, answer: &[u8]) -> Result<Found, String> {
        Ok(match self {
            Self::Histogram(_) => Found::Histogram(Histogram::read(answer)?),
            Self::Threads => Found::Threads(Dump::read(answer)?),
            Self::Profile(_) | Self::Reset => Found::Profile(Profile::read(answer)?),
        })
    }
}

impl Found {
    /// Shows it in the rows and records of `instance`. Returns the answer to the request.
    pub(super) fn show(&self, instance: &str, peer: &mut Peer) -> String {
        match self {
            Self::Histogram(found) => found.show(instance, peer),
            Self::Threads(found) => found.show(instance, peer),
            Self::Profile(found) => found.show(instance, peer),
        }
    }
}

impl HeapSize for Found {
    fn heap_size(&self) -> usize {
        match self {
            Self::Histogram(found) => found.heap_size(),
            Self::Threads(_) => 0,
            Self::Profile(found) => found.heap_size(),
        }
    }
}

/// What the control has brought is forgotten: rows begin anew. Returns the answer.
pub(super) fn reset(control: ControlId, peer: &mut Peer) -> String {
    let tables: &[_] =
        if control == m::PROFILE { &[m::STACKS, m::METHODS] } else { &[m::CLASS_ROWS] };
    tables.iter().for_each(|table| peer.forget_rows(*table));
    "reset: what comes next begins at 0".to_owned()
}
