//! The result of one run of the `lttng` program, and its meaning.
//!
//! The exit status is the number of the error only for some commands (`start` 80, `destroy` 23,
//! `enable-event` 55); for others it is 1 or 4. Standard error has the texts of `lttng_strerror`,
//! the same in 2.12 to 2.16 except for `list`. So both are evaluated.

use super::mi;
use super::mi::{Answer, AnswerError};
use super::plan::Step;

/// How the program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this exit status.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// Killed after its time limit.
    TimedOut,
    /// Killed after too much output.
    TooMuch,
    /// The program does not exist.
    NotInstalled,
    /// The program could not be started for another reason.
    NotStarted(String),
}

/// Result of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// End of the process.
    pub exit: Exit,
    /// Standard output, at most `limits::OUTPUT_MAX` bytes.
    pub stdout: Vec<u8>,
    /// Standard error, at most `limits::STDERR_MAX` bytes.
    pub stderr: String,
}

/// Why a command has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// No `lttng` program.
    NotInstalled,
    /// The program could not be run.
    NotStarted(String),
    /// The time limit was exceeded.
    TimedOut,
    /// Ended by a signal. 2.13.9 sometimes gets SIGPIPE when the relay daemon does not answer.
    Killed(i32),
    /// The output is invalid.
    Garbled(AnswerError),
    /// No session daemon: none runs, or this user may not connect.
    NoDaemon,
    /// Permission denied: the session belongs to another user.
    Denied,
    /// A session of this name exists. The list may lack it, because it has only sessions of this
    /// user.
    Exists,
    /// No such session.
    NotFound,
    /// The session daemon does not reach the relay daemon.
    RelaydUnreachable,
    /// The relay daemon is too old for the session daemon.
    RelaydIncompatible,
    /// The consumer daemon is gone and does not come back.
    NoConsumer,
    /// Not possible after the first start of the session.
    StartedOnce,
    /// The kernel cannot be traced here.
    NoKernel(String),
    /// Loggers cannot be traced: the session daemon found no port for them.
    NoAgents,
    /// The session daemon rejects a value of the user.
    Refused(String),
    /// Any other failure.
    Failed {
        /// Exit status.
        code: i32,
        /// First error message.
        text: String,
    },
}

impl Reply {
    /// The answer, if the command has succeeded or nothing was to be done.
    ///
    /// # Errors
    /// The command has failed.
    pub fn judge(&self, step: &Step) -> Result<Answer, CommandError> {
        let code = match &self.exit {
            Exit::Code(code) => *code,
            Exit::Signal(signal) => return Err(CommandError::Killed(*signal)),
            Exit::TimedOut => return Err(CommandError::TimedOut),
            Exit::TooMuch => {
                return Err(CommandError::Garbled(AnswerError::Limit {
                    what: "bytes",
                    max: super::super::limits::OUTPUT_MAX,
                }));
            }
            Exit::NotInstalled => return Err(CommandError::NotInstalled),
            Exit::NotStarted(why) => return Err(CommandError::NotStarted(why.clone())),
        };
        let (answer, read) = mi::read(&self.stdout);
        if code == 0 {
            return read.map(|()| answer).map_err(CommandError::Garbled);
        }
        if self.is_so_already(step, code, &answer) { Ok(answer) } else { Err(self.error(code)) }
    }

    /// Whether the failure means that nothing was to be done.
    fn is_so_already(&self, step: &Step, code: i32, answer: &Answer) -> bool {
        let error_lines = || self.error_lines().peekable();
        match step {
            // The session exists; only ~/.lttngrc, the user's current session, could not be
            // written.
            Step::Create(name) => answer.sessions.iter().any(|s| s.name == *name),
            Step::Channel | Step::Events | Step::Contexts => {
                error_lines().peek().is_some()
                    && error_lines().all(|l| {
                        (l.contains("already exist") || l.contains("already enabled"))
                            && !l.contains("different loglevel")
                    })
            }
            Step::Start => code == 80 || self.stderr.contains("Tracing already started"),
            Step::Stop => code == 81 || self.stderr.contains("Tracing already stopped"),
            // 141 to 145, 149 to 151: the relay daemon did not acknowledge. The session is gone;
            // the next list confirms that.
            Step::Destroy => code == 23 || (141..=151).contains(&code),
            Step::List | Step::Programs | Step::Version => false,
        }
    }

