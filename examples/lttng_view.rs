//! Reads the first live session that matches and counts: `lttng_view ADDRESS PATTERN
//! [beginning|last] [SECONDS] [DIRECTORY]`.
//!
//! Prints the viewer's reports, a line a second with the sums, and at the end the CPU time; with a
//! directory, writes the metadata and packets of each stream to it. Reconnects when the connection
//! breaks. Also the shortest complete driver of a session; each session needs its own connection.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a program to look at things with"
)]

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use bytes::BytesMut;
use pmdaapm::model::{Now, Stamp};
use pmdaapm::sources::lttng::viewer::{
    Attached, Beacon, Lister, Listing, Need, Observer, OpenStreams, Packet, Pattern, Reading,
    Refused, Relayd, Roster, Seek, SessionEnd, SessionInfo, Settings, Skipped, StreamEnd,
    StreamInfo, TraceKey, Violation,
};

#[derive(Debug, Default)]
struct Counts {
    directory: Option<PathBuf>,
    packets: u64,
    bytes: u64,
    beacons: u64,
    skipped: BTreeMap<String, u64>,
    metadata: u64,
    /// Lag of the newest packets behind the monotonic clock on arrival, in clock cycles.
    lags: Vec<u64>,
}

/// `CLOCK_MONOTONIC` in nanoseconds, the clock of user-space traces. Without a system call of our
/// own, only the debug text of `Instant` has it: `Instant { tv_sec: 1, tv_nsec: 2 }`.
fn monotonic() -> u64 {
    let text = format!("{:?}", Instant::now());
    let mut numbers =
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u64>().ok());
    numbers.next().unwrap_or_default() * 1_000_000_000 + numbers.next().unwrap_or_default()
}

impl Counts {
    fn save(&self, trace: TraceKey, name: &str, bytes: &[u8]) {
        let Some(directory) = &self.directory else { return };
        let directory = directory.join(format!("{}-{}", trace.session, trace.trace));
        fs::create_dir_all(&directory).expect("a directory");
        let file = OpenOptions::new().create(true).append(true).open(directory.join(name));
        file.and_then(|mut file| file.write_all(bytes)).expect("a file");
    }
}

impl Observer for Counts {
    fn attached(&mut self, attached: Attached<'_>) {
        println!("attached {attached:?}");
    }
    fn refused(&mut self, session: &SessionInfo, why: Refused) {
        println!("refused {why:?} {session:?}");
    }
    fn session_over(&mut self, session: &SessionInfo, why: SessionEnd) {
        println!("over {why:?} {session:?}");
    }
    fn stream_opened(&mut self, stream: &StreamInfo) {
        println!("opened {stream:?}");
    }
    fn stream_ended(&mut self, stream: &StreamInfo, why: StreamEnd) {
        println!("ended {why:?} {stream:?}");
    }
    fn metadata(&mut self, trace: TraceKey, bytes: &[u8]) -> Need {
        println!("metadata {trace:?} {} bytes", bytes.len());
        self.metadata += bytes.len() as u64;
        self.save(trace, "metadata", bytes);
        Need::Nothing
    }
    fn metadata_restart(&mut self, trace: TraceKey) {
        println!("metadata restart {trace:?}");
    }
    fn trace_gone(&mut self, trace: TraceKey) {
        println!("gone {trace:?}");
    }
    fn packet(&mut self, packet: Packet<'_>) -> Need {
        self.packets += 1;
        self.bytes += packet.bytes.len() as u64;
        self.lags.push(monotonic().saturating_sub(packet.index.timestamp_end));
        self.save(
            packet.stream.trace,
            &format!("{}_{}", packet.stream.channel, packet.stream.id),
            packet.bytes,
        );
        Need::Nothing
    }
    fn skipped(
        &mut self,
        stream: &StreamInfo,
        index: &pmdaapm::sources::lttng::viewer::Index,
        why: Skipped,
    ) {
        if why != Skipped::Replayed {
            println!("skipped {why:?} {stream:?} {index:?}");
        }
        *self.skipped.entry(format!("{why:?}")).or_default() += 1;
    }
    fn beacon(&mut self, _: Beacon<'_>) {
        self.beacons += 1;
    }
    fn violation(&mut self, violation: Violation) {
        println!("complaint {violation:?}");
    }
}

/// Collects the listed sessions.
struct Sessions<'r> {
    roster: &'r mut Roster,
    done: bool,
}

impl Lister for Sessions<'_> {
    fn connected(&mut self, relayd: Relayd) {
        println!("connected {relayd:?}");
    }
    fn session_listed(&mut self, session: SessionInfo) {
        self.roster.listed(session);
    }
    fn listing_done(&mut self, _: u32) {
        self.roster.listing_done();
        self.done = true;
    }
}

fn dial(address: &str) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(address).map_err(|e| e.to_string())?;
    stream.set_nodelay(true).map_err(|e| e.to_string())?;
    Ok(stream)
}

fn now(started: Instant) -> Now {
    let wall = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos().cast_signed());
    Now { wall: Stamp::from_nanos(wall), monotonic: started.elapsed() }
}

