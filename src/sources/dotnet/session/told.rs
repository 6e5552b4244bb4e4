//! What is told of a process: its state, reasons in words, whether it can be reached.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use super::Process;
use super::collect::Failure;
use crate::model::{Condition, Departure, Manner};
use crate::sources::dotnet::wire::ipc::Code;

impl Process {
    /// How it left, once it [is over](Process::is_over).
    #[must_use]
    pub const fn departure(&self) -> Departure {
        let (manner, why) = match self.state {
            State::Gone if self.cut => (Manner::Lost, KILLED),
            State::Gone => (Manner::Regular, GONE),
            _ => (Manner::Regular, "the PMDA stopped"),
        };
        Departure { manner, why: Cow::Borrowed(why) }
    }

    /// The state in words, and what keeps values away. `meters`: who has the meters of the process, if that is
    /// no session of this PMDA.
    #[must_use]
    pub fn told(&self, meters: Option<&str>) -> (String, Condition) {
        let (mut reason, mut condition) = (self.reason.to_string(), self.condition());
        if self.state == State::Streaming {
            let left_out = (self.left_out > 0).then(|| format!("{} {LEFT_OUT}", self.left_out));
            let owned = meters.map(|owner| format!("{OWNED}: {owner}"));
            for (whole, short) in [(owned, Some(OWNED)), (left_out, None)] {
                let Some(whole) = whole else { continue };
                let _ = write!(reason, "; {whole}");
                if condition == Condition::Sound {
                    condition = Condition::Impaired(short.map_or(whole.into(), Cow::Borrowed));
                }
            }
        }
        (reason, condition)
    }

    fn condition(&self) -> Condition {
        let reason = self.reason.clone();
        match self.state {
            State::Streaming if [STREAMING, EVENTS, EVENTS_YET].contains(&&*reason) => {
                Condition::Sound
            }
            State::Streaming => Condition::Impaired(reason),
            State::Found if !self.wanted || self.is_left_out() => Condition::Unread(reason),
            State::Found | State::Connected | State::Stopping => Condition::Starting(reason),
            State::NoPermission | State::Refused => Condition::Unread(reason),
            State::Gone => Condition::Sound,
        }
    }
}

/// State of reading one process: the values of `apm.dotnet.session.state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// It was found; nothing has been asked, or there is nothing to connect to.
    Found = 0,
    /// A permission is missing.
    NoPermission = 1,
    /// It has been asked and has not begun to stream.
    Connected = 2,
    /// Events come.
    Streaming = 3,
    /// A session is being ended.
    Stopping = 4,
    /// It does not answer, or refuses.
    Refused = 5,
    /// The process has ended.
    Gone = 6,
}

/// Whether the process can be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Through its diagnostics socket.
    Socket,
    /// Through its connections to us: it may wait for ResumeRuntime.
    Port,
    /// A permission is missing; in words.
    Denied(Arc<str>),
    /// There is nothing to connect to, or reading is not wanted; in words.
    Off(Arc<str>),
}

impl Reach {
    pub(super) const fn is_open(&self) -> bool {
        matches!(self, Self::Socket | Self::Port)
    }
}

pub(super) const NOT_ASKED: &str = "found; nothing has been asked yet";
pub(super) const OLD: &str = "no entry of dotnet.processes takes this version; .NET Core 3 is read only with \"NAME;version=3\", \
     since it sometimes dies of that when it ends";
pub(super) const YOUNG: &str =
    "it has only just started: nothing is asked before it is dotnet.min_age old";
pub(super) const NOT_WANTED: &str = "not in dotnet.processes";
pub(super) const ASKING: &str = "asked what process it is";
pub(super) const OPENING: &str = "asked for a session";
pub(super) const OPENED: &str = "the session is open, and the runtime has sent nothing yet";
pub(super) const STREAMING: &str = "streaming";
/// Behind the reason of a session that streams.
const OWNED: &str = "another tool has the meters";
const LEFT_OUT: &str = "entries of dotnet.providers, dotnet.counters and dotnet.meters are not asked for: they are not \
     NAME:KEYWORDS:LEVEL, or the request has no room for them";
pub(super) const EVENTS: &str = "streaming events only: \"NAME;counters\" in dotnet.processes adds EventCounters and meters, by \
     which a program sometimes dies when it ends";
pub(super) const EVENTS_YET: &str = "streaming events only, until it has the age of its entry with ;counters in dotnet.processes, 1 min if the entry has no ;age";
pub(super) const STOPPING: &str = "the session is being ended";
pub(super) const GONE: &str = "the process has ended";
pub(super) const KILLED: &str = "the process was killed or crashed: its event stream has no end";
pub(super) const STOPPED: &str = "reading has ended";
pub(super) const NO_COUNTERS: &str = "the program sends no EventCounters: its EventSources are turned off or were \
     trimmed; events of the runtime come";
pub(super) const MUTE: &str = "the runtime answers, but neither events nor EventCounters come: the program hangs, or it does \
     nothing and its EventSources are turned off or were trimmed";
pub(super) const CHECKING_MUTE: &str =
    "no EventCounters have come yet; the runtime is asked whether it is alive";
pub(super) const CHECKING: &str =
    "no EventCounters come any more; the runtime is asked whether it is alive";
pub(super) const COUNTERS_STOPPED: &str =
    "another tool's session stopped the EventCounters; the session is opened again";
pub(super) const HANGS: &str = "the runtime does not answer: the process is stopped, a debugger holds it, or another tool has sent half \
     a request";
pub(super) const CUT: &str =
    "the stream ended before its end: the process is ending or dropped the connection";
pub(super) const HALTED: &str =
    "the PMDA stood still: the session was ended so that the program could end; it is opened again";
pub(super) const ENDED: &str = "the runtime ended the session";
pub(super) const NO_STREAM: &str =
    "the session was opened, but the runtime did not begin to stream in time";
pub(super) const NO_COMMAND: &str = "the runtime knows no command that opens a session";
pub(super) const SHORT_SESSION: &str = "the runtime opened a session without an id";
pub(super) const NOT_STOPPED: &str =
    "the runtime did not end the session within 5 s; the connection was closed";

/// Why a request has no answer.
pub(super) fn failure(failure: &Failure) -> String {
    match failure {
        Failure::Permission => "the mode of the diagnostics socket keeps this user out: run as root, with CAP_DAC_OVERRIDE, or let the \
             program connect (DOTNET_DiagnosticPorts, .NET 5 and later)"
            .to_owned(),
        Failure::Refused => "nobody listens at the diagnostics socket: the process is ending".to_owned(),
        Failure::NoSocket => "the diagnostics socket is not there: the process is ending or removed it".to_owned(),
        Failure::Closed => "the runtime closed the connection instead of answering".to_owned(),
        Failure::Answer(error) => error.to_string(),
        Failure::Other(error) => error.clone(),
    }
}

/// Why a runtime refuses a session.
pub(super) fn refusal(code: Code) -> String {
    match code {
        Code::FAIL => "the runtime opens no further session: 64 are open, of other tools or of a monitor that was killed (FAIL)".to_owned(),
        Code::BAD_ENCODING => "the runtime does not accept the request for a session (BAD_ENCODING)".to_owned(),
        Code::NOT_SUPPORTED => "the runtime has no EventPipe (NOTSUPPORTED)".to_owned(),
        Code::NOT_YET_AVAILABLE | Code::RUNTIME_UNINITIALIZED => format!("the runtime is still starting ({})", code.name()),
        other => format!("the runtime refuses a session: {other}"),
    }
}
