//! A fleet of simulated Mono agents: load for `qa/bench`. A program without the bench harness:
//!
//! ```text
//! cargo bench --bench fleet -- --address 127.0.0.1:8888 --agents 1000 --interval 1000 --seconds 30
//! ```
//!
//! Every agent announces the 185 counters of a real capture and the two that identify it, sends all
//! values once and then a sample each interval. Samples have the same counters as in the capture,
//! unless `--changed` is given. One thread encodes bytes when they are sent, so that the load costs
//! less than the PMDA that it measures.

use std::collections::VecDeque;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{Buf, BufMut, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep, sleep_until};

/// Mono 6.8 under a workload that presses the garbage collector, a sample every 500 ms
/// (benches/README.md).
const CAPTURE: &[u8] = include_bytes!("../qa/corpus/mono/c-file-all-gcpressure.bin");
/// Process ids that no real process of this machine has.
const FIRST_PID: u32 = 10_000_000;
const COMMAND_LINE: &str = "/usr/bin/mono fleet.exe";

const INT: u32 = 0;
const UINT: u32 = 1;
const DOUBLE: u32 = 5;
const STRING: u32 = 6;
const CONSTANT: u32 = 1 << 29;
const GOOD_BYE: u8 = 127;

/// Choice of the counters in a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changed {
    /// The counters that changed in the capture, sample by sample.
    AsCaptured,
    /// This many in each sample, in turn.
    Count(usize),
}

#[derive(Clone, Debug)]
struct Options {
    address: String,
    agents: u32,
    interval: Duration,
    /// Time in which all agents begin.
    within: Duration,
    /// Pause after which an agent that has lost its connection connects again; zero: it does not.
    again: Duration,
    /// Duration; zero: until SIGTERM.
    run: Duration,
    changed: Changed,
}

const USAGE: &str = "fleet --address HOST:PORT [--agents N] [--interval MS] [--seconds S] [--changed captured|all|K] [--within MS] [--again MS]";

fn number<T: FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("{word} is not a number"))
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let (mut address, mut agents, mut interval, mut seconds, mut changed) =
        (None, 1000, 1000, 30, Changed::AsCaptured);
    let (mut within, mut again) = (None, 0);
    while let Some(key) = words.next() {
        if key == "--bench" {
            continue; // cargo bench adds it
        }
        let word = words.next().ok_or_else(|| format!("{key} needs a value"))?;
        match (key.as_str(), word.as_str()) {
            ("--address", _) => address = Some(word),
            ("--agents", _) => agents = number(&word)?,
            ("--interval", _) => interval = number::<u64>(&word)?.max(1),
            ("--within", _) => within = Some(number(&word)?),
            ("--again", _) => again = number(&word)?,
            ("--seconds", _) => seconds = number(&word)?,
            ("--changed", "captured") => changed = Changed::AsCaptured,
            ("--changed", "all") => changed = Changed::Count(usize::MAX),
            ("--changed", _) => changed = Changed::Count(number(&word)?),
            _ => return Err(format!("{key}?")),
        }
    }
    let within = Duration::from_millis(within.unwrap_or(interval));
    let again = Duration::from_millis(again);
    let (interval, run) = (Duration::from_millis(interval), Duration::from_secs(seconds));
    Ok(address.map(|address| Options { address, agents, interval, within, again, run, changed }))
}

/// The data common to all agents, from the capture.
struct Plan {
    options: Options,
    hello: BytesMut,
    /// Type and first value of each counter, by index.
    counters: Vec<(u32, u64)>,
    /// Which counters are in the samples after the first, used in turn.
    sets: Vec<Vec<u16>>,
}

fn put_header(hello: &mut BytesMut, category: u32, name: &str, ty: u32, index: u16) {
    hello.put_u32_le(category);
    hello.put_u32_le(u32::try_from(name.len()).unwrap_or_default());
    hello.put_slice(name.as_bytes());
    [ty, 0, CONSTANT].into_iter().for_each(|n| hello.put_u32_le(n));
    hello.put_u16_le(index);
}

/// Index and value of each counter in the sample at the front of `bytes`.
fn captured_sample(bytes: &mut &[u8]) -> Vec<(u16, u64)> {
    assert_eq!(bytes.get_u8(), 4, "only samples follow Hello in the capture");
    bytes.advance(8);
    let mut values = Vec::new();
    loop {
        match bytes.get_u16_le() {
            u16::MAX => return values,
            index => {
                let size = bytes.get_u16_le();
                values.push((index, bytes.get_uint_le(size.into())));
            }
        }
    }
}

