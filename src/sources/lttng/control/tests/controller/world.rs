//! The controller against an imitation of the session daemon, which gives the recorded answers of
//! the real one.

use super::super::*;
use crate::sources::lttng::control::diagnosis::{Code, Socket};
use crate::sources::lttng::control::{Exit, Verb};

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<command><name>x</name><output>";

#[derive(Clone)]
pub(super) struct Made {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) enabled: bool,
    pub(super) timer: String,
    pub(super) events: Vec<String>,
    pub(super) contexts: Vec<String>,
    pub(super) channels: usize,
    pub(super) started: bool,
}

pub(super) struct World {
    pub(super) controller: Controller,
    pub(super) now: Duration,
    pub(super) daemon: bool,
    pub(super) relayd: bool,
    /// The reply to the next command of this name.
    pub(super) error: Option<(&'static str, Reply)>,
    pub(super) sessions: Vec<Made>,
    pub(super) programs: Vec<&'static str>,
    /// Command names in order, without list and version.
    pub(super) log: Vec<String>,
    pub(super) saved: String,
    pub(super) answers: Vec<RequestAnswer>,
}

pub(super) fn ok(body: &str) -> Reply {
    let stdout = format!("{XML}{body}</output><success>true</success></command>").into_bytes();
    Reply { exit: Exit::Code(0), stdout, stderr: String::new() }
}

pub(super) fn no(code: i32, stderr: &str) -> Reply {
    let stdout = format!("{XML}</output><success>false</success></command>").into_bytes();
    Reply { exit: Exit::Code(code), stdout, stderr: stderr.to_owned() }
}

pub(super) fn spec(name: &str) -> SessionSpec {
    SessionSpec {
        events: vec!["demo:*".into()],
        contexts: vec!["vpid".into()],
        ..SessionSpec::new(name)
    }
}

impl World {
    pub(super) fn new(specs: &[SessionSpec]) -> Self {
        Self {
            controller: Controller::new(specs, State::default(), 0xabc),
            now: Duration::from_secs(1000),
            daemon: true,
            relayd: true,
            error: None,
            sessions: vec![],
            programs: vec!["demo:tick"],
            log: vec![],
            saved: String::new(),
            answers: vec![],
        }
    }

    /// Carries out all actions that are due; returns the time until the next one.
    pub(super) fn settle(&mut self) -> Duration {
        for _ in 0..200 {
            let action = self.controller.next(self.now);
            self.answers.extend(self.controller.answers());
            match action {
                Action::Idle(time) => return time,
                Action::Save(text) => {
                    State::parse(&text).expect("a sound state");
                    self.saved = text;
                }
                Action::Probe => {
                    let sockets = vec![("/run/s".into(), Socket::Denied("tracing".into()))];
                    self.controller.probed(&Probe { user: "pcp".into(), sockets });
                }
                Action::Run(invocation) => {
                    assert!(
                        matches!(self.controller.next(self.now), Action::Idle(_)),
                        "one command at a time"
                    );
                    let reply = self.answer(&invocation);
                    self.controller.replied(&reply, self.now);
                }
            }
        }
        panic!("it never rests: {:?}", self.log);
    }

    pub(super) fn wait(&mut self, seconds: u64) -> Duration {
        self.now += Duration::from_secs(seconds);
        self.settle()
    }

