//! A process under a clock of the test's own.

use std::sync::Arc;
use std::time::Duration;

use crate::sources::dotnet::Config;
use crate::sources::dotnet::session::{Command, End, Failure, Line, Process, Reach};
use crate::sources::dotnet::wire::ipc::{Answer, Code, CollectCommand, InfoCommand, Request};
use crate::sources::dotnet::wire::wanted::{Provider, SYSTEM_RUNTIME};

pub(super) const S: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

/// What a runtime does with a request.
#[derive(Clone, Debug)]
pub(super) enum Reaction {
    Done(Vec<u8>),
    Refuse(Code),
    Fail(Failure),
    Hang,
}

/// A runtime.
#[derive(Clone, Debug)]
pub(super) struct Runtime {
    pub info: Option<InfoCommand>,
    pub collect: Option<CollectCommand>,
    pub version: &'static str,
    /// Replaces the reaction to requests of this kind: `info`, `collect`, `stop`, `resume`.
    pub odd: Option<(&'static str, Reaction)>,
    /// The stream begins and ends as it should.
    pub streams: bool,
    /// EventCounters come.
    pub counts: bool,
}

impl Runtime {
    pub(super) fn of(version: &'static str) -> Self {
        use CollectCommand::{Five, Four, Three, Two};
        let (info, collect) = match version {
            "3.1" => (None, Two),
            "5.0" => (Some(InfoCommand::One), Two),
            "6.0.1" | "7.0.1" => (Some(InfoCommand::Two), Two),
            "8.0.1" => (Some(InfoCommand::Three), Three),
            "9.0.7" => (Some(InfoCommand::Three), Four),
            _ => (Some(InfoCommand::Three), Five),
        };
        let collect = Some(collect);
        Self { info, collect, version, odd: None, streams: true, counts: true }
    }

    pub(super) fn odd(self, kind: &'static str, reaction: Reaction) -> Self {
        Self { odd: Some((kind, reaction)), ..self }
    }

    fn react(&self, request: &Request) -> Reaction {
        if let Some((kind, reaction)) = &self.odd
            && *kind == kind_of(request)
        {
            return reaction.clone();
        }
        let order = |command: InfoCommand| match command {
            InfoCommand::One => 1,
            InfoCommand::Two => 2,
            InfoCommand::Three => 3,
        };
        match request {
            Request::Info(command) if self.info.is_some_and(|i| order(*command) <= order(i)) => {
                Reaction::Done(self.info_payload(*command))
            }
            Request::Collect(command, _) if self.collect.is_some_and(|c| *command <= c) => {
                Reaction::Done(77_u64.to_le_bytes().to_vec())
            }
            Request::Stop(id) => Reaction::Done(id.to_le_bytes().to_vec()),
            Request::Resume if self.info.is_some() => Reaction::Done(vec![0; 4]),
            _ => Reaction::Refuse(Code::UNKNOWN_COMMAND),
        }
    }

    fn info_payload(&self, command: InfoCommand) -> Vec<u8> {
        let mut out = Vec::new();
        if command == InfoCommand::Three {
            out.extend(1_u32.to_le_bytes());
        }
        out.extend(1234_u64.to_le_bytes());
        out.extend([7; 16]);
        let mut text = |text: &str| {
            let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
            out.extend(u32::try_from(units.len()).unwrap().to_le_bytes());
            units.iter().for_each(|unit| out.extend(unit.to_le_bytes()));
        };
        ["dotnet app.dll", "Linux", "x64"].iter().for_each(|t| text(t));
        if command != InfoCommand::One {
            ["app", self.version].iter().for_each(|t| text(t));
        }
        if command == InfoCommand::Three {
            text("linux-x64");
        }
        out
    }
}

pub(super) fn kind_of(request: &Request) -> &'static str {
    match request {
        Request::Info(_) => "info",
        Request::Collect(..) => "collect",
        Request::Stop(_) => "stop",
        Request::Resume => "resume",
    }
}

/// A process, its runtime and the clock.
pub(super) struct World {
    pub process: Process,
    pub runtime: Runtime,
    pub now: Duration,
    /// Requests, and closes as `close LINE`, with their time.
    pub log: Vec<(Duration, String)>,
    /// Streams that are open: the line, whether bytes came.
    pub streams: Vec<(Line, bool)>,
    last_count: Duration,
    /// The last session asked for EventCounters.
    counters: bool,
}

