//! Requests by HTTP, one after another, by a thread of their own.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flate2::{Compression, write::GzEncoder};

use crate::exporter::Summary;
use crate::say;

use super::answer::Verdict;
use super::batch::{Batch, Form};
use super::build::{Choice, Otlp, Target};
use super::endpoint::Endpoint;
use super::journal::Journal;
use super::post::Post;

/// Bytes of requests that wait; there are more only of one fetch.
const MOST_QUEUED: usize = 16 << 20;
/// Times that a request is sent again.
const TRIES: u32 = 5;
/// The first wait before that, which doubles, and the longest.
const WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// After the end, what waits has so much time.
const LAST: Duration = Duration::from_secs(30);

/// How long a receiver is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// As OTLP's exporters do: a request that fails five times more is given up.
    Tries,
    /// Until it takes it, or the end comes.
    Always,
}

impl Otlp {
    /// Sends to a receiver.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn receiver(
        to: Endpoint,
        choice: Choice,
        patience: Patience,
        journal: Option<Journal>,
    ) -> io::Result<Self> {
        let form = to.form;
        let known = journal.as_ref().map_or_else(HashSet::new, |journal| journal.known().collect());
        let shared = Arc::<Shared>::default();
        let sender = Sender {
            post: Post::new(to),
            shared: shared.clone(),
            patience,
            journal,
            form,
            failing: false,
        };
        let thread = std::thread::Builder::new().name("otlp".into()).spawn(|| sender.run())?;
        let delivery = Delivery { shared, thread: Some(thread) };
        Ok(Self::new(choice, form, Box::new(delivery), known))
    }
}

/// The queue's end where requests come in.
struct Delivery {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Batch>,
    bytes: usize,
    summary: Summary,
    /// When no more came.
    closed: Option<Instant>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Target for Delivery {
    fn send(&mut self, batch: Batch) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.bytes += batch.bytes();
        state.queue.push_back(batch);
        self.shared.changed.notify_all();
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.shared.lock().bytes < MOST_QUEUED
    }

    fn finish(&mut self) -> io::Result<Summary> {
        self.shared.lock().closed = Some(Instant::now());
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            return Err(io::Error::other("the thread that sends has ended"));
        }
        Ok(self.shared.lock().summary)
    }
}

struct Sender {
    post: Post,
    shared: Arc<Shared>,
    patience: Patience,
    journal: Option<Journal>,
    /// Protobuf after JSON was refused.
    form: Form,
    /// The last request was given up.
    failing: bool,
}

impl Sender {
    fn run(mut self) {
        while let Some(batch) = self.next() {
            let summary = if self.is_over() {
                Summary { sent: 0, rejected: batch.spans as u64 }
            } else {
                self.deliver(&batch)
            };
            let mut state = self.shared.lock();
            state.bytes = state.bytes.saturating_sub(batch.bytes());
            state.summary += summary;
        }
    }

    /// The time after the end is over.
    fn is_over(&self) -> bool {
        self.patience == Patience::Always
            && self.shared.lock().closed.is_some_and(|closed| closed.elapsed() >= LAST)
    }

