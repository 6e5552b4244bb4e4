use std::io::Write;

use flate2::{Compression, GzBuilder};

use super::*;
use crate::sources::profiler::test_kit::Bytes;

fn string(s: &str) -> Vec<u8> {
    Bytes::new().int(s.len() as i32).raw(s.as_bytes()).0
}

fn hello() -> Bytes {
    Bytes::new()
        .u8(0x14)
        .long(100_705)
        .raw(&string("vm_1795227482421"))
        .raw(&string("svc"))
        .raw(&string("ns"))
}

fn open(bytes: Bytes, name: &str, sequence: i32) -> Bytes {
    bytes.u8(0x15).raw(&string(name)).int(sequence).int(0)
}

fn data(bytes: Bytes, handle: u64, payload: &[u8]) -> Bytes {
    bytes.u8(2).raw(&super::handle(handle)).int(payload.len() as i32).raw(payload)
}

const SETTINGS: Settings =
    Settings { version: 100_605, rotation_period_ms: 3_600_000, rotation_size: 1 << 20 };

/// Feeds the pieces to one connection; returns events, replies and end.
fn talk<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<String>, Vec<u8>, Result<(), Violation>, bool) {
    let mut transport = Dialogue::new(SETTINGS);
    let (mut input, mut out, mut events) = (BytesMut::new(), BytesMut::new(), Vec::new());
    let mut end = Ok(());
    for piece in pieces {
        input.extend_from_slice(piece);
        end = transport.feed(&mut input, &mut out, &mut |e| events.push(format!("{e:?}")));
        while end.is_ok() && transport.unfinished() {
            end = transport.feed(&mut input, &mut out, &mut |e| events.push(format!("{e:?}")));
        }
        if end.is_err() || transport.ended() {
            break;
        }
    }
    (events, out.to_vec(), end, transport.ended())
}

/// Feeds the bytes whole and in pieces; the results must be the same.
fn check(bytes: &Bytes) -> (Vec<String>, Vec<u8>, Result<(), Violation>, bool) {
    let whole = talk([&bytes.0[..]]);
    assert_eq!(talk(bytes.0.chunks(1)), whole);
    for cut in 0..bytes.0.len() {
        let (head, tail) = bytes.0.split_at(cut);
        assert_eq!(talk([head, tail]), whole, "cut at {cut}");
    }
    whole
}

fn wrong(bytes: &Bytes) -> (ProtocolError, Vec<u8>) {
    let (_, out, end, _) = check(bytes);
    (end.unwrap_err().what, out)
}

#[test]
fn a_conversation() {
    let bytes = open(open(hello(), "calls", 0), "dictionary", 0);
    let bytes = data(bytes, 1, b"abc").u8(0x11).u8(0x12).u8(0x13).raw(&[5; 16]).u8(0xff);
    let bytes = data(open(bytes, "calls", 1), 3, b"").u8(0x04).raw(b"whatever");
    let (events, out, end, ended) = check(&bytes);
    assert_eq!((end, ended, events.len()), (Ok(()), true, 9));
    for (event, begin) in events.iter().zip([
        "Hello(Hello { version: Some(100705), namespace: \"ns\", service: \"svc\", pod: \"vm_1795227482421\" })",
        "Opened(Opened { stream: 0, name: \"calls\", kind: Calls,",
        "Opened(Opened { stream: 1, name: \"dictionary\", kind: Dictionary,",
        "Data { stream: 0, payload: [97, 98, 99] }",
        "Flush",
        "CommandResult { id: [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5], ok: false }",
        "Opened(Opened { stream: 0, name: \"calls\", kind: Calls,",
        "Data { stream: 0, payload: [] }",
        "Close",
    ]) {
        assert!(event.starts_with(begin), "{event}");
    }
    let opened = |number, period, size, sequence| {
        Bytes::new().raw(&handle(number)).long(period).long(size).int(sequence).0
    };
    let want = [
        100_605u64.to_be_bytes().to_vec(),
        opened(1, 3_600_000, 1 << 20, 0),
        opened(2, 0, 0, 0),
        vec![0, 0],
        opened(3, 3_600_000, 1 << 20, 1),
        vec![0],
    ];
    assert_eq!(out, want.concat());
}

