//! The identity of a process. The protocol has no process id and no name; our agent module sends
//! them as two CONSTANT counters (docs/protocols/mono-counters.md section 6). Without these the
//! operating system may know the process; else the connection or file names the peer.

use mono_counters::numbers::{Kind, Numbers, Space, section};

use crate::contract::{Identity, SampleValue};
use crate::heap_size;
use crate::model::{Value, cut};
use crate::sources::mono::process;
use crate::sources::mono::process::{LABEL, PROGRAM, Said, tidy};

/// Bytes of a name given by the driver.
const FALLBACK: usize = 128;

/// The facts about a peer before its first byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The value of `apm.agent.peer`: `127.0.0.1:50123`, `file:/path`.
    pub address: String,
    /// Instance name if the process is not known.
    pub fallback: String,
    /// The peer's address if it is on another host: part of the instance name.
    pub host: Option<String>,
    /// Program and process id, if the operating system knows them.
    pub process: Option<(String, u32)>,
}

heap_size!(Origin { address, fallback, host });

/// One of the two counters that identify the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdentityCounter {
    Pid,
    Command,
}

impl IdentityCounter {
    /// The counter with these numbers and this name, if it is one of the two.
    pub(crate) fn of(space: Space, numbers: Numbers, name: &str) -> Option<Self> {
        match (numbers.category, name, space.kind(numbers.kind)) {
            _ if space != Space::E3 => None,
            (section::SYSTEM, "Process Id", Kind::Int) => Some(Self::Pid),
            (section::RUNTIME, "Command Line", Kind::Text) => Some(Self::Command),
            _ => None,
        }
    }
}

/// The values of the two counters so far.
#[derive(Debug, Default)]
pub(crate) struct ProcessInfo {
    pid: Option<u32>,
    command: Option<String>,
}

heap_size!(ProcessInfo { command });

impl ProcessInfo {
    pub(crate) fn learn(&mut self, identity: IdentityCounter, value: &SampleValue) {
        match (identity, value) {
            (IdentityCounter::Pid, SampleValue::Value(Value::I64(pid))) => {
                self.pid = u32::try_from(*pid).ok().filter(|pid| *pid > 0)
            }
            (IdentityCounter::Pid, SampleValue::Wrapping32(pid)) => {
                self.pid = Some(*pid).filter(|pid| *pid > 0)
            }
            (IdentityCounter::Command, SampleValue::Value(Value::Text(text)))
                if !text.trim().is_empty() =>
            {
                self.command = Some(text.to_string())
            }
            _ => {}
        }
    }

    /// What the process says of itself, if it says who it is.
    pub(crate) fn said(&self) -> Option<Said<'_>> {
        let pid = self.pid?;
        Some(Said { pid, command: self.command.as_deref(), started: None })
    }

    /// The identity from the best source that is known.
    pub(crate) fn identity(&self, peer: &Origin, dialect: &str) -> Identity {
        let system = peer.process.as_ref();
        let pid = self.pid.or(system.map(|(_, pid)| *pid));
        let program = self
            .command
            .as_deref()
            .and_then(program)
            .or(system.map(|(program, _)| program.as_str()));
        let mut labels = Vec::new();
        let name = match pid {
            Some(pid) => {
                let program = tidy(program.unwrap_or("mono").as_bytes(), PROGRAM, "");
                let host = peer
                    .host
                    .iter()
                    .map(|host| format!("@{}", tidy(host.as_bytes(), FALLBACK, ":")))
                    .collect::<String>();
                let name = format!("{program}:{pid}{host}");
                labels.extend([("program", program), ("pid", pid.to_string())]);
                name
            }
            None => tidy(peer.fallback.as_bytes(), FALLBACK, ":#@/[]"),
        };
        if let Some(command) = &self.command {
            labels.push(("command", cut(command, LABEL).to_owned()));
        }
        labels.push(("dialect", dialect.to_owned()));
        Identity {
            name,
            peer: peer.address.clone(),
            host: peer.host.clone(),
            labels,
            resumes: pid.is_some(),
            ..Identity::default()
        }
    }
}

