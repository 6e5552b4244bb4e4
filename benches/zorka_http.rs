//! Simulated Zorka agents over loopback. A program without the bench harness:
//!
//! ```text
//! cargo bench --bench zorka_http -- load [--seconds 5] [--agents 8] [--threads 1] [--service collector|none] [--address HOST:PORT]
//! cargo bench --bench zorka_http -- idle [--seconds 10] [--agents 2000]
//! cargo bench --bench zorka_http -- apart [--seconds 3]
//! ```
//!
//! `load`: requests a second and percentiles of the answers, over kept-alive connections, each with
//! one request under way. The requests are those of a captured agent 2.0.3 under load, with a
//! session of its own for each connection and a new trace id each time; one of ten defines symbols.
//! `idle`: resident memory of the process for each kept-alive agent between two requests; with
//! `--address`, the agents only.
//! `apart`: one agent that writes head and body apart without `TCP_NODELAY`, as 1.90.6 does.
//!
//! The collector runs in this process, with the workers of the PMDA; `--service none` answers
//! every request at once; `--address`: it runs elsewhere. One generator thread writes to all its
//! connections, then reads from each.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a bench"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use pmdaapm::contract::http::{Answer, ConnectionId, HttpService, Request};
use pmdaapm::model::{Listening, Now};
use pmdaapm::net::{HttpLimits, HttpListen, Peers, Supervisor};
use pmdaapm::sources::foreign::ForeignReaders;
use pmdaapm::sources::zorka::{Config, Zorka};
use pmdaapm::sources::{Context, Source};
use pmdaapm::store::{Limits, Store};
use test_kit::zorka as kit;

struct Options {
    mode: String,
    seconds: u64,
    agents: Option<usize>,
    threads: usize,
    service: String,
    address: Option<SocketAddr>,
}

fn options() -> Result<Option<Options>, String> {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let Some(mode) = words.next() else { return Ok(None) };
    let mut options = Options {
        mode,
        seconds: 5,
        agents: None,
        threads: 1,
        service: "collector".to_owned(),
        address: None,
    };
    while let Some(key) = words.next() {
        let word = words.next().ok_or_else(|| format!("{key} needs a value"))?;
        let number = || word.parse::<usize>().map_err(|_| format!("{word} is not a number"));
        match key.as_str() {
            "--seconds" => options.seconds = number()? as u64,
            "--agents" => options.agents = Some(number()?),
            "--threads" => options.threads = number()?.max(1),
            "--service" => options.service = word,
            "--address" => options.address = Some(word.parse().map_err(|_| word)?),
            _ => return Err(format!("{key}?")),
        }
    }
    Ok(Some(options))
}

/// Answers every request at once.
struct Nothing;

impl HttpService for Nothing {
    fn admits(&self, _: SocketAddr) -> bool {
        true
    }

    fn rejects(&self, _: &[u8]) -> Option<&'static str> {
        None
    }

    fn answer(&self, _: Now, _: &Request<'_>) -> Answer {
        Answer { known: true, ..Answer::of(202) }
    }

    fn closed(&self, _: Now, _: ConnectionId) {}

    fn tick(&self, _: Now) {}
}

/// A collector in this process.
struct Collector {
    address: SocketAddr,
    _supervisor: Supervisor,
    _running: Option<Box<dyn pmdaapm::sources::Running<Config>>>,
}

fn collector(service: &str) -> Collector {
    // A free port: bound, then given back.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let store = Store::new(pmdaapm::sources::catalogue(), 400, Limits::default(), 32 << 20);
    let supervisor = Supervisor::start(16_384, 4096, |_| ()).unwrap();
    let peers = Peers::new(&store, store.catalogue().id("zorka").unwrap(), "zorka");
    let net = supervisor.net().clone();
    let running = if service == "none" {
        let limits = HttpLimits::default();
        net.listen_http(HttpListen {
            places: vec![Listening::Plain(address)],
            peers,
            service: Arc::new(Nothing),
            limits,
        });
        None
    } else {
        let state_dir = std::env::temp_dir().join(format!("apm-zorka-http-{}", std::process::id()));
        std::fs::create_dir_all(&state_dir).unwrap();
        let config = Config { listen: Some(address), ..Config::default() };
        Some(
            Zorka::start(
                config,
                Context {
                    peers,
                    net,
                    state_dir,
                    foreign: ForeignReaders::default(),
                    host: pmdaapm::host::Host::new("/proc".into()),
                },
            )
            .unwrap(),
        )
    };
    Collector { address, _supervisor: supervisor, _running: running }
}

