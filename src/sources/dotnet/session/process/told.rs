//! What is told of a process to those who read its metrics.

use std::borrow::Cow;

use super::Process;
use crate::model::{Condition, Departure, Manner};
use crate::sources::dotnet::session::state::State;
use crate::sources::dotnet::session::words;

impl Process {
    /// How it left, once it [is over](Process::is_over).
    #[must_use]
    pub const fn departure(&self) -> Departure {
        let (manner, why) = match self.state {
            State::Gone if self.cut => (Manner::Lost, words::KILLED),
            State::Gone => (Manner::Regular, words::GONE),
            _ => (Manner::Regular, "the PMDA stopped"),
        };
        Departure { manner, why: Cow::Borrowed(why) }
    }

    /// What keeps values away.
    #[must_use]
    pub fn condition(&self) -> Condition {
        let reason = self.reason.clone();
        match self.state {
            State::Streaming
                if [words::STREAMING, words::EVENTS, words::EVENTS_YET].contains(&&*reason) =>
            {
                Condition::Sound
            }
            State::Streaming => Condition::Impaired(reason),
            State::Found if !self.wanted || self.is_left_out() => Condition::Unread(reason),
            State::Found | State::Connected | State::Stopping => Condition::Starting(reason),
            State::NoPermission | State::Refused => Condition::Unread(reason),
            State::Gone => Condition::Sound,
        }
    }
}
