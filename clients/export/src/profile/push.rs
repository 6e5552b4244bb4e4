//! Stacks to Pyroscope: what has come in an interval, a request for each service.

use std::fmt::Write;
use std::time::Duration;

use ureq::Agent;

use super::{Folded, Profile};
use crate::http;
use crate::meaning::without_user;

/// For one request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Values are ns: so many are a second.
const RATE: u64 = 1_000_000_000;

/// Where profiles are sent to.
#[derive(Debug)]
pub struct Push {
    agent: Agent,
    url: String,
    headers: Vec<(String, String)>,
}

impl Push {
    /// `url`: the receiver; `/ingest` is appended.
    ///
    /// # Errors
    /// It cannot be sent to; the text says why.
    pub fn new(
        url: &str,
        headers: &[(String, String)],
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let url = url.trim_end_matches('/');
        let url = format!("{}/ingest", url.strip_suffix("/ingest").unwrap_or(url));
        http::sendable(&url, headers)?;
        Ok(Self { agent: http::agent(TIMEOUT, environment)?, url, headers: headers.to_vec() })
    }

    /// Sends a profile: how many stacks were taken. What was refused is in the list, in words.
    pub fn send(&self, profile: &Profile) -> (u64, Vec<(u64, String)>) {
        let (mut sent, mut refused) = (0, Vec::new());
        for (service, _) in profile.services() {
            for kind in ["time", "cpu"] {
                let of = |stack: &&Folded| {
                    &*stack.service == service && stack.sampled.is_some() == (kind == "cpu")
                };
                let stacks: Vec<&Folded> = profile.stacks.iter().filter(of).collect();
                let number = stacks.len() as u64;
                if number == 0 {
                    continue;
                }
                match self.post(&query(profile, service, kind), &lines(&stacks)) {
                    Ok(()) => sent += number,
                    Err(why) => refused
                        .push((number, format!("{}: {service}: {why}", without_user(&self.url)))),
                }
            }
        }
        (sent, refused)
    }

    fn post(&self, query: &str, body: &str) -> Result<(), String> {
        let mut request = self.agent.post(format!("{}?{query}", self.url));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let answer = request.header("Content-Type", "text/plain").send(body);
        let status = answer.map_err(|e| e.to_string())?.status();
        if status.is_success() { Ok(()) } else { Err(format!("status {}", status.as_u16())) }
    }
}

/// What a request says beside its stacks. Pyroscope has seconds: an interval begins with the second that it began in.
fn query(profile: &Profile, service: &str, kind: &str) -> String {
    let from = profile.start.max(0).unsigned_abs() / RATE;
    let until = (profile.start.max(0).unsigned_abs() + profile.length) / RATE;
    let name = format!("{service}.{kind}{{apm=stacks}}");
    format!(
        "name={}&from={from}&until={}&format=folded&units=samples&sampleRate={RATE}",
        escaped(&name),
        until.max(from + 1)
    )
}

fn lines(stacks: &[&Folded]) -> String {
    let mut text = String::new();
    for stack in stacks {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{} {}", stack.frames.join(";"), stack.value);
    }
    text
}

fn escaped(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            found.push(char::from(byte));
        } else {
            let _ = write!(found, "%{byte:02X}");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write as _};
    use std::net::TcpListener;

    use super::*;

    fn stack(service: &str, frames: &[&str], value: u64, sampled: Option<u64>) -> Folded {
        let frames = frames.iter().map(|frame| (*frame).into()).collect();
        Folded { service: service.into(), source: "zorka".into(), frames, value, sampled }
    }

    #[test]
    fn each_service_is_a_request() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let mut requests = Vec::new();
            for answer in ["200 OK", "422 No"] {
                let (mut peer, _) = listener.accept().unwrap();
                let mut got = Vec::new();
                let mut part = [0; 4096];
                while !got.ends_with(b"\n") || got.ends_with(b"\r\n") {
                    let length = peer.read(&mut part).unwrap();
                    got.extend_from_slice(&part[..length]);
                }
                write!(peer, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    .unwrap();
                requests.push(String::from_utf8(got).unwrap());
            }
            requests
        });
        let stacks = [
            stack("shop/orders", &["A.a", "B.b"], 3_000_000, None),
            stack("shop/orders", &["A.a"], 2, None),
            stack("webshop", &["C.c"], 1_000_000, Some(1_000_000)),
        ];
        let profile = Profile::new(stacks, 1_700_000_000_500_000_000, 10_000_000_000);
        let push = Push::new(&url, &[("X-Scope".into(), "a".into())], |_| None);
        let (sent, refused) = push.unwrap().send(&profile);
        let refused: Vec<_> = refused.iter().map(|(number, why)| (*number, &**why)).collect();
        assert_eq!((sent, refused), (2, vec![(1, &*format!("{url}ingest: webshop: status 422"))]));
        let requests = server.join().unwrap();
        assert!(requests[0].starts_with(
            "POST /ingest?name=shop%2Forders.time%7Bapm%3Dstacks%7D&from=1700000000&until=1700000010\
             &format=folded&units=samples&sampleRate=1000000000 HTTP/1.1\r\n"
        ));
        assert!(requests[0].to_ascii_lowercase().contains("x-scope: a\r\n"));
        assert!(requests[0].ends_with("\r\n\r\nA.a;B.b 3000000\nA.a 2\n"));
        assert!(requests[1].contains("webshop.cpu"));
    }
}
