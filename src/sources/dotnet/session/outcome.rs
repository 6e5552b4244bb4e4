//! Answers, why there is none, and the time until the next attempt.

use std::borrow::Cow;
use std::time::Duration;

use super::collect::{Command, End, Failure, Line};
use super::told::State;
use super::{Asked, Process, told};
use crate::sources::dotnet::limits;
use crate::sources::dotnet::wire::ipc::{Answer, Code, CollectCommand, Info, InfoCommand};

impl Process {
    pub(super) fn ask_answered(&mut self, now: Duration, answer: &Answer<'_>) {
        self.commands.push(Command::Close(Line::Ask));
        match (self.asked.take(), answer) {
            (Some((Asked::Info(command), _)), Answer::Done(payload)) => {
                self.next_info = Some(command);
                self.info = Info::parse(command, payload);
                self.named = now >= self.settled;
                if self.info.is_none() {
                    self.older_info(command);
                }
            }
            (Some((Asked::Info(command), _)), Answer::Refused(Code::UNKNOWN_COMMAND)) => {
                self.older_info(command);
            }
            (Some((Asked::Info(_), _)), Answer::Refused(code)) => self.refused(now, *code),
            (Some((Asked::Check, _)), _) if self.counted.is_none() => {
                let why = if self.heard { told::NO_COUNTERS } else { told::MUTE };
                self.say(State::Streaming, why);
            }
            // Any answer is a sign of life.
            (Some((Asked::Check, _)), _) => {
                self.silenced = true;
                self.say(State::Stopping, told::COUNTERS_STOPPED);
                self.main.stop(now, self.stop_time(), &mut self.commands);
            }
            (Some((Asked::Resume, _)), _) => {
                self.resume = false;
                self.main.resumed(now);
                if self.sessions == 0 && self.main.is_closed() {
                    // It may have waited since long before, and begins to run only now.
                    (self.found, self.age) = (now, Duration::ZERO);
                }
            }
            (None, _) => {}
        }
    }

    /// Runtimes before .NET 5 know no ProcessInfo.
    pub(super) const fn older_info(&mut self, command: InfoCommand) {
        self.next_info = match command {
            InfoCommand::Three => Some(InfoCommand::Two),
            InfoCommand::Two => Some(InfoCommand::One),
            InfoCommand::One => None,
        };
    }

    pub(super) fn ask_timed_out(&mut self, now: Duration, asked: Asked) {
        match asked {
            Asked::Info(_) => self.fail(now, told::HANGS.into(), true),
            Asked::Check => {
                self.errors += 1;
                self.say(State::Streaming, told::HANGS);
            }
            Asked::Resume => self.resume_failed(now),
        }
    }

    pub(super) fn ask_failed(&mut self, now: Duration, failure: &Failure) {
        match self.asked.take() {
            Some((Asked::Info(_), _)) => self.fail_with(now, failure),
            Some((Asked::Check, _)) => self.say(State::Streaming, told::failure(failure)),
            Some((Asked::Resume, _)) => self.resume_failed(now),
            None => {}
        }
    }

    /// The process may still wait: the next connection to the port brings the next attempt.
    pub(super) fn resume_failed(&mut self, now: Duration) {
        self.errors += 1;
        self.resume_after = now + limits::RESUME;
        self.resume = !self.stopping;
    }

    pub(super) fn main_answered(&mut self, now: Duration, answer: &Answer<'_>) {
        match (answer.session(), answer) {
            (Some(id), _) => {
                if self.main.is_closed() {
                    return;
                }
                self.main.opened(now, id, &mut self.commands);
                let again = self.sessions > 0 && !std::mem::take(&mut self.upgrading);
                self.restarts += u64::from(again);
                self.sessions += 1;
                self.say(State::Connected, told::OPENED);
            }
            (None, Answer::Refused(Code::UNKNOWN_COMMAND)) => {
                self.main.close(&mut self.commands);
                self.collect = self.collect.and_then(CollectCommand::older);
                if self.collect.is_none() {
                    let wait = self.backoff.longest();
                    self.fail_for(now, told::NO_COMMAND.into(), true, wait);
                }
            }
            (None, Answer::Refused(code)) => {
                self.main.close(&mut self.commands);
                self.refused(now, *code);
            }
            (None, Answer::Done(_)) => {
                self.main.close(&mut self.commands);
                self.fail(now, told::SHORT_SESSION.into(), true);
            }
        }
    }