/// Lists the sessions of a relay daemon once.
fn list(
    address: &str,
    settings: &Settings,
    roster: &mut Roster,
    started: Instant,
) -> Result<(), String> {
    let mut stream = dial(address)?;
    let (mut listing, mut sessions) = (Listing::new(settings), Sessions { roster, done: false });
    let (mut input, mut out, mut piece) = (BytesMut::new(), BytesMut::new(), vec![0; 16 << 10]);
    listing.start(now(started), &mut out);
    stream.write_all(&out).map_err(|e| e.to_string())?;
    out.clear();
    while !sessions.done {
        let n = stream.read(&mut piece).map_err(|e| e.to_string())?;
        if n == 0 {
            return Err("closed by the relay daemon".into());
        }
        input.extend_from_slice(piece.get(..n).unwrap_or_default());
        listing
            .feed(now(started), &mut input, &mut out, &mut sessions)
            .map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Reads over one connection; returns how it ended.
fn read(
    address: &str,
    reading: &mut Reading,
    counts: &mut Counts,
    started: Instant,
    end: Instant,
) -> Result<(), String> {
    let mut stream = dial(address)?;
    let socket = stream.try_clone().map_err(|e| e.to_string())?;
    let (mut input, mut out, mut piece) = (BytesMut::new(), BytesMut::new(), vec![0; 128 << 10]);
    let (mut writes, mut reads, mut second) = (0, 0, Instant::now());
    reading.start(now(started), &mut out);
    while Instant::now() < end && !reading.is_over() {
        if !out.is_empty() {
            stream.write_all(&out).map_err(|e| e.to_string())?;
            out.clear();
            writes += 1;
        }
        let wait = reading.next_wakeup().unwrap_or_default().saturating_sub(started.elapsed());
        if !reading.awaits_reply() {
            // Relay daemons never send first, and a sleep is more exact than a socket's time-out.
            std::thread::sleep(wait);
            reading.tick(now(started), &mut out, counts).map_err(|e| e.to_string())?;
            continue;
        }
        let _ = socket2::SockRef::from(&socket).set_tcp_quickack(true);
        stream
            .set_read_timeout(Some(wait.max(Duration::from_millis(1))))
            .map_err(|e| e.to_string())?;
        match stream.read(&mut piece) {
            Ok(0) => return Err("closed by the relay daemon".into()),
            Ok(n) => {
                reads += 1;
                input.extend_from_slice(piece.get(..n).unwrap_or_default());
                reading
                    .feed(now(started), &mut input, &mut out, counts)
                    .map_err(|e| e.to_string())?;
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                reading.tick(now(started), &mut out, counts).map_err(|e| e.to_string())?;
            }
            Err(e) => return Err(e.to_string()),
        }
        if second.elapsed() >= Duration::from_secs(1) {
            second = Instant::now();
            let Counts { packets, bytes, beacons, skipped, metadata, .. } = counts;
            counts.lags.sort_unstable();
            let lag = |part: usize| {
                counts.lags.get(counts.lags.len() * part / 100).copied().unwrap_or_default()
                    / 100_000
            };
            let lags = [0, 50, 99].map(lag);
            println!(
                "{:.1} s: {packets} packets, {bytes} bytes, {metadata} of metadata, {beacons} beacons, {skipped:?}, least, median and 99% lag {lags:?} in 0.1 ms, {writes} writes, {reads} reads",
                started.elapsed().as_secs_f64()
            );
            counts.lags.clear();
        }
    }
    reading.detach(&mut out);
    stream.write_all(&out).map_err(|e| e.to_string())
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().expect("an address");
    let patterns = arguments.next().and_then(|text| Pattern::parse(&text)).into_iter().collect();
    let seek =
        if arguments.next().as_deref() == Some("last") { Seek::Last } else { Seek::Beginning };
    let seconds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(10);
    let mut counts = Counts { directory: arguments.next().map(PathBuf::from), ..Counts::default() };
    let (started, settings) = (Instant::now(), Settings { patterns, seek, ..Settings::default() });
    let end = started + Duration::from_secs(seconds);
    let mut roster = Roster::new(&settings);
    while Instant::now() < end {
        if let Err(why) = list(&address, &settings, &mut roster, started) {
            println!("listing: {why}");
        }
        let mut room = Some(());
        let starts = roster.take(
            started.elapsed(),
            || room.take(),
            |session, why| println!("not read: {why:?} {session:?}"),
        );
        for (start, ()) in starts {
            let mut reading = Reading::new(settings.clone(), start, OpenStreams::default());
            let result = read(&address, &mut reading, &mut counts, started, end);
            println!("connection: {result:?}");
            roster.ended(started.elapsed(), reading.close(&mut counts));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let times: Vec<u64> = stat.split(' ').skip(13).take(2).filter_map(|t| t.parse().ok()).collect();
    let Counts { packets, bytes, beacons, skipped, .. } = &counts;
    println!(
        "{packets} packets, {bytes} bytes, {beacons} beacons, {skipped:?}; user and system CPU in 10 ms: {times:?}"
    );
}
