//! The task of one process: what is due is done in turn, and the peer is told once a turn.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Buf;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::bursts::{Bursts, Threads, answer};
use super::discovery::Found;
use super::facts::Facts;
use super::lines::{Exchanged, Lines};
use super::reading::{Reading, aligned};
use crate::clock::now;
use crate::contract::{Control, Held, Peer};
use crate::host::age;
use crate::model::{HeapSize, Now};
use crate::net::Peers;
use crate::net::guard::Guard;
use crate::net::ledger::Ledger;
use crate::sources::dotnet::Config;
use crate::sources::dotnet::discovery::{Access, Target, Via};
use crate::sources::dotnet::metrics::{PROFILE_RUN, Request};
use crate::sources::dotnet::session::{Choice, Command, Failure, Line, Process, Reach};
use crate::sources::dotnet::stream::feed::{Hub, Streamed};
use crate::sources::dotnet::stream::{MergedLatencies, Parts, Stream};
use crate::sources::dotnet::wire::ipc::Answer;
use crate::store::RequestQueue;

/// Time between two ticks.
const TICK: Duration = Duration::from_secs(1);

/// Turns that empty the socket of a process that has ended.
const LAST_TURNS: u32 = 4;

/// What all tasks share.
pub(super) struct Shared {
    pub(super) peers: Peers,
    /// Pauses of programs.
    pub(super) latencies: Arc<MergedLatencies>,
    /// Processes of traces: one that is streamed is none of them.
    pub(super) hub: Arc<Hub>,
    pub(super) config: watch::Receiver<Arc<Config>>,
    /// The name of this PMDA in sessions.
    pub(super) client: Arc<str>,
    pub(super) stop: CancellationToken,
    /// Ends sessions if the PMDA stands still.
    pub(super) guard: Arc<Guard>,
}

/// Reads one process until it ends or the PMDA stops.
pub(super) async fn run(found: Found, shared: Arc<Shared>) {
    let wake = Arc::new(Notify::new());
    let queue = {
        let wake = Arc::clone(&wake);
        Arc::new(RequestQueue::new(move || wake.notify_one()))
    };
    let config = shared.config.clone();
    let first = Arc::clone(&config.borrow());
    let at = now();
    let age = match found.again {
        true => Some(Duration::ZERO),
        false => (found.target.pid != 0).then(|| age(found.target.start)),
    };
    let task = Task {
        session: Process::new(Arc::clone(&first), Arc::clone(&shared.client), at.monotonic, age),
        peer: shared.peers.peer(&queue),
        ledger: Ledger::new(shared.peers.memory()),
        facts: Facts::new(Arc::clone(&found.target), found.is_new()),
        parts: Parts::new(
            &first,
            Box::new(Threads::new(found.target.pid, found.target.container_pid)),
        )
        .serving(&shared.latencies),
        lines: Lines::new(Arc::clone(&shared.guard)),
        guard: Arc::clone(&shared.guard),
        main: None,
        bursts: Bursts::new(&found.target),
        hub: Arc::clone(&shared.hub),
        streamed: None,
        tick: Duration::ZERO,
        stop: shared.stop.clone(),
        queue,
        found,
        config,
    };
    task.run(&wake).await;
}

struct Task {
    found: Found,
    session: Process,
    peer: Peer,
    queue: Arc<RequestQueue>,
    ledger: Ledger,
    facts: Facts,
    parts: Parts,
    lines: Lines,
    main: Option<Reading>,
    bursts: Bursts,
    hub: Arc<Hub>,
    /// While `main` brings events.
    streamed: Option<Streamed>,
    tick: Duration,
    stop: CancellationToken,
    guard: Arc<Guard>,
    config: watch::Receiver<Arc<Config>>,
}