impl Plan {
    fn new(options: Options) -> Self {
        let mut bytes = CAPTURE;
        let hello_and_version = bytes.copy_to_bytes(3);
        let count = bytes.get_u16_le();
        let mut hello = BytesMut::new();
        hello.put_slice(&hello_and_version);
        hello.put_u16_le(count + 2);
        let mut types = Vec::new();
        for _ in 0..count {
            let mut header = bytes;
            header.advance(4);
            let name = header.get_u32_le() as usize;
            header.advance(name);
            types.push(header.get_u32_le());
            hello.put_slice(&bytes.copy_to_bytes(4 + 4 + name + 3 * 4 + 2));
        }
        put_header(&mut hello, 0x4000, "Process Id", INT, count);
        put_header(&mut hello, 0x2000, "Command Line", STRING, count + 1);

        let first = captured_sample(&mut bytes);
        assert_eq!(first.len(), types.len(), "the first sample has every counter");
        let counters: Vec<_> =
            types.into_iter().zip(first).map(|(ty, (_, value))| (ty, value)).collect();
        let mut sets = Vec::new();
        while !bytes.is_empty() {
            sets.push(captured_sample(&mut bytes).into_iter().map(|(index, _)| index).collect());
        }
        if let Changed::Count(n) = options.changed {
            let all: Vec<u16> = (0..count).collect();
            let n = n.min(all.len());
            // Enough sets for every counter to have its turn.
            let turns = if n == 0 { 1 } else { all.len().div_ceil(n) };
            sets = (0..turns)
                .map(|turn| all.iter().copied().cycle().skip(turn * n).take(n).collect())
                .collect();
        }
        Self { options, hello, counters, sets }
    }

    fn values_per_sample(&self) -> f64 {
        let all = u32::try_from(self.sets.iter().map(Vec::len).sum::<usize>()).unwrap_or_default();
        f64::from(all) / f64::from(u32::try_from(self.sets.len()).unwrap_or_default())
    }
}

#[derive(Default)]
struct Totals {
    connected: AtomicU64,
    messages: AtomicU64,
    values: AtomicU64,
    bytes: AtomicU64,
    /// Samples that began more than a tenth of the interval late: the machine cannot sustain the
    /// load.
    late: AtomicU64,
    latest: AtomicU64,
    /// Connections that failed or that the other side has closed.
    lost: AtomicU64,
}

/// One simulated process.
struct Agent {
    plan: Arc<Plan>,
    pid: u32,
    values: Vec<u64>,
    /// Sets still to be used, the next first.
    sets: VecDeque<usize>,
    out: BytesMut,
}

/// Time in units of 100 ns since 1601, as from Mono's clock.
fn filetime() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    116_444_736_000_000_000 + u64::try_from(since_1970.as_nanos() / 100).unwrap_or_default()
}

impl Agent {
    fn new(plan: Arc<Plan>, number: u32) -> Self {
        let values = plan.counters.iter().map(|(_, first)| *first).collect();
        let mut sets: VecDeque<usize> = (0..plan.sets.len()).collect();
        // Not all agents send their large samples at the same time.
        sets.rotate_left(number as usize % plan.sets.len().max(1));
        Self { plan, pid: FIRST_PID + number, values, sets, out: BytesMut::new() }
    }

    fn begin_sample(&mut self) {
        self.out.clear();
        self.out.put_u8(4);
        self.out.put_u64_le(filetime());
    }

    fn put(&mut self, index: u16) {
        let at = usize::from(index);
        let (Some((ty, _)), Some(value)) = (self.plan.counters.get(at), self.values.get_mut(at))
        else {
            return;
        };
        let size = if matches!(*ty, INT | UINT) { 4 } else { 8 };
        *value = if *ty == DOUBLE {
            (f64::from_bits(*value) + 0.25).to_bits()
        } else {
            value.wrapping_add(1)
        };
        self.out.put_u16_le(index);
        self.out.put_u16_le(size);
        self.out.put_uint_le(*value & (u64::MAX >> (64 - 8 * size)), size.into());
    }