    /// Lines with errors and warnings.
    fn error_lines(&self) -> impl Iterator<Item = &str> {
        self.stderr.lines().filter(|l| l.starts_with("Error:") || l.starts_with("Warning:"))
    }

    fn error(&self, code: i32) -> CommandError {
        let said = |part: &str| self.stderr.contains(part);
        let kernel = [
            "Kernel tracer not available",
            "Kernel tracer version",
            "requires a root lttng-sessiond",
        ];
        // The message of `list` in 2.16 has several causes; the probe of the sockets finds the
        // right one.
        if said("No session daemon is available")
            || said("Failed to list recording sessions")
            || code == 19
        {
            CommandError::NoDaemon
        } else if said("Unable to connect to lttng-relayd") || code == 104 {
            CommandError::RelaydUnreachable
        } else if said("Relay daemon not compatible") || code == 105 {
            CommandError::RelaydIncompatible
        } else if ["No UST consumer detected", "No kernel consumer detected", "Consumer not found"]
            .iter()
            .any(|p| said(p))
            || (98..=99).contains(&code)
        {
            CommandError::NoConsumer
        } else if said("Session name already exists") || code == 28 {
            CommandError::Exists
        } else if said("already been started once") {
            CommandError::StartedOnce
        } else if kernel.iter().any(|p| said(p)) || matches!(code, 33 | 34 | 79) {
            CommandError::NoKernel(self.said())
        } else if said("agent tracing is disabled") || code == 137 {
            CommandError::NoAgents
        } else if said("Permission denied") || code == 32 {
            CommandError::Denied
        } else if said("Session name") && said("not found")
            || said("Recording session does not exist")
            || matches!(code, 16 | 23 | 148)
        {
            CommandError::NotFound
        } else if REFUSALS.iter().any(|p| said(p)) || matches!(code, 97 | 100 | 106 | 112 | 113) {
            CommandError::Refused(self.said())
        } else {
            CommandError::Failed { code, text: self.said() }
        }
    }

    /// The first error message, cut to 300 characters.
    fn said(&self) -> String {
        const SHOWN: usize = 300;
        let line = self
            .error_lines()
            .find(|l| l.starts_with("Error:"))
            .or_else(|| self.stderr.lines().find(|l| !l.is_empty()));
        let line = line.unwrap_or("nothing");
        let line =
            line.strip_prefix("Error: ").or_else(|| line.strip_prefix("Warning: ")).unwrap_or(line);
        line.chars().filter(|c| !c.is_control()).take(SHOWN).collect()
    }
}

/// Messages about values that the user must correct.
const REFUSALS: &[&str] = &[
    "Invalid filter",
    "Invalid parameter",
    "Invalid event name",
    "Invalid channel name",
    "Invalid character",
    "Unknown loglevel",
    "Unknown context",
    "invalid context",
    "Unable to parse the URL",
    "Buffer type mismatch",
    "different loglevel",
    "Unrecognized",
    "Undefined command",
];

#[cfg(test)]
mod tests {
    use super::super::recorded::recorded;
    use super::*;

    fn judge(name: &str, step: &Step) -> Result<Answer, CommandError> {
        recorded(name).1.judge(step)
    }

    #[test]
    fn what_was_asked_for_is_so_or_was_so() {
        let create = |name: &str| Step::Create(name.into());
        for (name, step) in [
            ("version", Step::Version),
            ("list-none", Step::List),
            ("list-active", Step::List),
            ("lost-list", Step::List),
            ("create", create("s1")),
            ("member-no-home-create", create("s4")),
            ("unreachable-create", create("s2")),
            ("channel", Step::Channel),
            ("channel-exists", Step::Channel),
            ("event", Step::Events),
            ("event-exists", Step::Events),
            ("event-one-exists", Step::Events),
            ("event-filter", Step::Events),
            ("event-late", Step::Events),
            ("event-jul", Step::Events),
            ("context", Step::Contexts),
            ("context-exists", Step::Contexts),
            ("context-app", Step::Contexts),
            ("start", Step::Start),
            ("start-again", Step::Start),
            ("stop", Step::Stop),
            ("stop-again", Step::Stop),
            ("destroy", Step::Destroy),
            ("destroy-again", Step::Destroy),
            ("lost-destroy", Step::Destroy),
            ("list-userspace", Step::Programs),
        ] {
            assert!(judge(name, &step).is_ok(), "{name}: {:?}", judge(name, &step));
        }
    }