    pub(super) fn main_stop_answered(&mut self, now: Duration) {
        if self.main.stop_answered(&mut self.commands) {
            self.main_closed(now);
        }
    }

    /// A session that has lasted makes up for what failed before.
    pub(super) fn settle(&mut self, now: Duration) {
        if now.saturating_sub(self.began) > limits::SETTLED {
            self.backoff = Backoff::new();
        }
    }

    /// The session has ended as it was asked to.
    pub(super) fn main_closed(&mut self, now: Duration) {
        let fault = self.fault.take();
        if self.stopping || !self.wanted {
            self.say(State::Found, told::STOPPED);
        } else if let Some(why) = fault {
            self.say(State::Refused, why);
        } else if std::mem::take(&mut self.silenced) {
            // At once the first time, then slower: some tools end a session each minute.
            let wait = self.backoff.next();
            let settled = now.saturating_sub(self.began) > limits::SETTLED;
            self.retry = if settled { now } else { now + wait };
            self.say(State::Connected, told::COUNTERS_STOPPED);
        }
    }

    /// A stream has ended.
    pub fn ended(&mut self, now: Duration, line: Line, end: End) {
        match line {
            Line::Main => {
                let asked = self.main.is_stopping();
                self.cut = !asked && end == End::Cut;
                if self.may_be_silent() {
                    self.settle(now);
                }
                let closed = self.main.ended(now, &mut self.commands);
                match end {
                    _ if asked && closed => self.main_closed(now),
                    _ if asked => {}
                    End::Whole => self.fail(now, told::ENDED.into(), false),
                    End::Cut => self.fail(now, told::CUT.into(), false),
                    End::Halted => self.fail(now, told::HALTED.into(), true),
                }
            }
            Line::Burst => {
                self.errors += u64::from(!self.burst.is_stopping());
                self.burst.ended(now, &mut self.commands);
            }
            Line::Ask | Line::Stop | Line::BurstStop => {}
        }
        self.advance(now);
    }

    pub(super) fn burst_failed(&mut self, why: String) {
        self.errors += 1;
        log::warn!("dotnet: a CPU profile failed: {why}");
        self.burst.close(&mut self.commands);
    }

    pub(super) fn refused(&mut self, now: Duration, code: Code) {
        let early = matches!(code, Code::NOT_YET_AVAILABLE | Code::RUNTIME_UNINITIALIZED);
        let reason = told::refusal(code);
        let wait = if early {
            self.backoff.early()
        } else if code == Code::BAD_ENCODING {
            self.backoff.longest()
        } else {
            self.backoff.next()
        };
        self.fail_for(now, reason.into(), !early, wait);
    }

    pub(super) fn fail_with(&mut self, now: Duration, failure: &Failure) {
        let fault = matches!(failure, Failure::Answer(_) | Failure::Other(_));
        self.fail(now, told::failure(failure).into(), fault);
        if *failure == Failure::Permission {
            self.state = State::NoPermission;
        }
    }

    pub(super) fn fail(&mut self, now: Duration, reason: Cow<'static, str>, fault: bool) {
        let wait = self.backoff.next();
        self.fail_for(now, reason, fault, wait);
    }

    pub(super) fn fail_for(
        &mut self,
        now: Duration,
        reason: Cow<'static, str>,
        fault: bool,
        wait: Duration,
    ) {
        self.tried = true;
        self.errors += u64::from(fault);
        self.retry = now + wait;
        self.say(State::Refused, reason);
    }
}

/// First time after a failure, and the longest one.
const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(300);
/// First time if the process has only just started.
const EARLY: Duration = Duration::from_millis(500);

/// Doubles the time between attempts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff(Duration);

impl Backoff {
    /// After an attempt that a process could not satisfy.
    pub(super) const fn new() -> Self {
        Self(FIRST)
    }

    /// The time until the next attempt.
    pub(super) fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = wait.saturating_mul(2).min(LONGEST);
        wait
    }

    /// The same for a process that is still starting.
    pub(super) fn early(&mut self) -> Duration {
        let wait = if self.0 < LONGEST { EARLY.max(self.0 / 20) } else { LONGEST };
        self.0 = self.0.saturating_mul(2).min(LONGEST);
        wait
    }

    /// The longest time, for what only a change of the process can cure.
    pub(super) const fn longest(&mut self) -> Duration {
        self.0 = LONGEST;
        LONGEST
    }
}
