//! What is asked next, and what is too late.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::choice::Choice;
use super::collect::{Command, Expired, Line};
use super::told::{Reach, State};
use super::{Asked, Process, told};
use crate::sources::dotnet::limits;
use crate::sources::dotnet::wire::ipc::{CollectCommand, InfoCommand, Request};
use crate::sources::dotnet::wire::wanted;
use crate::sources::dotnet::wire::wanted::Extent;

impl Process {
    /// Expires what is too late, and asks for what is next.
    pub fn advance(&mut self, now: Duration) {
        if let Some((asked, until)) = self.asked
            && now >= until
        {
            self.asked = None;
            self.commands.push(Command::Close(Line::Ask));
            self.ask_timed_out(now, asked);
        }
        if let Some(expired) = self.main.expire(now, &mut self.commands) {
            match expired {
                Expired::NoAnswer => self.fail(now, told::HANGS.into(), true),
                Expired::NoStream => self.fail(now, told::NO_STREAM.into(), true),
                Expired::NotStopped => {
                    // Why it was to be ended says more.
                    let blamed = self.fault.is_some();
                    self.main_closed(now);
                    if !self.stopping && !blamed {
                        self.fail(now, told::NOT_STOPPED.into(), true);
                    }
                }
                Expired::Done => self.main_closed(now),
            }
        }
        if self.burst.expire(now, &mut self.commands).is_some_and(|e| e != Expired::Done) {
            self.errors += 1;
        }
        if self.burst.is_streaming() && self.burst_until.is_some_and(|until| now >= until) {
            self.burst.stop(now, self.stop_time(), &mut self.commands);
        }
        if self.main.is_stopping() {
            self.say(State::Stopping, told::STOPPING);
        }
        if self.asked.is_none() {
            self.ask_next(now);
        }
    }

    /// Sends the next request, if there is one.
    pub(super) fn ask_next(&mut self, now: Duration) {
        if self.resumes() && (self.stopping || now >= self.resume_after) {
            return self.ask(now, Asked::Resume, Request::Resume);
        }
        self.resume &= self.reach == Reach::Port;
        if self.stopping {
            return;
        }
        match &self.reach {
            Reach::Denied(why) if self.main.is_closed() => {
                let why = why.to_string();
                return self.say(State::NoPermission, why);
            }
            Reach::Off(why) if self.main.is_closed() => {
                let why = why.to_string();
                return self.say(State::Found, why);
            }
            _ => {}
        }
        if !self.wanted && self.main.is_closed() {
            return self.say(State::Found, told::NOT_WANTED);
        }
        if self.main.is_streaming() {
            if self.main.is_stopping() || !self.has_other_extent(now) {
                return self.watch(now);
            }
            // It is old enough for its counters now.
            self.upgrading = true;
            return self.main.stop(now, self.stop_time(), &mut self.commands);
        }
        if !self.main.is_closed() || !self.wanted || !self.reach.is_open() {
            return;
        }
        if now < self.opens() && self.sessions == 0 && !self.tried {
            self.say(State::Found, told::YOUNG);
        }
        if self.is_left_out() {
            return self.say(State::Found, told::OLD);
        }
        if now < self.next_attempt() {
            return;
        }
        if let (None, Some(command)) = (&self.info, self.next_info) {
            self.say(State::Connected, told::ASKING);
            return self.ask(now, Asked::Info(command), Request::Info(command));
        }
        let major = self.version().major;
        let major = (major > 0).then(|| u32::from(major));
        let command = *self.collect.get_or_insert_with(|| CollectCommand::of_version(major));
        self.opened_with = Arc::clone(&self.config);
        self.extent = self.extent(now);
        let wanted = wanted::wanted(&self.config, self.version(), &self.client, self.extent);
        self.meter_session.clone_from(&wanted.meter_session);
        self.left_out = wanted.left_out;
        self.say(State::Connected, told::OPENING);
        self.main.open(now, Request::Collect(command, wanted), &mut self.commands);
    }

    pub(super) fn ask(&mut self, now: Duration, asked: Asked, request: Request) {
        let time = if self.stopping { limits::FAREWELL } else { limits::ANSWER };
        self.asked = Some((asked, now + time));
        self.commands.push(Command::Send(Line::Ask, request));
    }

    /// The last time at which the EventCounters of the session must have come.
    pub(super) fn check_time(&self) -> Duration {
        let silence = self.config.interval * 3 + limits::SILENCE;
        (self.counted.unwrap_or(self.began) + silence).max(self.next_check)
    }

    /// When a session that streams is looked at next.
    pub(super) fn next_look(&self) -> Option<Duration> {
        if self.has_counters() { Some(self.check_time()) } else { self.counters_from() }
    }