    #[test]
    fn faults_are_told_apart() {
        let create = || Step::Create("s1".into());
        for (name, step, error) in [
            ("no-daemon-list", Step::List, CommandError::NoDaemon),
            ("no-daemon-list-2.16", Step::List, CommandError::NoDaemon),
            ("no-daemon-create", create(), CommandError::NoDaemon),
            ("outsider-list", Step::List, CommandError::NoDaemon),
            ("died-list-session", Step::List, CommandError::NoDaemon),
            ("create-exists", create(), CommandError::Exists),
            ("others-create-same", Step::Create("s5".into()), CommandError::Exists),
            ("others-start", Step::Start, CommandError::Denied),
            ("unreachable-channel", Step::Channel, CommandError::RelaydUnreachable),
            ("unreachable-event", Step::Events, CommandError::RelaydUnreachable),
            ("channel-late", Step::Channel, CommandError::StartedOnce),
            ("context-late", Step::Contexts, CommandError::StartedOnce),
            ("destroy-again", Step::Start, CommandError::NotFound),
        ] {
            assert_eq!(judge(name, &step), Err(error), "{name}");
        }
        for (name, step, part) in [
            ("create-bad-name", create(), "Invalid character"),
            ("create-bad-host", create(), "nosuchhost.invalid"),
            ("channel-bad-size", Step::Channel, "Channel ch2: Invalid parameter"),
            ("channel-other-buffers", Step::Channel, "Buffer type mismatch"),
            ("event-bad-filter", Step::Events, "Invalid filter bytecode"),
            ("event-bad-level", Step::Events, "Unknown loglevel NOPE"),
            ("context-unknown", Step::Contexts, "Unknown context type nope"),
        ] {
            let Err(CommandError::Refused(text)) = judge(name, &step) else {
                panic!("{name}: {:?}", judge(name, &step))
            };
            assert!(text.contains(part), "{name}: {text}");
        }
        assert!(matches!(judge("event-kernel", &Step::Events), Err(CommandError::NoKernel(_))));
        assert!(matches!(
            judge("unreachable-start", &Step::Start),
            Err(CommandError::Failed { code: 72, .. })
        ));
    }

    #[test]
    fn a_run_that_went_wrong_is_a_fault_whatever_it_wrote() {
        let written = recorded("list-active").1.stdout;
        let judge = |exit: Exit, stdout: &[u8], stderr: &str| {
            Reply { exit, stdout: stdout.to_vec(), stderr: stderr.into() }.judge(&Step::List)
        };
        assert_eq!(judge(Exit::NotInstalled, b"", ""), Err(CommandError::NotInstalled));
        assert_eq!(judge(Exit::TimedOut, &written, ""), Err(CommandError::TimedOut));
        assert_eq!(judge(Exit::Signal(13), &written, ""), Err(CommandError::Killed(13)));
        assert!(matches!(judge(Exit::TooMuch, &written, ""), Err(CommandError::Garbled(_))));
        assert!(matches!(
            judge(Exit::Code(0), &written[..200], ""),
            Err(CommandError::Garbled(AnswerError::Truncated(_)))
        ));
        assert!(matches!(judge(Exit::Code(0), b"hello", ""), Err(CommandError::Garbled(_))));
        assert_eq!(
            judge(Exit::Code(1), b"", "Error: No UST consumer detected"),
            Err(CommandError::NoConsumer)
        );
        let long = format!("Error: {}\n", "\u{7}é".repeat(5000));
        let Err(CommandError::Failed { code: 1, text }) = judge(Exit::Code(1), b"", &long) else {
            panic!()
        };
        assert!(text.chars().count() == 300 && !text.contains('\u{7}'));
    }

    #[test]
    fn an_event_that_is_enabled_otherwise_is_not_so_already() {
        let stderr =
            "Error: Event a: Event already enabled with different loglevel (channel c, session s)"
                .into();
        let reply = Reply { exit: Exit::Code(100), stdout: vec![], stderr };
        assert!(matches!(reply.judge(&Step::Events), Err(CommandError::Refused(_))));
        let mixed =
            "Error: Event a: UST event already enabled\nError: Event b: Invalid event name".into();
        let reply = Reply { exit: Exit::Code(112), stdout: vec![], stderr: mixed };
        assert!(matches!(reply.judge(&Step::Events), Err(CommandError::Refused(_))));
    }
}
