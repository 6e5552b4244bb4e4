//! Requests as agents send them, and as others might.

use super::*;

#[test]
fn a_request_is_answered_with_its_length_and_nothing_empty() {
    let running = start(short());
    let mut client = running.dial();
    let reply = client.post("/agent/submit/trc?x=1", b"body");
    assert_eq!(reply.head, "HTTP/1.1 202 Accepted\r\nContent-Length: 0");
    let reply = client.post("/text", b"");
    assert_eq!(reply.head, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4");
    assert_eq!(reply.body, b"well");
    let seen = running.seen();
    assert_eq!(
        (seen[0].line.as_str(), seen[0].body.as_slice()),
        ("POST /agent/submit/trc", &b"body"[..])
    );
    assert_eq!((seen[1].line.as_str(), seen[1].body.as_slice()), ("POST /text", &b""[..]));
    assert!(seen[0].headers.contains(&("x-toy-session".to_owned(), "12".to_owned())));
    assert_eq!(seen[0].connection, seen[1].connection);
    drop(client);
    running.wait("closed", |r| *r.toy.closed.lock().unwrap() == [seen[0].connection]);
    running.wait("gone", |r| r.open() == 0);
    assert_eq!(running.store.memory.used(), 0);
}

#[test]
fn byte_by_byte_and_all_at_once_are_the_same() {
    let running = start(HttpLimits { arrive: Duration::from_secs(20), ..short() });
    let body: Vec<u8> = (0..40).collect();
    let mut whole = post("/a", &body);
    whole.extend(post("/b", b""));
    whole.extend(post("/c", &body));
    let mut client = running.dial();
    for byte in &whole {
        client.send(&[*byte]);
        std::thread::sleep(Duration::from_micros(300));
    }
    (0..3).for_each(|_| assert_eq!(client.reply().unwrap().status, 202));
    // Pipelined: the answers come in order.
    let mut client = running.dial();
    client.send(&whole);
    (0..3).for_each(|_| assert_eq!(client.reply().unwrap().status, 202));
    // Cut at each position, with a pause that parks the connection if nothing has arrived.
    let mut client = running.dial();
    client.send(&whole[..1]);
    std::thread::sleep(Duration::from_millis(250));
    client.send(&whole[1..]);
    (0..3).for_each(|_| assert_eq!(client.reply().unwrap().status, 202));
    let seen = running.seen();
    let plain = |seen: &Seen| (seen.line.clone(), seen.body.clone(), seen.dropped);
    let first: Vec<_> = seen[..3].iter().map(plain).collect();
    assert_eq!(first[2], ("POST /c".to_owned(), body, None));
    assert!(seen.chunks(3).all(|three| three.iter().map(plain).collect::<Vec<_>>() == first));
    assert_eq!(seen.len(), 9);
}

#[test]
fn half_a_request_behind_a_whole_one_is_kept() {
    let running = start(short());
    let mut client = running.dial();
    let mut both = post("/a", b"1");
    let half = both.len() + 20;
    both.extend(post("/b", b"2"));
    client.send(&both[..half]);
    assert_eq!(client.reply().unwrap().status, 202);
    // Longer than it takes to park.
    std::thread::sleep(Duration::from_millis(300));
    client.send(&both[half..]);
    assert_eq!(client.reply().unwrap().status, 202);
    assert_eq!(running.seen()[1].body, b"2");
}

#[test]
fn twenty_connections_do_not_mix() {
    let running = start(short());
    std::thread::scope(|scope| {
        for n in 0..20_u8 {
            let running = &running;
            scope.spawn(move || {
                let mut client = running.dial();
                for round in 0..20 {
                    let body = vec![n; 1 + usize::from(n) * 700];
                    assert_eq!(client.post(&format!("/{n}/{round}"), &body).status, 202);
                    if round % 7 == 0 {
                        std::thread::sleep(Duration::from_millis(u64::from(n) * 20));
                    }
                }
            });
        }
    });
    let mut seen = running.seen();
    assert_eq!(seen.len(), 400);
    seen.sort_by_key(|seen| seen.connection);
    for one in seen.chunks(20) {
        let n = one[0].body[0];
        for (round, request) in one.iter().enumerate() {
            assert_eq!(request.line, format!("POST /{n}/{round}"));
            assert_eq!(request.connection, one[0].connection);
            assert_eq!(request.body, vec![n; 1 + usize::from(n) * 700]);
        }
    }
}

#[test]
fn idle_connections_are_parked_and_stay_open() {
    let running = start(short());
    let mut clients: Vec<_> = (0..50).map(|_| running.dial()).collect();
    for round in 0..3 {
        for client in &mut clients {
            assert_eq!(client.post("/agent/submit/trc", b"body").status, 202);
        }
        running.wait("parked", |r| r.store.memory.used() == 0);
        std::thread::sleep(Duration::from_millis(600 * u64::from(round == 1)));
    }
    assert_eq!((running.open(), running.seen().len()), (50, 150));
    assert!(running.toy.closed.lock().unwrap().is_empty());
}

#[test]
fn bodies_of_every_size_arrive() {
    let running = start(short());
    let mut client = running.dial();
    for length in [1, 8191, 8192, 8193, 65_536, 100_000, 1 << 20] {
        let body: Vec<u8> = (0..length).map(|i| u8::try_from(i % 251).unwrap()).collect();
        assert_eq!(client.post("/", &body).status, 202);
        assert_eq!(running.seen().last().unwrap().body, body);
        // Chunked, in uneven pieces.
        client.send(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
        for piece in body.chunks(7777) {
            client.send(format!("{:x}\r\n", piece.len()).as_bytes());
            client.send(piece);
            client.send(b"\r\n");
        }
        client.send(b"0\r\n\r\n");
        assert_eq!(client.reply().unwrap().status, 202);
        assert_eq!(running.seen().last().unwrap().body, body);
    }
    assert!(running.seen().iter().all(|seen| seen.dropped.is_none()));
}

/// An agent that writes head and body apart and leaves `TCP_NODELAY` off: without an
/// acknowledgement of the head its kernel keeps the body for 40 ms.
#[test]
fn head_and_body_written_apart_do_not_wait() {
    let running = start(HttpLimits::default());
    let mut client = running.dial();
    client.stream.set_nodelay(false).unwrap();
    let request = post("/agent/submit/trc", &[7; 274]);
    let (head, body) = request.split_at(request.len() - 274);
    let mut fastest = NEVER;
    for _ in 0..200 {
        let start = Instant::now();
        client.send(head);
        client.send(body);
        assert_eq!(client.reply().unwrap().status, 202);
        fastest = fastest.min(start.elapsed());
    }
    assert!(fastest < Duration::from_millis(20), "the fastest of 200 requests took {fastest:?}");
}

#[test]
fn the_service_ticks() {
    let running = start(HttpLimits::default());
    running.wait("two ticks", |r| r.toy.ticks.load(Ordering::Relaxed) == 2);
}
