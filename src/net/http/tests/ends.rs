//! Ends of connections: nothing that was read goes without an answer, nothing is reset.

use super::*;

#[test]
fn a_half_closed_connection_is_answered() {
    let running = start(short());
    for path in ["/a", "/slow"] {
        let mut client = running.dial();
        client.send(&post(path, b"body"));
        client.stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(client.reply().unwrap().status, 202);
        assert_eq!(client.reply(), None);
    }
    // In the middle of a body: nothing to answer.
    let mut client = running.dial();
    client.send(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(client.reply(), None);
    assert_eq!(running.seen().len(), 2);
    running.wait("gone", |r| r.open() == 0);
}

#[test]
fn a_stop_answers_what_was_read() {
    let running = start(short());
    let (mut idle, mut parked, mut slow, mut partial, mut silent) =
        (running.dial(), running.dial(), running.dial(), running.dial(), running.dial());
    assert_eq!(parked.post("/", b"").status, 202);
    std::thread::sleep(Duration::from_millis(300));
    slow.send(&post("/slow", b"body"));
    assert_eq!(idle.post("/", b"").status, 202);
    partial.send(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
    running.wait("read", |r| r.seen().len() == 3);
    let took = running.stop();
    assert_eq!(slow.reply().unwrap().status, 202);
    for client in [&mut idle, &mut parked, &mut slow, &mut partial, &mut silent] {
        assert_eq!(client.reply(), None);
    }
    assert!(took < NEVER, "{took:?}");
    assert_eq!(running.toy.closed.lock().unwrap().len(), 3);
    assert_eq!(running.store.memory.used(), 0);
}

/// Under load: each answer arrives whole, then the connection ends without a reset.
#[test]
fn a_stop_under_load_loses_no_answer() {
    let running = start(short());
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = running.dial();
                let request = post("/", &[1; 274]);
                // A request that meets the end is not read by the PMDA.
                while client.stream.write_all(&request).is_ok() {
                    let mut answer = [0; 128];
                    match client.stream.read(&mut answer) {
                        Ok(n) if n > 0 => {
                            assert!(answer[..n].ends_with(b"\r\n\r\n"));
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        _ => return,
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_millis(200));
        running.stop();
    });
    assert_eq!(running.seen().len(), answered.load(Ordering::Relaxed));
}