    /// Hello and a sample with everything, as Mono sends them; the number of values.
    fn hello(&mut self) -> u64 {
        self.begin_sample();
        let captured = u16::try_from(self.values.len()).unwrap_or(u16::MAX);
        (0..captured).for_each(|index| self.put(index));
        self.out.put_u16_le(captured);
        self.out.put_u16_le(4);
        self.out.put_u32_le(self.pid);
        self.out.put_u16_le(captured + 1);
        self.out.put_u16_le(u16::try_from(COMMAND_LINE.len()).unwrap_or_default());
        self.out.put_slice(COMMAND_LINE.as_bytes());
        self.out.put_i16_le(-1);
        let sample = std::mem::take(&mut self.out);
        self.out.put_slice(&self.plan.hello);
        self.out.put_slice(&sample);
        u64::from(captured) + 2
    }

    fn sample(&mut self) -> u64 {
        self.begin_sample();
        let plan = Arc::clone(&self.plan);
        let Some(turn) = self.sets.pop_front() else { return 0 };
        self.sets.push_back(turn);
        let set = plan.sets.get(turn).map(Vec::as_slice).unwrap_or_default();
        set.iter().for_each(|index| self.put(*index));
        self.out.put_i16_le(-1);
        set.len() as u64
    }

    async fn run(&mut self, totals: &Totals, mut due: Instant) -> std::io::Result<()> {
        sleep_until(due).await;
        let mut stream = TcpStream::connect(&self.plan.options.address).await?;
        stream.set_nodelay(true)?;
        totals.connected.fetch_add(1, Relaxed);
        let interval = self.plan.options.interval;
        let mut values = self.hello();
        let mut requests = [0; 256];
        loop {
            stream.write_all(&self.out).await?;
            totals.messages.fetch_add(1, Relaxed);
            totals.values.fetch_add(values, Relaxed);
            totals.bytes.fetch_add(self.out.len() as u64, Relaxed);
            due += interval;
            loop {
                tokio::select! {
                    () = sleep_until(due) => break,
                    // Requests are read and not answered, as by a busy agent.
                    read = stream.read(&mut requests) => {
                        let n = read?;
                        if n == 0 || requests.first() == Some(&GOOD_BYE) {
                            return Ok(());
                        }
                    }
                }
            }
            let late = due.elapsed();
            totals.latest.fetch_max(u64::try_from(late.as_millis()).unwrap_or(u64::MAX), Relaxed);
            if late > interval / 10 {
                totals.late.fetch_add(1, Relaxed);
            }
            values = self.sample();
        }
    }
}

async fn run(plan: Plan) -> Result<(), Box<dyn std::error::Error>> {
    let (plan, totals, start) = (Arc::new(plan), Arc::new(Totals::default()), Instant::now());
    let Options { agents, interval, within, again, run, .. } = plan.options.clone();
    for number in 0..agents {
        let (mut agent, totals) = (Agent::new(Arc::clone(&plan), number), Arc::clone(&totals));
        let mut due = start + within * number / agents.max(1);
        tokio::spawn(async move {
            loop {
                let ended = agent.run(&totals, due).await;
                if !again.is_zero() {
                    due = Instant::now() + again;
                    continue;
                }
                totals.lost.fetch_add(1, Relaxed);
                if let Err(e) = ended {
                    eprintln!("agent {number}: {e}");
                }
                return;
            }
        });
    }
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        () = sleep(run), if !run.is_zero() => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    let n = |counter: &AtomicU64| counter.load(Relaxed);
    println!(
        "{{\"agents\":{agents},\"interval_ms\":{},\"seconds\":{:.1},\"values_per_sample\":{:.1},\"connected\":{},\"lost\":{},\
         \"messages\":{},\"values\":{},\"bytes\":{},\"late\":{},\"latest_ms\":{}}}",
        interval.as_millis(),
        start.elapsed().as_secs_f64(),
        plan.values_per_sample(),
        n(&totals.connected),
        n(&totals.lost),
        n(&totals.messages),
        n(&totals.values),
        n(&totals.bytes),
        n(&totals.late),
        n(&totals.latest),
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match options(std::env::args().skip(1))? {
        Some(options) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(run(Plan::new(options)))
        }
        // A plain `cargo bench` has no address to send to.
        None => {
            eprintln!("{USAGE}\n(qa/bench runs it)");
            Ok(())
        }
    }
}