impl Task {
    async fn run(mut self, wake: &Notify) {
        let at = now();
        self.peer.set_now(at);
        let config = Arc::clone(&self.config.borrow_and_update());
        self.want(&config);
        self.session.reach(at.monotonic, reach(&self.found.access.borrow_and_update()));
        // Both wait as long as the task lives: to wait anew at each turn would cost more than the turn.
        let (stop, gone) = (self.stop.clone(), self.found.gone.clone());
        let (mut stopped, mut gone) = (pin!(stop.cancelled()), pin!(gone.cancelled()));
        let mut access = self.found.access.clone();
        let mut stopping = false;
        loop {
            self.step();
            if self.session.is_over() {
                break;
            }
            if !stopping && self.peer.refusal().is_some() {
                stopping = true;
                self.session.stop(now().monotonic);
                continue;
            }
            let wait = self.wakeup().saturating_sub(now().monotonic);
            tokio::select! {
                biased;
                () = &mut stopped, if !stopping => {
                    stopping = true;
                    self.session.stop(now().monotonic);
                }
                () = &mut gone => {
                    self.read_rest();
                    self.session.gone();
                }
                (line, outcome) = self.lines.next() => self.answered(line, outcome),
                Ok(()) = access.changed() => {
                    let reach = reach(&access.borrow_and_update());
                    self.session.reach(now().monotonic, reach);
                }
                Ok(()) = self.config.changed() => {
                    let config = Arc::clone(&self.config.borrow_and_update());
                    self.want(&config);
                    self.parts.configure(&config);
                    self.session.configure(now().monotonic, config);
                }
                () = wake.notified() => self.requests(),
                () = sleep(wait) => {}
            }
        }
        self.peer.set_now(now());
        self.facts.report(&self.session, &mut self.parts, &mut self.peer);
        self.peer.finish(false, self.session.departure());
    }

    /// When [`Task::step`] must be called at the latest.
    fn wakeup(&self) -> Duration {
        let reading = self.main.as_ref().map(Reading::next);
        let burst = self.bursts.next();
        [self.session.wakeup(), reading, burst].into_iter().flatten().fold(self.tick, Duration::min)
    }

    /// Does what is due.
    fn step(&mut self) {
        let at = now();
        self.peer.set_now(at);
        self.session.advance(at.monotonic);
        if self.main.as_ref().is_some_and(|reading| reading.next() <= at.monotonic) {
            self.read(at);
        }
        if self.bursts.next().is_some_and(|next| next <= at.monotonic) {
            self.read_burst(at.monotonic);
        }
        if self.tick <= at.monotonic {
            self.tick = aligned(at.monotonic, TICK);
            self.facts.tick(at, &self.found, &mut self.peer);
            if let Some(reading) = &mut self.main {
                reading.keep(&self.guard);
            }
            if self.session.may_be_silent() {
                // It is there, and its stream is open.
                self.peer.message();
            }
            self.parts.tick(at, &mut self.peer);
            if self.parts.counters.asks_again(at.monotonic) {
                self.session.reopen(at.monotonic);
            }
            let (every, usual) = {
                let config = self.config.borrow();
                (config.profile_every, config.profile_time)
            };
            let number = self.found.target.shown_pid();
            if self.bursts.is_due(at.monotonic, every, number) {
                self.burst(at.monotonic, usual);
            }
        }
        self.carry_out();
        self.bursts.settle(self.session.is_bursting(), self.facts.name(), &mut self.peer);
        if self.main.is_none() {
            self.streamed = None;
        }
        self.facts.report(&self.session, &mut self.parts, &mut self.peer);
        self.peer.flush();
    }

    fn read(&mut self, at: Now) {
        let Some(reading) = &mut self.main else { return };
        let before = reading.stream.began();
        let turn = reading.turn(at, &mut self.parts, &mut self.peer);
        self.peer.count_io(turn.bytes, 0);
        if reading.stream.began() && !before {
            self.session.began(at.monotonic, Line::Main);
            let process = u64::from(self.found.target.container_pid);
            self.streamed = Some(Hub::streamed(&self.hub, process));
        }
        if reading.stream.take_heard() {
            self.session.heard();
        }
        if reading.stream.take_counted() {
            self.session.counted(at.monotonic);
        }
        if turn.bytes > 0 {
            self.peer.message();
            let held = kept(&self.parts, &self.bursts);
            let buffers = reading.heap_size();
            if let Err(full) = self.ledger.settle(false, buffers, held, &self.peer) {
                reading.discard();
                self.session.undecodable(at.monotonic, Line::Main, &full.to_string());
            }
        }
        if let Some(why) = turn.fault {
            self.session.undecodable(at.monotonic, Line::Main, &why);
        }
        if let Some(end) = turn.end {
            self.main = None;
            self.parts.end(&mut self.peer);
            self.session.ended(at.monotonic, Line::Main, end);
        }
    }

    /// The process has ended: takes what it sent before.
    fn read_rest(&mut self) {
        for _ in 0..LAST_TURNS {
            if self.main.is_none() {
                return;
            }
            self.read(now());
        }
    }