    pub(super) fn answer(&mut self, invocation: &Invocation) -> Reply {
        let args: Vec<&str> = invocation.args.iter().skip(3).map(String::as_str).collect();
        let option = |name: &str| args.iter().find_map(|a| a.strip_prefix(name)).map(str::to_owned);
        if !matches!(invocation.step, Step::List | Step::Version) {
            self.log.push(args[0].to_owned());
        }
        if let Some((_, reply)) = self.error.take_if(|f| f.0 == args[0]) {
            return reply;
        }
        if args[0] == "version" {
            return ok("<version><string>2.13.9</string></version>");
        }
        if !self.daemon {
            return no(1, "Error: No session daemon is available");
        }
        if args[0] == "list" {
            let body: String = if args.len() > 1 {
                let events: String = self
                    .programs
                    .iter()
                    .map(|p| format!("<event><name>{p}</name></event>"))
                    .collect();
                let pid = format!("<pid><id>7</id><name>p</name><events>{events}</events></pid>");
                format!(
                    "<domains><domain><pids>{}</pids></domain></domains>",
                    if self.programs.is_empty() { "" } else { &pid }
                )
            } else {
                self.sessions.iter().map(|s| {
                    let (name, path, enabled, timer) = (&s.name, &s.path, s.enabled, &s.timer);
                    format!("<session><name>{name}</name><path>{path}</path><enabled>{enabled}</enabled><live_timer_interval>{timer}</live_timer_interval></session>")
                }).collect()
            };
            return ok(&body);
        }
        let name = option("--session=").unwrap_or_else(|| args[1].to_owned());
        let at = self.sessions.iter().position(|s| s.name == name);
        if args[0] == "create" {
            // The session must be known to be ours before it exists.
            let mark = args[3].rsplit('/').next().expect("a mark").to_owned();
            assert!(self.saved.contains(&mark), "{mark} was not saved");
            if at.is_some() {
                return no(1, "Error: Session name already exists");
            }
            let (path, timer) = (
                format!("tcp4://127.0.0.1:5342/{mark} [data: 5343]"),
                option("--live=").expect("live"),
            );
            self.sessions.push(Made {
                name: name.clone(),
                path,
                enabled: false,
                timer,
                events: vec![],
                contexts: vec![],
                channels: 0,
                started: false,
            });
            return ok(&format!("<session><name>{name}</name></session>"));
        }
        let Some(at) = at else { return no(23, &format!("Error: Session name {name} not found")) };
        let session = &mut self.sessions[at];
        match args[0] {
            "enable-channel" if !self.relayd => {
                return no(1, "Error: Channel apm: Unable to connect to lttng-relayd (session s1)");
            }
            "enable-channel" if session.started => {
                return no(1, "Error: Channel apm: Tracing has already been started once");
            }
            "enable-channel" if session.channels > 0 => {
                return no(4, "Warning: Channel apm: UST channel already exist (session s1)");
            }
            "enable-channel" => session.channels = 1,
            "enable-event" => {
                for event in args.last().expect("patterns").split(',') {
                    if session.events.iter().any(|e| e == event) {
                        return no(
                            55,
                            "Error: Event x: UST event already enabled (channel apm, session s1)",
                        );
                    }
                    session.events.push(event.to_owned());
                }
            }
            "add-context" if session.started => {
                return no(4, "Error: vpid: Tracing has already been started once");
            }
            "add-context" if !session.contexts.is_empty() => {
                return no(4, "Error: vpid: UST context already exist");
            }
            "add-context" => session
                .contexts
                .extend(args.iter().filter_map(|a| a.strip_prefix("--type=")).map(str::to_owned)),
            "start" if session.enabled => {
                return no(80, "Warning: Tracing already started for session s1");
            }
            "start" => (session.enabled, session.started) = (true, true),
            "stop" => session.enabled = false,
            "destroy" => drop(self.sessions.remove(at)),
            other => panic!("{other}"),
        }
        ok("")
    }

    pub(super) fn session(&self, name: &str) -> Report {
        self.controller.reports().into_iter().find(|r| r.name == name).expect(name)
    }

    pub(super) fn code(&self, name: &str) -> Code {
        self.session(name).diagnosis.code
    }

    pub(super) fn log(&mut self) -> String {
        std::mem::take(&mut self.log).join(" ")
    }

    pub(super) fn request(&mut self, id: u64, verb: Verb, text: &str) -> Result<String, String> {
        self.controller.request(id, Command::parse(verb, text).expect(text), self.now);
        self.settle();
        let answers = std::mem::take(&mut self.answers);
        assert_eq!(answers.len(), 1, "{text}: {answers:?}");
        assert_eq!(answers[0].0, id);
        answers[0].1.clone()
    }

    /// The PMDA stops and starts again with the saved state.
    pub(super) fn restart(&mut self, specs: &[SessionSpec]) {
        let state = if self.saved.is_empty() {
            State::default()
        } else {
            State::parse(&self.saved).expect("saved")
        };
        self.controller = Controller::new(specs, state, 0xdef);
        self.settle();
    }
}