impl World {
    pub(super) fn new(runtime: Runtime, reach: Reach) -> Self {
        Self::aged(runtime, reach, Config::default(), Some(DAY))
    }

    /// A process of this age.
    pub(super) fn aged(
        runtime: Runtime,
        reach: Reach,
        config: Config,
        age: Option<Duration>,
    ) -> Self {
        let mut process = Process::new(Arc::new(config), "pmda-1".into(), Duration::ZERO, age);
        process.reach(Duration::ZERO, reach);
        let mut world = Self {
            process,
            runtime,
            now: Duration::ZERO,
            log: Vec::new(),
            streams: Vec::new(),
            last_count: Duration::ZERO,
            counters: false,
        };
        world.settle();
        world
    }

    /// Carries out commands until there are none.
    pub(super) fn settle(&mut self) {
        loop {
            let commands: Vec<Command> = self.process.commands().collect();
            if commands.is_empty() {
                return;
            }
            for command in commands {
                match command {
                    Command::Close(line) => {
                        self.log.push((self.now, format!("close {line:?}")));
                        self.streams.retain(|(other, _)| *other != line);
                    }
                    Command::Send(line, request) => self.send(line, &request),
                }
            }
        }
    }

    fn send(&mut self, line: Line, request: &Request) {
        request.encode().expect("a request that can be sent");
        let name = match request {
            Request::Info(command) => format!("info {command:?}"),
            Request::Collect(command, wanted) => {
                let meters = if wanted.meter_session.is_empty() { "" } else { " meters" };
                let has = |provider: &Provider| provider.name == SYSTEM_RUNTIME;
                let counters = wanted.providers.iter().any(has);
                if line == Line::Main {
                    self.counters = counters;
                }
                let only = if counters || line == Line::Burst { "" } else { " events" };
                format!("collect {command:?}{meters}{only}")
            }
            other => kind_of(other).to_owned(),
        };
        self.log.push((self.now, name));
        match self.runtime.react(request) {
            Reaction::Hang => {}
            Reaction::Fail(failure) => self.process.failed(self.now, line, &failure),
            Reaction::Refuse(code) => {
                self.process.answered(self.now, line, &Answer::Refused(code));
            }
            Reaction::Done(payload) => {
                let answer = Answer::Done(&payload);
                self.process.answered(self.now, line, &answer);
                match (kind_of(request), line) {
                    ("collect", _) => {
                        self.streams.push((line, self.runtime.streams));
                        if self.runtime.streams {
                            self.process.began(self.now, line);
                            if self.runtime.counts {
                                self.process.heard();
                            }
                        }
                    }
                    ("stop", Line::Stop) if self.runtime.streams => self.end(Line::Main),
                    ("stop", Line::BurstStop) if self.runtime.streams => self.end(Line::Burst),
                    _ => {}
                }
            }
        }
    }

    pub(super) fn end(&mut self, line: Line) {
        self.streams.retain(|(other, _)| *other != line);
        self.process.ended(self.now, line, End::Whole);
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            let due = self.process.wakeup().unwrap_or(end).max(self.now);
            // A process streams its counters each second.
            let counts = self.runtime.counts
                && self.counters
                && self.streams.iter().any(|(line, began)| *line == Line::Main && *began);
            let next = if counts { due.min(self.last_count + S) } else { due };
            self.now = next.clamp(self.now, end);
            if counts && self.now >= self.last_count + S {
                self.last_count = self.now;
                self.process.counted(self.now);
            }
            let before = self.log.len();
            self.process.advance(self.now);
            self.settle();
            if self.log.len() == before && self.process.wakeup().is_some_and(|w| w <= self.now) {
                assert!(!counts || self.now < end || self.process.wakeup() > Some(self.now));
                panic!("{:?}: a wake-up that does nothing: {}", self.now, self.process.reason());
            }
        }
    }

    pub(super) fn count(&self, what: &str) -> usize {
        self.log.iter().filter(|(_, name)| name.starts_with(what)).count()
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.log.iter().map(|(_, name)| name.as_str()).collect()
    }
}
