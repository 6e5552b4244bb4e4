//! Sessions of a relay daemon that would use unbounded memory, beside a sound one: real connections
//! and the whole layer.
#![cfg(feature = "agent")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a test"
)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pmdaapm::net::{Peers, Supervisor};
use pmdaapm::sources::foreign::ForeignReaders;
use pmdaapm::sources::lttng::{Config, Lttng};
use pmdaapm::sources::{Context, Source};
use pmdaapm::store::{Limits, Stat, Store};
use test_kit::lttng::{Dialogue, Relayd};

/// Column of `session.state`.
const STATE: u16 = 1;
const MIB: usize = 1 << 20;
/// Numbers of the sessions as they are served.
const ENDLESS: u64 = 2;
const HUGE: u64 = 3;

fn word(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// Changes the replies of the relay daemon.
fn spoil(session: u64, command: u32, mut reply: Vec<u8>) -> Vec<u8> {
    const PACKET: usize = 12 * MIB;
    match (session, command) {
        // Each index has the flag for new metadata.
        (ENDLESS, 4) => word(&mut reply, 60, 1),
        (ENDLESS, 6) => {
            // First the recorded metadata, then endless text.
            let text = if reply.len() > 12 {
                reply[12..].to_vec()
            } else {
                b"/* more and more */ ".repeat(4 << 10)
            };
            reply = [&(text.len() as u64).to_be_bytes()[..], &1u32.to_be_bytes(), &text].concat();
        }
        (HUGE, 4) if reply[59] == 1 => {
            reply[8..16].copy_from_slice(&(8 * PACKET as u64).to_be_bytes());
            reply[16..24].copy_from_slice(&(8 * PACKET as u64).to_be_bytes());
        }
        (HUGE, 5) => {
            reply = vec![0; 12 + PACKET];
            word(&mut reply, 0, 1);
            word(&mut reply, 4, PACKET as u32);
        }
        _ => {}
    }
    // No stream ever ends.
    if command == 4 && reply[59] == 3 {
        reply[59] = 4;
    }
    reply
}

fn serve(
    mut stream: TcpStream,
    id: u64,
    relayd: &Mutex<Relayd>,
    attached: &[AtomicU64],
) -> std::io::Result<()> {
    let mut session = 0;
    loop {
        let mut head = [0; 16];
        stream.read_exact(&mut head)?;
        let mut body = vec![0; u64::from_be_bytes(head[..8].try_into().unwrap()) as usize];
        stream.read_exact(&mut body)?;
        let command = u32::from_be_bytes(head[8..12].try_into().unwrap());
        let reply = relayd.lock().unwrap().reply(id, command, &body, Duration::ZERO);
        if command == 3 {
            session = u64::from_be_bytes(body[..8].try_into().unwrap());
            attached[session as usize].fetch_add(1, Ordering::Relaxed);
        }
        stream.write_all(&spoil(session, command, reply))?;
    }
}

#[test]
fn a_session_beyond_its_memory_ends_and_others_go_on() {
    let dialogue = Dialogue::load("live-ust-grow");
    let named = |name: &str| Dialogue { name: name.into(), ..dialogue.clone() };
    let relayd = Relayd::of(13, vec![named("sound"), named("endless"), named("huge")]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let attached: Arc<[AtomicU64; 4]> = Arc::default();
    let shared = (Arc::new(Mutex::new(relayd)), Arc::clone(&attached));
    std::thread::spawn(move || {
        for (id, stream) in (1..).zip(listener.incoming()) {
            let (relayd, attached) = (Arc::clone(&shared.0), Arc::clone(&shared.1));
            std::thread::spawn(move || {
                let _ = serve(stream.unwrap(), id, &relayd, &*attached);
                relayd.lock().unwrap().disconnect(id);
            });
        }
    });

    let config =
        Config { relays: vec![address.to_string()], view: vec!["*".into()], ..Config::default() };
    let limits = Limits { peer_memory: 4 * MIB, ..Limits::default() };
    let store = Store::new(pmdaapm::sources::catalogue(), 400, limits, 32 * MIB);
    let state = std::env::temp_dir().join(format!("apm-lttng-memory-{}", std::process::id()));
    std::fs::create_dir_all(&state).unwrap();
    let supervisor = Supervisor::start(4096, 1024, |_| ()).unwrap();
    let context = Context {
        peers: Peers::new(&store, store.catalogue().id("lttng").unwrap(), "lttng"),
        net: supervisor.net().clone(),
        state_dir: state.clone(),
        foreign: ForeignReaders::default(),
        host: pmdaapm::host::Host::new("/proc".into()),
    };
    let _running = Lttng::start(config, context).unwrap();

    let reading = |name: &str| {
        let peer = store.peers().into_iter().find(|p| p.name.ends_with(&format!("/{name}")));
        peer.and_then(|p| p.text(STATE)).map(|text| text.to_string()).unwrap_or_default()
    };
    let ended = |name: &str| reading(name).contains("limits.peer_memory exceeded");
    let (mut replay_filter, mut most, start) = ([false; 2], 0, Instant::now());
    let again = |session: u64| attached[session as usize].load(Ordering::Relaxed) > 1;
    while !(replay_filter == [true; 2] && again(ENDLESS) && again(HUGE)) {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{replay_filter:?} {} {}",
            reading("endless"),
            reading("huge")
        );
        replay_filter = [replay_filter[0] | ended("endless"), replay_filter[1] | ended("huge")];
        let held = [Stat::MemoryInput, Stat::MemoryDefinitions]
            .map(|stat| store.memory_stat(stat).unwrap());
        most = most.max(held[0] + held[1]);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((reading("sound").as_str(), attached[1].load(Ordering::Relaxed)), ("reading", 1));
    let events = store
        .peers()
        .iter()
        .find(|p| p.name.ends_with("/sound"))
        .unwrap()
        .existing_stream(pmdaapm::model::EventKindId::new(0))
        .unwrap()
        .stats()
        .count;
    assert!(events > 0);
    let limit = 3 * 4 * MIB as u64;
    assert!((100_000..limit).contains(&most), "{most} bytes were charged");
    supervisor.stop();
    assert_eq!(
        [Stat::MemoryInput, Stat::MemoryDefinitions].map(|stat| store.memory_stat(stat)),
        [Some(0); 2]
    );
    let _ = std::fs::remove_dir_all(&state);
}
