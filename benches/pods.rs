//! Simulated JVMs with a Java profiler agent: load for `qa/bench_profiler`. A program without the
//! bench harness:
//!
//! ```text
//! cargo bench --bench pods -- --address 127.0.0.1:1715 --pods 8 --rate 0 --seconds 20 [--cycle MS] [--capture gen|start] [--idle 1]
//! ```
//!
//! Every pod replays a recorded session in a loop, and opens its streams again each time as agents
//! do. `rate`: bytes per second of one pod, sent every `cycle` ms (default 5000, as from agents);
//! 0: as fast as the collector reads them, with at most 64 KiB unanswered. `--idle 1`: the
//! recording once, then the seven flushes every 5 s of an idle agent. One thread; bytes are
//! prepared before the start.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    missing_docs,
    unreachable_pub,
    reason = "a bench"
)]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use pmdaapm::sources::profiler::Settings;
use test_kit::profiler as kit;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Bytes that a pod sends before it waits for replies.
const WINDOW: usize = 64 << 10;
const HEARTBEAT: Duration = Duration::from_secs(5);
const FLUSH: u8 = 0x11;
/// Bytes that are prepared.
const PREPARED: usize = 160 << 20;

struct Options {
    address: String,
    pods: usize,
    rate: usize,
    /// Time between two sends of a pod with a rate.
    cycle: Duration,
    run: Duration,
    capture: String,
    idle: bool,
}

fn options() -> Result<Option<Options>, String> {
    let (mut address, mut pods, mut rate, mut seconds, mut cycle) = (None, 8, 0, 10, 5000);
    let (mut capture, mut idle) = ("gen".to_owned(), false);
    let mut words = std::env::args().skip(1);
    while let Some(key) = words.next() {
        if key == "--bench" {
            continue; // cargo bench adds it
        }
        let word = words.next().ok_or_else(|| format!("{key} needs a value"))?;
        let number = || word.parse::<usize>().map_err(|_| format!("{word} is not a number"));
        match key.as_str() {
            "--address" => address = Some(word),
            "--pods" => pods = number()?,
            "--rate" => rate = number()?,
            "--cycle" => cycle = number()?,
            "--seconds" => seconds = number()?,
            "--capture" => capture = word,
            "--idle" => idle = word == "1",
            _ => return Err(format!("{key}?")),
        }
    }
    let (run, cycle) = (Duration::from_secs(seconds as u64), Duration::from_millis(cycle as u64));
    Ok(address.map(|address| Options { address, pods, rate, cycle, run, capture, idle }))
}

/// The requests of every pod behind its hello.
struct Script {
    bytes: Vec<u8>,
    /// Offset of the end of each command, and bytes of all replies up to it.
    ends: Vec<(usize, usize)>,
}

/// Moves the words to the front: in a slow replay calls would wait for their words much longer than
/// the 5 s of real agents.
fn words_first(ops: Vec<kit::Op>) -> Vec<kit::Op> {
    let dictionary = ops.iter().find(|op| op.opens("dictionary")).map(|op| op.handle);
    let opening = ops.iter().take_while(|op| op.command != 0x02).count();
    let mut rest = ops;
    let mut ordered: Vec<_> = rest.drain(..opening).collect();
    let (words, others): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|op| op.command == 0x02 && Some(op.handle) == dictionary);
    ordered.extend(words);
    ordered.extend(others);
    ordered
}

fn script(capture: &str, once: bool) -> Script {
    let file = if capture == "gen" { "gen.duplex.gz" } else { "parser.test.protocol.gz" };
    let recorded = words_first(kit::script(&kit::read(&kit::corpus().join(file))));
    let mut connection = kit::connection(Settings::default());
    let (mut handles, mut script) = (Vec::new(), Script { bytes: Vec::new(), ends: Vec::new() });
    let (mut answers, mut greeted) = (0, false);
    loop {
        for op in recorded.iter().filter(|op| op.command != 0x04) {
            if greeted && op.command == 0x14 {
                continue;
            }
            let (asked, answered) = kit::ask(op, &mut connection, &mut handles);
            if op.command == 0x14 {
                // Each pod has its own hello.
                greeted = true;
                continue;
            }
            script.bytes.extend(asked);
            answers += answered.len();
            script.ends.push((script.bytes.len(), answers));
        }
        if once || script.bytes.len() > PREPARED {
            return script;
        }
    }
}

#[derive(Default)]
struct Totals {
    sent: u64,
    answers: u64,
    connects: u64,
    failed: u64,
}

struct Shared {
    options: Options,
    script: Script,
    totals: RefCell<Totals>,
    /// Microseconds from a flush to its ack.
    acks: RefCell<Histogram<u64>>,
    end: Instant,
}

fn hello(pod: usize) -> Vec<u8> {
    let mut bytes = vec![0x14];
    bytes.extend(100_605_u64.to_be_bytes());
    for field in [&format!("pod-{pod}_1691167327796"), "pods", "bench"] {
        bytes.extend((field.len() as u32).to_be_bytes());
        bytes.extend(field.as_bytes());
    }
    bytes
}