#[test]
fn sequences_never_go_back() {
    let asked = [0, 0, 7, 3, -5, i32::MAX, i32::MAX];
    let bytes = asked.iter().fold(hello(), |b, n| open(b, "trace", *n));
    let (_, out, ..) = check(&bytes);
    let got: Vec<i32> =
        out[8..].chunks(36).map(|r| i32::from_be_bytes(r[32..].try_into().unwrap())).collect();
    assert_eq!(got, [0, 1, 7, 8, 9, i32::MAX, i32::MAX]);
}

#[test]
fn legacy_commands() {
    let who = [string("ns"), string("svc"), string("pod")].concat();
    let init = |b: Bytes| b.u8(1).raw(&who).raw(&string("calls")).int(0).int(0);
    let (events, out, end, _) = check(&init(init(Bytes::new().u8(8))));
    assert_eq!((end, &out[..8], out.len()), (Ok(()), &100_505u64.to_be_bytes()[..], 8 + 36 + 36));
    assert_eq!(events.len(), 3, "who it is, is told once: {events:?}");
    assert_eq!(
        events[0],
        "Hello(Hello { version: None, namespace: \"ns\", service: \"svc\", pod: \"pod\" })"
    );
    // A legacy hello is optional, and does not identify the agent for INIT_STREAM_V2.
    assert_eq!(check(&init(Bytes::new())).0.len(), 2);
    let (what, out) = wrong(&open(Bytes::new().u8(8), "calls", 0));
    assert_eq!((what, &out[8..]), (ProtocolError::BeforeHello("INIT_STREAM_V2"), &NULL[..]));
}

#[test]
fn strangers_and_other_faults() {
    assert_eq!(
        wrong(&open(Bytes::new(), "calls", 0)),
        (ProtocolError::BeforeHello("INIT_STREAM_V2"), NULL.to_vec())
    );
    assert_eq!(wrong(&Bytes::new().u8(0x11)).0, ProtocolError::BeforeHello("REQUEST_ACK_FLUSH"));
    assert_eq!(
        wrong(&Bytes::new().raw(b"GET / HTTP/1.1\r\n\r\n")),
        (ProtocolError::Command(b'G'), vec![0xff])
    );
    assert_eq!(wrong(&Bytes::new().u8(0)).0, ProtocolError::Command(0));
    assert_eq!(wrong(&Bytes::new().u8(0x1f).u8(0x8c)).0, ProtocolError::Command(0x1f));
    assert_eq!(wrong(&hello().raw(&hello().0)).0, ProtocolError::SecondHello);
    assert_eq!(wrong(&hello().u8(8)).0, ProtocolError::SecondHello);
    assert_eq!(wrong(&Bytes::new().u8(8).u8(8)).0, ProtocolError::SecondHello);
    // The earlier handle of the same name, a handle that was never given, and null.
    let twice = open(open(hello(), "calls", 0), "calls", 1);
    for (number, raw) in [(1, None), (9, None), (0, Some(NULL))] {
        let bytes = data(twice.clone(), number, b"x");
        let bytes = raw.map_or(bytes, |raw| twice.clone().u8(2).raw(&raw).int(0));
        let (what, out) = wrong(&bytes);
        assert_eq!((what, out[8 + 72..].to_vec()), (ProtocolError::Handle, vec![0xff]));
    }
    let fault = talk([&hello().u8(0x11).u8(0x77).0[..]]).2.unwrap_err();
    assert_eq!(fault.to_string(), format!("at byte {}: command 0x77", hello().0.len() + 2));
}

#[test]
fn any_name_is_taken_but_not_any_number_of_them() {
    let names: Vec<String> = (0..=limits::STREAMS).map(|n| "é".repeat(n)).collect();
    let most = names.iter().take(limits::STREAMS).fold(hello(), |b, n| open(b, n, 0));
    let (events, out, end, _) = talk([&most.0[..]]);
    assert_eq!(
        (end, events.len(), out.len()),
        (Ok(()), 1 + limits::STREAMS, 8 + 36 * limits::STREAMS)
    );
    let (_, out, end, _) = talk([&open(most, &names[limits::STREAMS], 0).0[..]]);
    assert_eq!(
        (end.unwrap_err().what, &out[out.len() - 16..]),
        (ProtocolError::Streams, &NULL[..])
    );
}