/// The program of a command line that has blanks between arguments.
fn program(command: &str) -> Option<&str> {
    let name = process::program(command.split_whitespace().map(str::as_bytes), false)?;
    std::str::from_utf8(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer() -> Origin {
        Origin {
            address: "127.0.0.1:50123".into(),
            fallback: "127.0.0.1#1".into(),
            host: None,
            process: None,
        }
    }

    fn told(pid: i64, command: &str) -> ProcessInfo {
        let mut told = ProcessInfo::default();
        told.learn(IdentityCounter::Pid, &Value::I64(pid).into());
        told.learn(IdentityCounter::Command, &Value::text(command).into());
        told
    }

    #[test]
    fn programs() {
        for (command, name) in [
            ("mono --profile=apm:interval=10 /opt/my app/gcpressure.exe 10", "gcpressure.exe"),
            ("/usr/bin/mono-sgen --debug Server.DLL", "Server.DLL"),
            ("mono --profile=apm script arg.txt", "script"),
            ("mono", "mono"),
            ("/usr/bin/myhost --x", "myhost"),
            ("mono --config=x.exe app.exe", "app.exe"),
            ("mono --config x.exe app.exe", "app.exe"),
            ("mono --config x script", "script"),
            ("mono --debug -- script", "script"),
            ("myhost a.dll b.exe", "a.dll"),
            (r"mono C:\apps\a.exe", "a.exe"),
            ("mono é.exe", "é.exe"),
        ] {
            assert_eq!(program(command), Some(name), "{command}");
        }
        assert_eq!((program(" "), program("/")), (None, None));
    }

    #[test]
    fn the_counters_say_it_best() {
        let process = Some(("other".to_owned(), 9));
        let id = told(1234, "mono /srv/gc pressure.exe")
            .identity(&Origin { process, ..peer() }, "note little-endian");
        assert_eq!(
            (id.name.as_str(), id.resumes, id.peer.as_str()),
            ("pressure.exe:1234", true, "127.0.0.1:50123")
        );
        let label = |name| id.labels.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str());
        assert_eq!((label("program"), label("pid")), (Some("pressure.exe"), Some("1234")));
        assert_eq!(
            (label("command"), label("dialect")),
            (Some("mono /srv/gc pressure.exe"), Some("note little-endian"))
        );
    }

    #[test]
    fn then_the_system_then_the_connection() {
        let process = Some(("my app".to_owned(), 9));
        assert_eq!(
            ProcessInfo::default()
                .identity(&Origin { process: process.clone(), ..peer() }, "x")
                .name,
            "my_app~aaadca38:9"
        );
        assert_eq!(told(7, "").identity(&peer(), "x").name, "mono:7");
        assert_eq!(told(-7, "a.exe").identity(&Origin { process, ..peer() }, "x").name, "a.exe:9");
        let id = told(0, "a.exe").identity(&peer(), "x");
        assert_eq!((id.name.as_str(), id.resumes), ("127.0.0.1#1", false));
        assert!(id.labels.iter().all(|(name, _)| *name != "pid"));
    }

    #[test]
    fn names_are_bounded_and_have_no_odd_characters() {
        let command = format!("mono {}\u{e9} {}.exe", "é".repeat(300), "ü".repeat(300));
        let id =
            told(1, &command).identity(&Origin { host: Some("10.0.0.1".into()), ..peer() }, "x");
        let program = id.name.strip_suffix(":1@10.0.0.1").expect("program, pid and host");
        assert_eq!(program.chars().count(), PROGRAM);
        assert!(program.starts_with(&"ü".repeat(PROGRAM - 9)), "{program}");
        assert!(id.labels.iter().all(|(_, v)| v.len() <= LABEL));
        let fallback = ProcessInfo::default()
            .identity(&Origin { fallback: "/a b\n".repeat(100), ..peer() }, "x")
            .name;
        assert_eq!(fallback.len(), FALLBACK);
        let start = "/a_b_".repeat(26);
        assert!(fallback.starts_with(start.get(..FALLBACK - 9).unwrap()), "{fallback}");
    }

    #[test]
    fn only_the_two_of_today_tell() {
        let numbers = |category, kind| Numbers { category, kind, unit: 0, variance: 1 << 29 };
        assert_eq!(
            IdentityCounter::of(Space::E3, numbers(0x4000, 0), "Process Id"),
            Some(IdentityCounter::Pid)
        );
        assert_eq!(
            IdentityCounter::of(Space::E3, numbers(0x2000, 6), "Command Line"),
            Some(IdentityCounter::Command)
        );
        assert_eq!(IdentityCounter::of(Space::E3, numbers(0x4000, 6), "Process Id"), None);
        assert_eq!(IdentityCounter::of(Space::E2, numbers(0x4000, 0), "Process Id"), None);
    }
}