/// One agent's connection.
struct Pod {
    socket: TcpStream,
    shared: Rc<Shared>,
    answered: usize,
    asked: usize,
    /// Bytes of replies at which the requests sent at that time are answered.
    waiting: VecDeque<(usize, Instant)>,
    buffer: Vec<u8>,
}

impl Pod {
    async fn send(&mut self, bytes: &[u8], answers: usize) -> std::io::Result<()> {
        self.asked += answers;
        self.waiting.push_back((self.asked, Instant::now()));
        self.socket.write_all(bytes).await?;
        self.shared.totals.borrow_mut().sent += bytes.len() as u64;
        Ok(())
    }

    fn took(&mut self, n: usize) {
        self.answered += n;
        self.shared.totals.borrow_mut().answers += n as u64;
        while let Some((upto, since)) = self.waiting.front()
            && *upto <= self.answered
        {
            let took = since.elapsed().as_micros() as u64;
            self.shared.acks.borrow_mut().saturating_record(took);
            self.waiting.pop_front();
        }
    }

    /// Reads replies until a time.
    async fn wait(&mut self, until: Instant) -> std::io::Result<()> {
        loop {
            let n = tokio::select! {
                n = self.socket.read(&mut self.buffer) => n?,
                () = tokio::time::sleep_until(until.into()) => return Ok(()),
            };
            if n == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            self.took(n);
        }
    }

    async fn wait_for_answers(&mut self) -> std::io::Result<()> {
        while self.answered < self.asked {
            let n = self.socket.read(&mut self.buffer).await?;
            if n == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            self.took(n);
        }
        Ok(())
    }

    async fn play(&mut self) -> std::io::Result<()> {
        let shared = Rc::clone(&self.shared);
        let (script, rate) = (&shared.script, shared.options.rate);
        let (start, mut at, mut next, mut answers) = (Instant::now(), 0, 0, 0);
        while Instant::now() < shared.end && next < script.ends.len() {
            let goal = if rate == 0 {
                at + WINDOW
            } else {
                (start.elapsed().as_secs_f64() * rate as f64) as usize
            };
            // Whole commands, as agents send them.
            let upto = script.ends.partition_point(|(end, _)| *end <= goal);
            if upto > next {
                let (end, all) = script.ends[upto - 1];
                self.send(&script.bytes[at..end], all - answers).await?;
                (at, next, answers) = (end, upto, all);
            }
            if rate == 0 {
                self.wait_for_answers().await?;
            } else {
                self.wait((Instant::now() + shared.options.cycle).min(shared.end)).await?;
            }
        }
        self.wait_for_answers().await
    }
}

async fn pod(number: usize, shared: Rc<Shared>) {
    let mut phase = Duration::from_millis(number as u64 * 7 % 5000);
    while Instant::now() < shared.end {
        if shared.options.rate > 0 || shared.options.idle {
            tokio::time::sleep(phase).await;
        }
        phase = Duration::from_secs(1);
        let result: std::io::Result<()> = async {
            let socket = TcpStream::connect(&shared.options.address).await?;
            socket.set_nodelay(true)?;
            shared.totals.borrow_mut().connects += 1;
            let (waiting, buffer) = (VecDeque::new(), vec![0; 16 << 10]);
            let mut pod =
                Pod { socket, shared: Rc::clone(&shared), answered: 0, asked: 0, waiting, buffer };
            pod.send(&hello(number), 8).await?;
            pod.wait_for_answers().await?;
            pod.play().await?;
            while shared.options.idle && Instant::now() < shared.end {
                pod.send(&[FLUSH; 7], 7).await?;
                pod.wait((Instant::now() + HEARTBEAT).min(shared.end)).await?;
            }
            Ok(())
        }
        .await;
        if let Err(e) = result {
            shared.totals.borrow_mut().failed += 1;
            eprintln!("pod {number}: {e}");
        }
    }
}

fn main() {
    let options = match options() {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!(
                "pods --address HOST:PORT [--pods N] [--rate BYTES] [--cycle MS] [--seconds S] [--capture gen|start] [--idle 0|1]"
            );
            return;
        }
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2);
        }
    };
    let script = script(&options.capture, options.idle);
    let begin = Instant::now();
    let end = begin + options.run;
    let acks = RefCell::new(Histogram::new_with_bounds(1, 600_000_000, 3).unwrap());
    let shared = Rc::new(Shared { options, script, totals: RefCell::default(), acks, end });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let pods: Vec<_> = (0..shared.options.pods)
            .map(|n| tokio::task::spawn_local(pod(n, Rc::clone(&shared))))
            .collect();
        for pod in pods {
            pod.await.unwrap();
        }
    });
    let (seconds, totals, acks) =
        (begin.elapsed().as_secs_f64(), shared.totals.borrow(), shared.acks.borrow());
    println!(
        "{{\"seconds\":{seconds:.2},\"bytes\":{},\"mb_per_s\":{:.1},\"acks\":{},\"connects\":{},\"failed\":{},\
         \"ack_p50_us\":{},\"ack_p99_us\":{},\"ack_max_us\":{}}}",
        totals.sent,
        totals.sent as f64 / seconds / 1e6,
        totals.answers,
        totals.connects,
        totals.failed,
        acks.value_at_quantile(0.5),
        acks.value_at_quantile(0.99),
        acks.max(),
    );
}