#[test]
fn replies_are_bounded_even_if_the_requests_are_a_bomb() {
    use std::io::Write;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let one = |n: u32| data(Bytes::new(), 1, &n.wrapping_mul(0x9e37_79b1).to_be_bytes()).0;
    packer
        .write_all(
            &open(hello(), "calls", 0).raw(&(0..300_000).flat_map(one).collect::<Vec<_>>()).0,
        )
        .unwrap();
    let packed = packer.finish().unwrap();
    let (_, out, end, _) = talk([&packed[..]]);
    assert_eq!((end.unwrap_err().what, out.len()), (ProtocolError::Replies, limits::REPLIES));
}

fn gzip(plain: &[u8]) -> BytesMut {
    use std::io::Write;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(plain).unwrap();
    BytesMut::from(&packer.finish().unwrap()[..])
}

#[test]
fn commands_that_carry_nothing_are_bounded() {
    let many = |n: usize| hello().raw(&vec![0x12; n]);
    assert_eq!(talk([&many(limits::EMPTY as usize).0[..]]).2, Ok(()));
    let too_many = many(limits::EMPTY as usize + 1).0;
    assert_eq!(talk([&too_many[..]]).2.unwrap_err().what, ProtocolError::Empty);
    assert_eq!(talk([&gzip(&too_many)[..]]).2.unwrap_err().what, ProtocolError::Empty);
    // An idle agent flushes for years.
    let mut transport = Dialogue::new(SETTINGS);
    let (mut out, mut told) = (BytesMut::new(), 0);
    for round in 0..3 * limits::EMPTY {
        let mut input =
            if round == 0 { BytesMut::from(&hello().0[..]) } else { BytesMut::from(&[0x11][..]) };
        transport.feed(&mut input, &mut out, &mut |_| told += 1).unwrap();
        transport.tick();
        out.clear();
    }
    assert_eq!(told, 3 * limits::EMPTY);
}

#[test]
fn a_turn_is_bounded_and_the_next_goes_on() {
    let payloads: Vec<u8> = (0..20_000u32)
        .flat_map(|n| data(Bytes::new(), 1, &n.wrapping_mul(0x9e37_79b1).to_be_bytes()).0)
        .collect();
    let mut input = gzip(&open(hello(), "calls", 0).raw(&payloads).0);
    let mut transport = Dialogue::new(SETTINGS);
    let (mut out, mut told, mut turns) = (BytesMut::new(), 0, 0);
    loop {
        let before = transport.consumed();
        transport.feed(&mut input, &mut out, &mut |_| told += 1).unwrap();
        assert!(transport.consumed() - before <= (limits::TURN + limits::INFLATED) as u64);
        turns += 1;
        if !transport.unfinished() {
            break;
        }
    }
    assert_eq!((told, out.len()), (2 + 20_000, 8 + 36 + 20_000));
    assert!(turns > 500_000 / limits::TURN, "{turns}");
}

#[test]
fn what_inflates_to_hundreds_of_times_its_size_is_refused() {
    let bytes = open(hello(), "calls", 0).raw(&data(Bytes::new(), 1, &[0; 1000]).0.repeat(20_000));
    let mut input = gzip(&bytes.0);
    assert!(bytes.0.len() / input.len() > 250);
    let mut transport = Dialogue::new(SETTINGS);
    let (mut out, mut turns) = (BytesMut::new(), 0);
    let fault = loop {
        if let Err(fault) = transport.feed(&mut input, &mut out, &mut |_| ()) {
            break fault;
        }
        out.clear();
        turns += 1;
    };
    assert!(
        matches!(fault.what, ProtocolError::Gzip(what) if what.contains("times its size")),
        "{fault:?}"
    );
    assert!(turns <= limits::RATIO_FROM / limits::TURN as u64 + 1, "{turns}");
}

