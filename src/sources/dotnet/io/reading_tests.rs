//! Streams over a pair of sockets.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::*;
use crate::contract::Recorded;
use crate::model::HeapSize;
use crate::sources::Source;
use crate::sources::dotnet::{Config, Dotnet, limits, metrics as m};

/// A capture without the answer of 28 bytes.
fn capture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/dotnet").join(name);
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes.split_off(28)
}

/// Reads a stream whose first bytes come with the answer; then `pieces`.
fn read(first: &[u8], pieces: &[&[u8]]) -> (u64, Option<End>, Option<String>, Reading) {
    let (socket, mut peer) = UnixStream::pair().unwrap();
    socket.set_nonblocking(true).unwrap();
    let mut reading =
        Reading::new(socket, BytesMut::from(first), Stream::default(), Duration::ZERO);
    let mut parts = Parts::new(&Config::default(), Box::new(()));
    let mut events = Recorded::new(&Dotnet::TABLE);
    let mut fault = None;
    for piece in pieces {
        let turn = reading.turn(Now::default(), &mut parts, &mut events);
        assert_eq!(turn.end, None);
        fault = fault.or(turn.fault);
        peer.write_all(piece).unwrap();
    }
    drop(peer);
    let turn = reading.turn(Now::default(), &mut parts, &mut events);
    (events.count(m::EVENTS), turn.end, fault.or(turn.fault), reading)
}

#[test]
fn a_stream_is_read_whole_wherever_it_is_divided() {
    let bytes = capture("default-9.s2c.gz");
    for divide in [0, 5, 100, bytes.len()] {
        let (first, rest) = bytes.split_at(divide);
        for size in [997, 65_536] {
            let pieces: Vec<&[u8]> = rest.chunks(size).collect();
            let (events, end, fault, reading) = read(first, &pieces);
            assert_eq!((events, end, fault), (347, Some(End::Whole), None), "{divide} {size}");
            assert!(reading.stream.began());
        }
    }
}

#[test]
fn bytes_that_came_with_the_answer_do_not_wait_for_more() {
    let bytes = capture("default-9.s2c.gz");
    let (socket, _peer) = UnixStream::pair().unwrap();
    socket.set_nonblocking(true).unwrap();
    let input = BytesMut::from(&bytes[..200]);
    let mut reading = Reading::new(socket, input, Stream::default(), Duration::ZERO);
    let mut parts = Parts::new(&Config::default(), Box::new(()));
    let turn = reading.turn(Now::default(), &mut parts, &mut Recorded::new(&Dotnet::TABLE));
    assert_eq!((turn.bytes, turn.end), (200, None));
    assert!(reading.stream.began());
}

#[test]
fn a_stream_that_is_cut_counts_as_far_as_it_came() {
    let bytes = capture("default-9.s2c.gz");
    let (events, end, fault, _) = read(&[], &[&bytes[..bytes.len() - 1]]);
    assert_eq!((events, end, fault), (347, Some(End::Cut), None));
    let (events, end, fault, _) = read(&[], &[&bytes[..bytes.len() / 2]]);
    assert!(events > 50 && events < 347, "{events}");
    assert_eq!((end, fault), (Some(End::Cut), None));
}

#[test]
fn what_cannot_be_decoded_is_thrown_away() {
    let mut bytes = capture("default-9.s2c.gz");
    // The tag of the first object.
    bytes[32] ^= 0xFF;
    let more = vec![7; 300_000];
    let pieces: Vec<&[u8]> = [bytes.as_slice()].into_iter().chain(more.chunks(50_000)).collect();
    let (_, end, fault, reading) = read(&[], &pieces);
    assert!(fault.is_some_and(|why| why.contains("at byte")));
    assert_eq!(end, Some(End::Cut));
    assert!(reading.heap_size() < limits::BLOCK);
    assert_eq!(reading.input.capacity(), 0);
}

#[test]
fn processes_share_their_times() {
    let ms = Duration::from_millis;
    for now in [0, 1, 499, 500, 501, 999] {
        let next = aligned(ms(now), SLOW);
        assert!(next > ms(now) && next <= ms(now) + SLOW && next.as_millis().is_multiple_of(500));
    }
}
