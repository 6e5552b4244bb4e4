//! A collector for Java profiler agents that only counts: `cargo run --no-default-features
//! --example profiler_collector -- 1715`. A thread for each connection, std only; for tests of the
//! decoders against real agents and replayers, not for production.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "an example")]

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use bytes::BytesMut;
use pmdaapm::sources::profiler::{
    Block, Call, Connection, DecodeError, Dictionary, File, Hello, Interner, Observer, Pause,
    Settings,
};

#[derive(Debug, Default)]
struct Sums {
    pod: String,
    calls: u64,
    late: u64,
    time_ms: u64,
    pauses: u64,
    paused_ms: u64,
    blocks: u64,
    events: u64,
    lost: u64,
    corrupt: Vec<String>,
    torn: u64,
    orderly: bool,
}

impl Observer for Sums {
    fn hello(&mut self, hello: &Hello<'_>) {
        self.pod = format!("{}/{}/{}", hello.namespace, hello.service, hello.pod);
    }

    fn call(&mut self, call: &Call<'_>, words: &Dictionary) {
        self.calls += 1;
        self.time_ms += call.duration_ms;
        self.late += u64::from(!call.is_named(words));
    }

    fn pause(&mut self, pause: &Pause) {
        self.pauses += 1;
        self.paused_ms += u64::from(pause.duration_ms);
    }

    fn trace_block_end(&mut self, _: &Block, events: u32) {
        self.blocks += 1;
        self.events += u64::from(events);
    }

    fn calls_lost(&mut self, calls: u64) {
        self.lost += calls;
    }

    fn corrupt(&mut self, file: &File<'_>, at: u64, why: DecodeError) {
        self.corrupt.push(format!("{} at {at}: {why}", file.name));
    }

    fn ended(&mut self, _: &File<'_>, torn: bool) {
        self.torn += u64::from(torn);
    }

    fn closed(&mut self, orderly: bool) {
        self.orderly = orderly;
    }
}

fn serve(mut socket: TcpStream, settings: Settings, interner: Arc<Interner>) -> io::Result<()> {
    let (mut connection, mut sums) = (Connection::new(settings, interner), Sums::default());
    let (mut input, mut out, mut buffer) = (BytesMut::new(), BytesMut::new(), vec![0; 64 << 10]);
    let end = loop {
        let read = socket.read(&mut buffer)?;
        if read == 0 {
            break Ok(());
        }
        input.extend_from_slice(&buffer[..read]);
        let mut end = connection.feed(&mut input, &mut out, &mut sums);
        while end.is_ok() && connection.unfinished() {
            end = connection.feed(&mut input, &mut out, &mut sums);
        }
        socket.write_all(&out.split())?;
        if end.is_err() || connection.ended() {
            break end;
        }
    };
    connection.close(&mut sums);
    println!("{sums:?} {} words, {end:?}", connection.streams().dictionary().len());
    Ok(())
}

fn main() -> io::Result<()> {
    let mut numbers = std::env::args().skip(1).map(|n| n.parse::<u64>().unwrap());
    let port = u16::try_from(numbers.next().unwrap_or(1715)).unwrap();
    let (rotation_size, rotation_period_ms) =
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let settings = Settings { rotation_size, rotation_period_ms, ..Settings::default() };
    let interner = Arc::new(Interner::new(64 << 20));
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept()?;
        socket.set_nodelay(true)?;
        let interner = Arc::clone(&interner);
        std::thread::spawn(move || {
            if let Err(e) = serve(socket, settings, interner) {
                println!("{e}");
            }
        });
    }
}