    fn next(&self) -> Option<Batch> {
        let mut state = self.shared.lock();
        loop {
            if let Some(batch) = state.queue.pop_front() {
                return Some(batch);
            }
            if state.closed.is_some() {
                return None;
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn deliver(&mut self, batch: &Batch) -> Summary {
        let spans = batch.spans as u64;
        let url = self.post.shown();
        let mut body = self.body(batch);
        let mut tries = 0;
        let mut wait = WAIT;
        loop {
            let (verdict, why) = self.post.send(self.form, &body);
            match verdict {
                Verdict::Taken { rejected, message } => {
                    if rejected > 0 {
                        say(&format!("{url}: {rejected} of {spans} spans rejected: {message}"));
                    } else if !message.is_empty() {
                        say(&format!("{url}: {message}"));
                    }
                    if tries > 0 {
                        say(&format!("{url}: goes on"));
                    }
                    self.failing = false;
                    self.remember(batch);
                    let rejected = rejected.min(spans);
                    return Summary { sent: spans - rejected, rejected };
                }
                Verdict::OtherForm if self.form == Form::Json => {
                    say(&format!("{url}: takes no JSON, protobuf then"));
                    self.form = Form::Protobuf;
                    body = self.body(batch);
                }
                // That says nothing of these spans: another start may deliver them.
                Verdict::OtherForm | Verdict::Denied(_) => {
                    let message =
                        if let Verdict::Denied(message) = verdict { message } else { why };
                    say(&format!("{url}: {spans} spans rejected: {message}"));
                    return Summary { sent: 0, rejected: spans };
                }
                Verdict::Refused(message) => {
                    say(&format!("{url}: {spans} spans rejected: {message}"));
                    self.remember(batch);
                    return Summary { sent: 0, rejected: spans };
                }
                Verdict::Again(asked) => {
                    let most = if self.failing { 0 } else { TRIES };
                    let given_up = self.patience == Patience::Tries && tries >= most;
                    let pause = pause(asked, wait);
                    if tries == 0 && !given_up {
                        say(&format!("{url}: {why}, again in {:.1} s", pause.as_secs_f64()));
                    }
                    if given_up || !self.pause(pause) {
                        say(&format!("{url}: {spans} spans could not be sent: {why}"));
                        self.failing = true;
                        return Summary { sent: 0, rejected: spans };
                    }
                    tries += 1;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
            }
        }
    }

    fn body(&self, batch: &Batch) -> Vec<u8> {
        let body = match self.form {
            Form::Protobuf => batch.protobuf(),
            Form::Json => batch.document().into_bytes(),
        };
        if !self.post.gzip() {
            return body;
        }
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        // Memory takes everything.
        let _ = packed.write_all(&body);
        packed.finish().unwrap_or_default()
    }

    fn remember(&mut self, batch: &Batch) {
        if let Some(journal) = &mut self.journal
            && let Err(e) = journal.delivered(&batch.noted)
        {
            say(&format!("{}: {e}", journal.path().display()));
            self.journal = None;
        }
    }

    /// Waits. `false`: the end has come, and what there was of time after it.
    fn pause(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = self.shared.lock();
        loop {
            let now = Instant::now();
            let last = state.closed.filter(|_| self.patience == Patience::Always);
            if last.is_some_and(|closed| now >= closed + LAST) {
                return false;
            }
            let end = last.map_or(until, |closed| until.min(closed + LAST));
            if now >= end {
                return end == until;
            }
            let waited = self.shared.changed.wait_timeout(state, end - now);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The time until a request is sent again: what the receiver asks for, but a busy loop it cannot have, else `wait`; up
/// to a fourth more, so that not all clients come again at once.
fn pause(asked: Option<Duration>, wait: Duration) -> Duration {
    let time = asked.map_or(wait, |asked| asked.max(WAIT));
    let random = RandomState::new().build_hasher().finish() % 256;
    time + time.saturating_mul(u32::try_from(random).unwrap_or(0)) / 1024
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::super::endpoint::Said;
    use super::super::tests::record;
    use super::*;
    use crate::exporter::Exporter;

    /// What is noted after a receiver has answered a call and its tree so.
    fn noted(status: u16) -> usize {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("a port"));
        let server = std::thread::spawn(move || {
            let (mut peer, _) = listener.accept().expect("a peer");
            let mut got = Vec::new();
            let mut part = [0; 4096];
            let head = loop {
                let length = peer.read(&mut part).expect("a request");
                got.extend_from_slice(part.get(..length).expect("read"));
                if let Some(at) = got.windows(4).position(|end| end == b"\r\n\r\n") {
                    break at + 4;
                }
            };
            let text = String::from_utf8_lossy(&got).to_lowercase();
            let length = text.split_once("content-length: ").expect("a length").1;
            let length: usize =
                length.split_once('\r').expect("a line").0.parse().expect("a number");
            while got.len() < head + length {
                let length = peer.read(&mut part).expect("a request");
                got.extend_from_slice(part.get(..length).expect("read"));
            }
            write!(peer, "HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .expect("an answer");
        });
        let path = std::env::temp_dir().join(format!("noted-{}-{status}", std::process::id()));
        let endpoint = Endpoint::new(&Said { url, ..Said::default() }, |_| None).expect("sound");
        let journal = Journal::open(&path).expect("a file");
        let choice = Choice::default();
        let mut otlp = Otlp::receiver(endpoint, choice, Patience::Tries, Some(journal));
        let otlp = otlp.as_mut().expect("a thread");
        let of = [("duration", "10"), ("thread", "main")];
        let tree = ("tree", "0,9,9,,1,R.r 1,3,1,5,2,A.a 2,2,2,,7,B.b 1,6,6,0,1,C.c");
        for (kind, parameters) in
            [("profiler.call", &of[..]), ("profiler.tree", &[of[0], of[1], tree])]
        {
            otlp.add(&record(kind, "a/b/c", 100, parameters), Instant::now()).expect("memory");
        }
        let summary = otlp.finish().expect("an end");
        assert_eq!(summary.sent + summary.rejected, 4);
        server.join().expect("the server");
        let known = Journal::open(&path).expect("the file").known().count();
        std::fs::remove_file(&path).expect("the file");
        known
    }

    #[test]
    fn what_a_receiver_has_is_noted_once_for_a_tree() {
        // A call and a tree, and the streams of both.
        assert_eq!(noted(200), 4);
        // It will never take those.
        assert_eq!(noted(400), 4);
    }

    #[test]
    fn what_another_start_may_deliver_is_not_noted() {
        assert_eq!([401, 403, 404, 415].map(noted), [0; 4]);
    }

    #[test]
    fn a_receiver_that_asks_for_no_pause_gets_one() {
        let longest = Duration::from_secs(30);
        assert!(pause(Some(Duration::ZERO), longest) >= WAIT);
        assert!(pause(Some(Duration::ZERO), longest) < 2 * WAIT);
        assert!(pause(Some(5 * WAIT), WAIT) >= 5 * WAIT);
        assert!(pause(None, longest) >= longest);
    }
}
