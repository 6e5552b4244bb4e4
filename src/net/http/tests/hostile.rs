//! What no agent sends.

use super::*;
use crate::store::Stat;

#[test]
fn large_heads_are_refused_and_the_answer_arrives() {
    let running = start(short());
    let mut client = running.dial();
    let mut request = b"POST / HTTP/1.1\r\n".to_vec();
    for n in 0..64 {
        request.extend(format!("X-{n}: {}\r\n", "a".repeat(1000)).into_bytes());
    }
    client.send(&request);
    let reply = client.reply().unwrap();
    assert_eq!(reply.status, 431);
    assert!(reply.head.contains("Content-Length: 0"), "{}", reply.head);
    assert_eq!(client.reply(), None);
    // Many small ones.
    let mut client = running.dial();
    let lines: String = (0..200).map(|n| format!("A{n}: b\r\n")).collect();
    client.send(format!("POST / HTTP/1.1\r\n{lines}\r\n").as_bytes());
    assert_eq!(client.reply().unwrap().status, 431);
    assert_eq!(client.reply(), None);
    assert!(running.seen().is_empty());
    running.wait("gone", |r| r.open() == 0);
}

#[test]
fn garbage_ends_the_connection() {
    let running = start(short());
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello"[..],
        b"GARBAGE\r\n\r\n",
        b"\0\0\0\0\0\0\0\0",
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
        b"POST / HTTP/1.1\r\nno colon\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut client = running.dial();
        client.send(bytes);
        let text = String::from_utf8_lossy(bytes);
        if let Some(reply) = client.reply() {
            assert_eq!(reply.status, 400, "{text}");
            assert!(reply.head.contains("Content-Length: 0"), "{text}");
            assert_eq!(client.reply(), None, "{text}");
        }
    }
    // The hello of another protocol is not even answered.
    let mut client = running.dial();
    client.send(b"\x21\xc0\xba\xbe\0\x01");
    assert!(client.ends());
    assert!(running.seen().is_empty() && running.toy.closed.lock().unwrap().is_empty());
    running.wait("gone", |r| r.open() == 0);
}