#[test]
fn gzip_ends_with_close_too() {
    use std::io::Write;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(&hello().u8(4).raw(&vec![7; 1 << 20]).0).unwrap();
    let (events, _, end, ended) = talk([&packer.finish().unwrap()[..]]);
    assert_eq!((events.len(), end, ended), (2, Ok(()), true));
}

/// Feeds the pieces and takes the inflated bytes after every call.
fn run(packed: &[u8], piece: usize) -> Result<Vec<u8>, ProtocolError> {
    let (mut inflate, mut input, mut plain, mut all) =
        (Inflate::new(), BytesMut::new(), BytesMut::new(), Vec::new());
    for piece in packed.chunks(piece) {
        input.extend_from_slice(piece);
        while inflate.inflate(&mut input, &mut plain)? {
            assert!(plain.len() <= limits::INFLATED);
            all.extend_from_slice(&plain.split());
        }
        assert!(input.len() < 10 + limits::GZIP_HEADER, "input is not left lying");
    }
    Ok(all)
}

fn pack(builder: GzBuilder, plain: &[u8]) -> Vec<u8> {
    let mut packer = builder.write(Vec::new(), Compression::best());
    packer.write_all(plain).unwrap();
    packer.finish().unwrap()
}

fn some() -> Vec<u8> {
    (0..100_000u32).flat_map(|n| (n.wrapping_mul(n) / 7).to_be_bytes()).collect()
}

#[test]
fn headers_of_all_kinds_and_any_pieces() {
    let plain = some();
    let full = GzBuilder::new().extra(vec![1; 300]).filename("a name").comment("a comment");
    for builder in
        [GzBuilder::new(), full, GzBuilder::new().filename("x"), GzBuilder::new().comment("y")]
    {
        let packed = pack(builder, &plain);
        for piece in [1, 2, 999, packed.len()] {
            assert!(run(&packed, piece).as_ref() == Ok(&plain), "pieces of {piece}");
        }
    }
    // A header with a CRC, which the writers here cannot make.
    let mut packed = pack(GzBuilder::new(), b"x");
    packed[3] |= HAS_CRC;
    packed.splice(10..10, [0xaa, 0xbb]);
    assert_eq!(run(&packed, 1), Ok(b"x".to_vec()));
}

#[test]
fn a_bomb_is_held_in_small_rooms() {
    let packed = pack(GzBuilder::new(), &vec![0x11; 50 << 20]);
    assert!(packed.len() < 60_000);
    let (mut inflate, mut input, mut plain) =
        (Inflate::new(), BytesMut::from(&packed[..]), BytesMut::new());
    let mut rounds = 0;
    let end = loop {
        match inflate.inflate(&mut input, &mut plain) {
            Ok(more) => assert!(more),
            Err(wrong) => break wrong,
        }
        assert!(plain.capacity() <= 4 * limits::INFLATED, "{}", plain.capacity());
        plain.clear();
        rounds += 1;
    };
    assert_eq!(end, ProtocolError::Gzip("inflates to more than 250 times its size"));
    assert!(
        rounds * limits::INFLATED as u64 <= limits::RATIO_FROM + limits::INFLATED as u64,
        "{rounds}"
    );
}

#[test]
fn what_is_not_gzip() {
    let packed = pack(GzBuilder::new(), &some());
    let damaged = |at: usize, byte: u8| [&packed[..at], &[byte], &packed[at + 1..]].concat();
    assert_eq!(run(&damaged(2, 7), 5), Err(ProtocolError::Gzip("unknown method or flags")));
    assert_eq!(run(&damaged(3, 0x20), 5), Err(ProtocolError::Gzip("unknown method or flags")));
    assert_eq!(run(&damaged(10, 0x07), 5), Err(ProtocolError::Gzip("not deflate")));
    assert_eq!(
        run(&[&packed[..], &packed].concat(), 5),
        Err(ProtocolError::Gzip("something behind the end"))
    );
    let endless = [&[0x1f, 0x8b, 8, HAS_NAME, 0, 0, 0, 0, 0, 0][..], &[b'x'; 3000]].concat();
    assert_eq!(run(&endless, 100), Err(ProtocolError::Gzip("long header")));
    assert_eq!(run(&endless, 3010), Err(ProtocolError::Gzip("long header")));
}
