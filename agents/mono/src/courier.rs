//! The thread's loop: connect, send Hello, send samples and serve requests, until the program ends.

use std::io::{self, ErrorKind};
use std::time::Instant;

use crate::catalogue::Selection;
use crate::clock::{self, Schedule};
use crate::complaint::complain;
use crate::mono::Gate;
use crate::options::{Address, Options};
use crate::os::link::{Link, SEND_LIMIT};
use crate::os::stop::Stop;
use crate::os::sys::Ready;
use crate::registry::{OURS, Registry};
use crate::requests::{Malformed, Parser};
use crate::session::{Counters, Next, Session};

/// Bytes per read. Requests are short and rare; the next read takes the rest.
const READ_SIZE: usize = 1024;

/// Runs until `stop` is requested, or until a file cannot be written.
pub(crate) fn run(options: &Options, gate: &Gate, stop: &Stop) {
    let mut courier = Courier { options, stop, registry: Registry::new(gate), message: Vec::new() };
    courier.registry.absorb();
    courier.tell_misspelt(&options.selection);
    match &options.address {
        Address::File(path) => {
            if let Err(error) = courier.write_file(path) {
                complain(&format!("{path}: {error}; no more samples"));
            }
        }
        Address::Tcp { host, port } => courier.serve(host, *port),
    }
}

/// The reason for the end of a connection.
enum End {
    /// A stop was requested and the last sample was sent.
    Stopped,
    /// The inspector closed the connection, sent `GoodBye` or used up the indexes.
    Closed,
    /// Reading or writing failed.
    Broken(io::Error),
    /// The inspector sent bytes that are not a request.
    Malformed(Malformed),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stopped => f.write_str("the program ends"),
            Self::Closed => f.write_str("closed"),
            Self::Broken(error) => error.fmt(f),
            Self::Malformed(what) => what.fmt(f),
        }
    }
}

struct Courier<'a> {
    options: &'a Options,
    stop: &'a Stop,
    registry: Registry<'a>,
    /// The message under construction; reused so that a sample allocates nothing.
    message: Vec<u8>,
}

impl Courier<'_> {
    /// Connects again after each connection, until a stop is requested.
    fn serve(&mut self, host: &str, port: u16) {
        // Only the first refusal is logged: the inspector may be absent for long.
        let mut refused = false;
        while self.stop.deadline().is_none() {
            match Link::connect(host, port, self.stop) {
                Ok(link) => {
                    refused = false;
                    self.tell(format_args!("connected to {host}:{port}"));
                    let end = self.converse(&link);
                    self.tell(format_args!("connection ended: {end}"));
                }
                Err(error) => {
                    if !refused {
                        self.tell(format_args!("cannot connect to {host}:{port}: {error}"));
                    }
                    refused = true;
                }
            }
            if let Err(error) = self.stop.wait(None, self.options.retry) {
                return complain(&format!("{error}; nothing more is sent"));
            }
        }
    }

    fn write_file(&mut self, path: &str) -> io::Result<()> {
        match self.converse(&Link::create(path)?) {
            End::Broken(error) => Err(error),
            _ => Ok(()),
        }
    }

    fn converse(&mut self, link: &Link) -> End {
        let (Ok(end) | Err(end)) = self.converse_until(link);
        end
    }

    /// Priorities: a due sample, then one request, then waiting. A flood of requests therefore does
    /// not delay samples.
    fn converse_until(&mut self, link: &Link) -> Result<End, End> {
        let mut parser = Parser::default();
        let mut buffer = [0; READ_SIZE];
        self.registry.absorb();
        self.message.clear();
        let selection = &self.options.selection;
        let mut session = Session::open(&self.registry, selection, OURS, &mut self.message);
        self.send(link)?;
        let mut schedule = Schedule::new(Instant::now(), self.options.interval);
        loop {
            self.registry.absorb();
            if self.stop.deadline().is_some() {
                self.sample(&mut session, link)?;
                return Ok(End::Stopped);
            }
            let left = schedule.left(Instant::now());
            if left.is_zero() {
                self.sample(&mut session, link)?;
                schedule.advance(Instant::now());
            } else if let Some(request) = parser.next().map_err(End::Malformed)? {
                self.message.clear();
                let next = session.answer(&request, &self.registry, &mut self.message);
                if next == Next::Close {
                    return Ok(End::Closed);
                }
                self.send(link)?;
            } else if self.stop.wait(link.requests().map(|fd| (fd, Ready::Read)), left)? {
                match link.receive(&mut buffer) {
                    Ok(0) => return Ok(End::Closed),
                    Ok(size) => parser.feed(buffer.get(..size).unwrap_or_default()),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    fn sample(&mut self, session: &mut Session, link: &Link) -> io::Result<()> {
        self.message.clear();
        // The time stamp is taken before the values (docs/protocols/mono-counters.md section 5).
        session.sample(&mut self.registry, clock::ticks(), &mut self.message);
        self.send(link)
    }

    fn send(&self, link: &Link) -> io::Result<()> {
        link.send(&self.message, SEND_LIMIT, self.stop)
    }

    /// A pattern that matches no counter is most likely misspelt. Logged once only, since a
    /// matching counter may appear later and be announced by the next connection.
    fn tell_misspelt(&self, selection: &Selection) {
        let idle = selection.idle(self.registry.descriptions());
        let idle: Vec<_> = idle.map(|pattern| pattern.text.as_str()).collect();
        if !idle.is_empty() {
            complain(&format!("no counter so far is called {}", idle.join(" or ")));
        }
    }

    /// Logs a line if `verbose` is set.
    fn tell(&self, what: std::fmt::Arguments<'_>) {
        if self.options.verbose {
            complain(&what.to_string());
        }
    }
}