#[test]
fn other_methods_reach_the_service() {
    let running = start(short());
    let mut client = running.dial();
    for method in ["GET", "HEAD", "PUT", "OPTIONS", "BREW"] {
        client.send(format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        let reply = client.reply().unwrap();
        assert_eq!(reply.status, 405, "{method}");
        assert!(reply.head.contains("Content-Length: 0"), "{method}: {}", reply.head);
    }
    client.send(b"POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    assert_eq!(client.reply().unwrap().status, 100);
    client.send(b"body");
    assert_eq!(client.reply().unwrap().status, 202);
    // An old client wants the connection closed; so does a polite one.
    client.send(b"POST /a HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab");
    assert_eq!(client.reply().unwrap().status, 202);
    assert_eq!(client.reply(), None);
    let mut client = running.dial();
    client.send(b"POST /a HTTP/1.0\r\nContent-Length: 2\r\n\r\nab");
    assert_eq!(client.reply().unwrap().status, 202);
    assert_eq!(client.reply(), None);
}

#[test]
fn large_bodies_are_dropped_and_answered() {
    let running = start(short());
    let mut client = running.dial();
    assert_eq!(client.post("/", &vec![1; (1 << 20) + 1]).status, 202);
    let seen = running.seen().pop().unwrap();
    assert_eq!((seen.dropped, seen.body.len()), (Some(Dropped::TooLarge), 0));
    // The connection lives on.
    assert_eq!(client.post("/", b"small").status, 202);
    // Chunked: the length is known at the end only.
    client.send(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
    for _ in 0..20 {
        client.send(b"10000\r\n");
        client.send(&[0; 0x10000]);
        client.send(b"\r\n");
    }
    client.send(b"0\r\n\r\n");
    assert_eq!(client.reply().unwrap().status, 202);
    assert_eq!(running.seen().pop().unwrap().dropped, Some(Dropped::TooLarge));
    // Nobody waits for a terabyte.
    client.send(b"POST / HTTP/1.1\r\nContent-Length: 1000000000000\r\n\r\nabc");
    assert_eq!(client.reply().unwrap().status, 202);
    assert_eq!(running.seen().pop().unwrap().dropped, Some(Dropped::TooLarge));
    assert_eq!(client.reply(), None);
}

#[test]
fn slow_requests_end_and_do_not_disturb_others() {
    // Heads and bodies, of which a byte comes now and then.
    let slow = |running: &Running| -> Vec<Client> {
        let begun: [&[u8]; 2] = [b"P", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n"];
        let dial = |n: usize| {
            let mut client = running.dial();
            client.send(begun[n % 2]);
            client
        };
        (0..20).map(dial).collect()
    };
    let running = start(HttpLimits { arrive: NEVER, idle: NEVER, ..short() });
    let mut endless = slow(&running);
    let mut good = running.dial();
    for _ in 0..6 {
        endless.iter_mut().for_each(|client| client.send(b"O"));
        assert_eq!(good.post("/agent/submit/trc", b"body").status, 202);
    }
    // A connection counts from the first step of its own task on.
    running.wait("all of them open", |r| r.open() == 21);

    let running = start(short());
    assert!(slow(&running).iter_mut().all(Client::ends));
    assert_eq!(running.dial().post("/", b"").status, 202);
}

#[test]
fn a_peer_that_does_not_read_is_dropped() {
    let running = start(short());
    let mut client = running.dial();
    client.send(&post("/large", b"").repeat(100));
    running.wait("gone", |r| r.stat(Stat::ConnectionTotal) == 1 && r.open() == 0);
    assert!(running.seen().len() < 100, "it was answered a hundred times");
}

#[test]
fn silent_connections_give_way() {
    let running = start_with(short(), Toy::default(), Limits::default(), 5);
    let mut known = running.dial();
    assert_eq!(known.post("/", b"").status, 202);
    let mut stranger = running.dial();
    assert_eq!(stranger.post("/stranger", b"").status, 202);
    let mut silent: Vec<_> = (0..20).map(|_| running.dial()).collect();
    assert!(stranger.ends());
    running.wait("five pending", |r| r.stat(Stat::ConnectionRefused) == 16 && r.open() == 6);
    assert_eq!(known.post("/", b"").status, 202);
    let mut newest = silent.split_off(15);
    assert!(silent.iter_mut().all(Client::ends), "the oldest give way");
    assert!(newest.iter_mut().all(|client| client.post("/", b"").status == 202));
}

/// 200 connections with large bodies at once: those without room are dropped and answered.
#[test]
fn large_bodies_on_many_connections_stay_within_memory() {
    let limits = Limits { memory: 64 << 20, ..Limits::default() };
    let toy = Toy { forgets: true, ..Toy::default() };
    let http = HttpLimits {
        arrive: Duration::from_secs(60),
        body: 16 << 20,
        dropped: 64 << 20,
        ..short()
    };
    let running = start_with(http, toy, limits, 1000);
    running.store.memory.set_limits(64 << 20, 1 << 20, 32 << 20);
    let body = vec![0; 16 << 20];
    let peak = &AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (running, body) = (&running, &body);
        let clients: Vec<_> = (0..200)
            .map(|_| {
                scope.spawn(move || {
                    let mut client = running.dial();
                    client.stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                    assert_eq!(client.post("/", body).status, 202);
                    peak.fetch_max(running.store.memory.used(), Ordering::Relaxed);
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        assert!(peak.load(Ordering::Relaxed) <= 64 << 20);
    });
    let seen = running.seen();
    assert_eq!(seen.len(), 200);
    let dropped = seen.iter().filter(|s| s.dropped == Some(Dropped::NoMemory)).count();
    assert!(dropped > 0 && seen.iter().all(|s| s.dropped != Some(Dropped::TooLarge)));
    running.wait("freed", |r| r.store.memory.used() == 0);
}