/// Digits that differ in each request.
const TRACE: &str = "@@@@@@@@@@@@@@@@";

/// A request whose trace id is set before each use.
#[derive(Clone)]
struct Template {
    bytes: Vec<u8>,
    trace: Option<usize>,
    session: usize,
    head: usize,
}

impl Template {
    fn new(captured: &kit::Captured, session: &str) -> Self {
        let mut head = format!("POST {} HTTP/1.1\r\n", captured.path);
        for (name, value) in &captured.headers {
            let value = match name.as_str() {
                "X-Zorka-Session-Id" => session.to_owned(),
                "X-Zorka-Trace-Id" => format!("0123456789abcdef{TRACE}"),
                _ => value.clone(),
            };
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        let (trace, session) = (head.find(TRACE), head.find(session).unwrap());
        let mut bytes = head.into_bytes();
        let head = bytes.len();
        bytes.extend_from_slice(&captured.body);
        Self { bytes, trace, session, head }
    }

    /// The request with the trace id of number `n`.
    fn fill(&mut self, n: u64) -> &[u8] {
        if let Some(at) = self.trace {
            let digits = format!("{n:016x}");
            self.bytes[at..at + digits.len()].copy_from_slice(digits.as_bytes());
        }
        &self.bytes
    }
}

/// The session id of an agent. The first digits are part of its name.
fn session(number: usize) -> String {
    format!("{number:08x}{:08x}", 0x5e55_0000 + number)
}

/// What an agent sends: once, and then over and over.
struct Script {
    first: Vec<Template>,
    then: Vec<Template>,
}

impl Script {
    fn new(session: &str) -> Self {
        let path = kit::corpus().join("real-2.0.3/demo-local.jsonl");
        let all = kit::capture(&path);
        let template = |captured: &kit::Captured| Template::new(captured, session);
        let is_trace = |captured: &&kit::Captured| captured.path.ends_with("trc");
        // Long traces are another bench's.
        let small = |captured: &&kit::Captured| captured.body.len() < 4096;
        let traces: Vec<_> = all.iter().filter(is_trace).filter(small).map(template).collect();
        // Symbols once more, without a reset.
        let definitions = all.iter().filter(|c| c.path.ends_with("agd")).skip(1);
        let definitions: Vec<_> = definitions.map(template).collect();
        let mut then = Vec::new();
        for (n, nine) in traces.chunks(9).enumerate() {
            then.extend_from_slice(nine);
            then.extend(definitions.get(n % definitions.len().max(1)).cloned());
        }
        Self { first: all.iter().map(template).collect(), then }
    }

    fn median(&self) -> usize {
        let mut sizes: Vec<_> = self.then.iter().map(|t| t.bytes.len() - t.head).collect();
        sizes.sort_unstable();
        sizes[sizes.len() / 2]
    }
}

/// One kept-alive connection.
struct Agent {
    stream: TcpStream,
    script: Script,
    sent: u64,
    at: Instant,
    accepted: u64,
    refused: u64,
}

impl Agent {
    fn dial(address: SocketAddr, number: usize) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let script = Script::new(&session(number));
        Self { stream, script, sent: 0, at: Instant::now(), accepted: 0, refused: 0 }
    }

    /// Takes the session of another agent.
    fn be(&mut self, number: usize) {
        let session = session(number);
        for template in &mut self.script.first {
            let at = template.session;
            template.bytes[at..at + session.len()].copy_from_slice(session.as_bytes());
        }
    }

    /// The symbols and the first traces.
    fn introduce(&mut self) {
        for n in 0..self.script.first.len() {
            let request = self.script.first[n].fill(self.sent);
            self.stream.write_all(request).unwrap();
            self.sent += 1;
            self.answer();
        }
        (self.accepted, self.refused) = (0, 0);
    }

    fn ask(&mut self) {
        let n = self.sent as usize % self.script.then.len();
        let request = self.script.then[n].fill(self.sent);
        self.at = Instant::now();
        self.stream.write_all(request).unwrap();
        self.sent += 1;
    }

    /// Reads an answer without a body.
    fn answer(&mut self) {
        let (mut buffer, mut n) = ([0; 512], 0);
        while !buffer[..n].ends_with(b"\r\n\r\n") {
            match self.stream.read(&mut buffer[n..]).unwrap() {
                0 => panic!("the connection has ended"),
                more => n += more,
            }
        }
        match &buffer[9..12] {
            b"202" => self.accepted += 1,
            _ => self.refused += 1,
        }
    }
}