    /// Reads the process only if the configuration chooses it.
    fn want(&mut self, config: &Config) {
        let Target { name, owner, .. } = &*self.found.target;
        self.session.choose(now().monotonic, Choice::of(&config.processes, name, owner));
    }

    fn answered(&mut self, line: Line, outcome: Result<Exchanged, Failure>) {
        let at = now().monotonic;
        let mut exchanged = match outcome {
            Ok(exchanged) => exchanged,
            Err(failure) => return self.session.failed(at, line, &failure),
        };
        self.peer.count_io(exchanged.answer, exchanged.sent);
        // It was parsed before.
        let Ok(Some((answer, length))) = Answer::parse(&exchanged.input) else { return };
        let opened = answer.session().is_some();
        self.session.answered(at, line, &answer);
        if opened && line == Line::Burst {
            exchanged.input.advance(length);
            self.bursts.opened(exchanged.socket, exchanged.input, at);
        } else if opened && line == Line::Main {
            exchanged.input.advance(length);
            let (session, client) = self.session.meters();
            let counters = self.session.has_counters();
            self.parts.stream(session, client, counters, &mut self.peer);
            let stream = Stream::default();
            self.main = Some(Reading::new(exchanged.socket, exchanged.input, stream, at));
        }
    }

    fn read_burst(&mut self, at: Duration) {
        let before = self.bursts.began();
        let turn = self.bursts.turn(at);
        self.peer.count_io(turn.bytes, 0);
        if self.bursts.began() && !before {
            self.session.began(at, Line::Burst);
        }
        let held = kept(&self.parts, &self.bursts);
        let buffers = self.main.as_ref().map_or(0, Reading::heap_size);
        let full = self.ledger.settle(false, buffers, held, &self.peer).err();
        if let Some(why) = full.map(|full| full.to_string()).or(turn.fault) {
            self.bursts.discard();
            self.session.undecodable(at, Line::Burst, &why);
        }
        if let Some(end) = turn.end {
            self.session.ended(at, Line::Burst, end);
        }
    }

    /// Begins a CPU profile of this length. `false`: not now.
    fn burst(&mut self, at: Duration, length: Duration) -> bool {
        let begins = self.session.burst(at, length);
        if begins {
            answer(format!("running for {} s", length.as_secs_f64()), &mut self.peer);
        }
        begins
    }

    fn requests(&mut self) {
        let at = now();
        self.peer.set_now(at);
        for request in self.queue.take() {
            let Control::Request(PROFILE_RUN, text) = request else { continue };
            let usual = self.config.borrow().profile_time;
            match Request::parse(&text) {
                Ok(Request::Reset) => Bursts::reset(&mut self.peer),
                Ok(Request::Burst(length)) if self.burst(at.monotonic, length.unwrap_or(usual)) => {
                }
                Ok(Request::Burst(_)) if self.session.is_bursting() => {}
                Ok(Request::Burst(_)) => {
                    answer("refused: the process is not read".to_owned(), &mut self.peer)
                }
                Err(why) => answer(why, &mut self.peer),
            }
        }
    }

    fn carry_out(&mut self) {
        for command in self.session.commands() {
            match command {
                Command::Send(line, request) => {
                    match line {
                        Line::Stop => self.main.iter_mut().for_each(Reading::hurry),
                        Line::Burst => self.bursts.begin(),
                        Line::BurstStop => self.bursts.stopping(),
                        Line::Ask | Line::Main => {}
                    }
                    self.lines.send(line, self.found.clone(), request);
                }
                Command::Close(line) => {
                    self.lines.close(line);
                    if line == Line::Main && self.main.take().is_some() {
                        self.parts.end(&mut self.peer);
                    }
                }
            }
        }
    }
}

/// What a process has beside the buffers of its stream.
fn kept(parts: &Parts, bursts: &Bursts) -> Held {
    Held { own: size_of_val(parts) + parts.heap_size() + bursts.heap_size(), shared: 0 }
}

fn reach(access: &Access) -> Reach {
    match access {
        Access::Open(Via::Socket) => Reach::Socket,
        Access::Open(Via::Port) => Reach::Port,
        Access::Denied(why) => Reach::Denied(Arc::clone(why)),
        Access::Off(why) => Reach::Off(Arc::clone(why)),
    }
}