    /// Asks a process whose EventCounters have stopped whether it is alive.
    pub(super) fn watch(&mut self, now: Duration) {
        if !self.has_counters() || now < self.check_time() {
            return;
        }
        if self.counted.is_some() {
            self.next_check = now + limits::CHECK;
            self.say(State::Streaming, told::CHECKING);
        } else {
            // It never had any in this session, so it is not another tool's doing.
            self.next_check = now + limits::CHECK_MUTE;
            if matches!(self.reason, Cow::Borrowed(told::STREAMING)) {
                self.say(State::Streaming, told::CHECKING_MUTE);
            }
        }
        let command = self.next_info.unwrap_or(InfoCommand::One);
        self.ask(now, Asked::Check, Request::Info(command));
    }

    /// When it may be asked: a program that is only just starting is left alone. With meters it
    /// would hang for ever now and then (docs/protocols/dotnet.md 0), and short ones would pay a
    /// multiple of what they need themselves.
    pub(super) fn opens(&self) -> Duration {
        let least = self.choices.iter().map(Choice::age).min().unwrap_or_default();
        self.found + self.config.min_age.max(least).saturating_sub(self.age)
    }

    /// When its EventCounters may be asked for; `None`: they are not. A program that ends while its
    /// runtime reports them dies now and then (docs/protocols/dotnet.md 0).
    fn counters_from(&self) -> Option<Duration> {
        if self.choices.is_empty() {
            return Some(Duration::ZERO);
        }
        let of = |choice: &&Choice| choice.takes(Some(self.release()));
        let at_once = self.config.min_age.is_zero();
        let otherwise = if at_once { Duration::ZERO } else { limits::COUNTERS_AGE };
        let ages =
            self.choices.iter().filter(of).filter_map(|choice| choice.counters_age(otherwise));
        let age = ages.min()?;
        Some(self.found + self.config.min_age.max(age).saturating_sub(self.age))
    }

    /// What its next session may ask for.
    pub(super) fn extent(&self, now: Duration) -> Extent {
        match self.counters_from() {
            Some(from) if from > now => Extent::Events,
            None => Extent::Events,
            Some(_) if self.takes_meters() => Extent::Meters,
            Some(_) => Extent::Counters,
        }
    }

    /// Its session has counters that are not wanted, or has none though they are.
    pub(super) fn has_other_extent(&self, now: Duration) -> bool {
        let counts = self.extent(now) >= Extent::Counters;
        !self.main.is_closed() && self.has_counters() != counts
    }

    /// The reason of a session that streams.
    pub(super) fn streaming(&self) -> &'static str {
        match self.extent {
            Extent::Events if self.counters_from().is_some() => told::EVENTS_YET,
            Extent::Events => told::EVENTS,
            Extent::Counters | Extent::Meters => told::STREAMING,
        }
    }

    /// An events-only session has the reason of the entries that are in force now.
    pub(super) fn renew_reason(&mut self) {
        if self.may_be_silent() && [told::EVENTS, told::EVENTS_YET].contains(&&*self.reason) {
            self.say(State::Streaming, self.streaming());
        }
    }

    /// EventCounters were asked for.
    #[must_use]
    pub fn has_counters(&self) -> bool {
        self.extent >= Extent::Counters
    }

    /// All that can come without EventCounters is asked for: a program may be silent for long.
    #[must_use]
    pub fn may_be_silent(&self) -> bool {
        !self.has_counters() && self.main.is_streaming()
    }

    /// The release of its runtime.
    fn release(&self) -> u16 {
        match self.version().major {
            // Core 3 knows no question for that, and .NET 5 has no answer.
            0 if self.info.is_none() => 3,
            0 => 5,
            major => major,
        }
    }

    /// The release of its runtime is known and no entry of the configuration takes it.
    pub(super) fn is_left_out(&self) -> bool {
        let known = self.info.is_some() || self.next_info.is_none();
        let takes = |choice: &Choice| choice.takes(Some(self.release()));
        known && !self.choices.is_empty() && !self.choices.iter().any(takes)
    }

    /// When it is asked next.
    pub(super) fn next_attempt(&self) -> Duration {
        self.retry.max(self.opens())
    }

    /// Its next session may ask for meters.
    pub(super) fn takes_meters(&self) -> bool {
        self.started || self.config.min_age.is_zero()
    }

    /// It may wait for ResumeRuntime, and is to have it. A program that waits is no older than that
    /// answer: with a least age it comes first, else after the session, which then misses nothing.
    pub(super) fn resumes(&self) -> bool {
        let ready = self.main.is_open()
            || self.tried
            || !self.wanted
            || self.stopping
            || !self.config.min_age.is_zero();
        self.resume && ready && matches!(self.reach, Reach::Port)
    }
}