fn load(address: SocketAddr, options: &Options) {
    let agents = options.agents.unwrap_or(8);
    let (end, start) = (Duration::from_secs(options.seconds), Instant::now());
    let threads = (0..options.threads).map(|thread| {
        let numbers: Vec<_> = (0..agents).filter(|n| n % options.threads == thread).collect();
        std::thread::spawn(move || {
            let mut agents: Vec<_> = numbers.iter().map(|n| Agent::dial(address, *n)).collect();
            agents.iter_mut().for_each(Agent::introduce);
            let mut times = Histogram::<u64>::new_with_max(10_000_000_000, 3).unwrap();
            let begin = Instant::now();
            while start.elapsed() < end {
                agents.iter_mut().for_each(Agent::ask);
                for agent in &mut agents {
                    agent.answer();
                    times.saturating_record(agent.at.elapsed().as_nanos() as u64);
                }
            }
            let rate = times.len() as f64 / begin.elapsed().as_secs_f64();
            let refused: u64 = agents.iter().map(|agent| agent.refused).sum();
            (times, rate, refused, agents.first().map_or(0, |a| a.script.median()))
        })
    });
    let done: Vec<_> = threads.collect::<Vec<_>>().into_iter().map(|t| t.join().unwrap()).collect();
    let mut times = Histogram::<u64>::new_with_max(10_000_000_000, 3).unwrap();
    done.iter().for_each(|(more, ..)| times.add(more).unwrap());
    let rate: f64 = done.iter().map(|(_, rate, ..)| rate).sum();
    let refused: u64 = done.iter().map(|(_, _, refused, _)| refused).sum();
    let us = |quantile| times.value_at_quantile(quantile) as f64 / 1000.0;
    println!(
        "{{\"requests_per_s\": {rate:.0}, \"median_body\": {}, \"p50_us\": {:.0}, \"p99_us\": {:.0}, \"max_us\": {:.0}, \"not_202\": {refused}}}",
        done[0].3,
        us(0.5),
        us(0.99),
        us(1.0)
    );
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn idle(address: SocketAddr, options: &Options) {
    let agents = options.agents.unwrap_or(2000);
    // What the first agent causes is not counted, nor what the generator holds.
    let mut speaker = Agent::dial(address, 1_000_000);
    speaker.introduce();
    let mut streams = Vec::with_capacity(agents);
    let before = resident();
    for number in 0..agents {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        speaker.stream = stream.try_clone().unwrap();
        speaker.be(number);
        speaker.introduce();
        streams.push(stream);
    }
    if options.address.is_some() {
        println!("connected");
        std::thread::sleep(Duration::from_secs(options.seconds));
        return;
    }
    let report = |when: &str| {
        let more = resident().saturating_sub(before);
        println!("{when}: {:.1} KiB each", more as f64 / 1024.0 / agents as f64);
    };
    report("all connected");
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(options.seconds) {
        std::thread::sleep(Duration::from_secs(1));
        report(&format!("after {} s", start.elapsed().as_secs()));
    }
    drop(streams);
}

fn apart(address: SocketAddr, options: &Options) {
    let mut agent = Agent::dial(address, 0);
    agent.introduce();
    agent.stream.set_nodelay(false).unwrap();
    let (start, mut asked) = (Instant::now(), 0_u64);
    while start.elapsed() < Duration::from_secs(options.seconds) {
        let n = agent.sent as usize % agent.script.then.len();
        let cut = agent.script.then[n].head;
        let request = agent.script.then[n].fill(agent.sent);
        agent.stream.write_all(&request[..cut]).unwrap();
        agent.stream.write_all(&request[cut..]).unwrap();
        agent.sent += 1;
        agent.answer();
        asked += 1;
    }
    println!("{{\"requests_per_s\": {:.0}}}", asked as f64 / start.elapsed().as_secs_f64());
}

fn main() {
    let options = match options() {
        Ok(Some(options)) => options,
        Ok(None) => return,
        Err(why) => panic!("{why}"),
    };
    let here = options.address.is_none().then(|| collector(&options.service));
    let address = options.address.or(here.as_ref().map(|c| c.address)).unwrap();
    match options.mode.as_str() {
        "load" => load(address, &options),
        "idle" => idle(address, &options),
        "apart" => apart(address, &options),
        mode => panic!("{mode}?"),
    }
}
