//! Parses the XML of `lttng --mi xml` (`mi_lttng.xsd` of lttng-tools, schema 4.1 in 2.13). Unused
//! and unknown elements are skipped.
//!
//! ```text
//! command/name
//!         output/version/string
//!         output/session/…                     create
//!         output/sessions/session/{name, path, enabled, live_timer_interval, domains/domain/channels/…}     list, start, …
//!         output/channels/channel/{name, success, attributes/…}                                  enable-channel
//!         output/events/event/{name, enabled, success}                                           enable-event
//!         output/contexts/context/{symbol, success}                                              add-context
//!         output/domains/domain/pids/pid/{id, name, events/event/name}                           list --userspace
//!         success                              not written by list
//! ```
//!
//! The program prints an answer even when the session daemon dies meanwhile. The answer then lacks
//! its end, and the exit status is 1.

use std::collections::BTreeSet;

use quick_xml::events::{BytesRef, Event};
use quick_xml::{Error, Reader};

use super::super::limits::{DEPTH_MAX, ITEMS_MAX, OUTPUT_MAX, TEXT_MAX};

/// A recording session of the session daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedSession {
    /// Its name.
    pub name: String,
    /// Output: `tcp4://127.0.0.1:5342/subfolder [data: 5343]`, or a folder.
    pub path: String,
    /// Started.
    pub enabled: bool,
    /// Live timer in microseconds; 0: not a live session.
    pub live_timer: u64,
}

/// A channel, event or context of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Its name; for a context its type as requested (`vpid`, `perf:thread:instructions`).
    pub name: String,
    /// Whether the command succeeded for this item; `None`: not in the answer.
    pub success: Option<bool>,
}

/// An instrumented process that is registered with the session daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// First word of its command line.
    pub name: String,
}

/// The parsed part of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The command that was run: `enable-event`.
    pub command: String,
    /// Version of the program: `2.13.9`.
    pub version: String,
    /// Success of the command; `list` does not print it.
    pub success: Option<bool>,
    /// Sessions.
    pub sessions: Vec<ListedSession>,
    /// Channels.
    pub channels: Vec<Item>,
    /// Events that were to be enabled, or that a session has.
    pub events: Vec<Item>,
    /// Contexts.
    pub contexts: Vec<Item>,
    /// Programs.
    pub processes: Vec<Process>,
    /// Names of the tracepoints of all programs.
    pub tracepoints: BTreeSet<String>,
}

/// Why an answer could not be parsed to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Empty: the program rejected its arguments or crashed.
    #[error("the answer is empty")]
    Empty,
    /// The end is missing.
    #[error("the answer ends after {0} bytes, in the middle")]
    Truncated(u64),
    /// Not XML, or not from the `lttng` program.
    #[error("the answer is not what lttng writes: {what} at byte {offset}")]
    Malformed {
        /// Bytes before the error.
        offset: u64,
        /// The error.
        what: String,
    },
    /// More than a named limit.
    #[error("the answer is too large: more than {max} {what}")]
    Limit {
        /// Name of the limit.
        what: &'static str,
        /// Value of the limit.
        max: usize,
    },
}

/// Parses an answer. Returns the parsed part together with the error.
pub fn read(output: &[u8]) -> (Answer, Result<(), AnswerError>) {
    let mut walk = Walk::default();
    if output.len() > OUTPUT_MAX {
        return (walk.answer, Err(AnswerError::Limit { what: "bytes", max: OUTPUT_MAX }));
    }
    let text = String::from_utf8_lossy(output);
    if text.trim().is_empty() {
        return (walk.answer, Err(AnswerError::Empty));
    }
    let mut reader = Reader::from_str(&text);
    let result = walk.run(&mut reader);
    (walk.answer, result)
}

/// Elements in use. All others become `Other`, so that a path never matches by accident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Command,
    Output,
    Name,
    Success,
    Version,
    String,
    Session,
    Path,
    Enabled,
    LiveTimer,
    Channel,
    Event,
    Events,
    Context,
    Symbol,
    Pid,
    Id,
    Other,
}

impl Tag {
    fn of(name: &str) -> Self {
        match name {
            "command" => Self::Command,
            "output" => Self::Output,
            "name" => Self::Name,
            "success" => Self::Success,
            "version" => Self::Version,
            "string" => Self::String,
            "session" => Self::Session,
            "path" => Self::Path,
            "enabled" => Self::Enabled,
            "live_timer_interval" => Self::LiveTimer,
            "channel" => Self::Channel,
            "event" => Self::Event,
            "events" => Self::Events,
            "context" => Self::Context,
            "symbol" => Self::Symbol,
            "pid" => Self::Pid,
            "id" => Self::Id,
            _ => Self::Other,
        }
    }
}

/// State of the parser.
#[derive(Default)]
struct Walk {
    path: Vec<Tag>,
    text: String,
    answer: Answer,
}

impl Walk {
    fn run(&mut self, reader: &mut Reader<&[u8]>) -> Result<(), AnswerError> {
        let mut seen = false;
        loop {
            let event = reader
                .read_event()
                .map_err(|e| xml_error(&e, reader.error_position(), reader.buffer_position()))?;
            let malformed = |what: &str| AnswerError::Malformed {
                offset: reader.buffer_position(),
                what: what.to_owned(),
            };
            match event {
                Event::Start(e) => {
                    self.open(Tag::of(e.local_name().as_ref()), seen)
                        .ok_or_else(|| malformed("no <command>"))??;
                    seen = true;
                }
                Event::Empty(e) => {
                    self.open(Tag::of(e.local_name().as_ref()), seen)
                        .ok_or_else(|| malformed("no <command>"))??;
                    seen = true;
                    self.close();
                }
                Event::End(_) => self.close(),
                Event::Text(t) => self.add(&t.xml10_content())?,
                Event::CData(t) => self.add(&t.xml10_content())?,
                Event::GeneralRef(r) => {
                    let c = character(&r).ok_or_else(|| malformed("an unknown entity"))?;
                    self.add(c.encode_utf8(&mut [0; 4]))?;
                }
                // The program never writes one, and entities of a document type are dangerous.
                Event::DocType(_) => return Err(malformed("a document type")),
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
                Event::Eof if !self.path.is_empty() => {
                    return Err(AnswerError::Truncated(reader.buffer_position()));
                }
                Event::Eof if !seen => return Err(malformed("no <command>")),
                Event::Eof => return Ok(()),
            }
        }
    }

    /// `None`: the outermost element is not `command`, or there are two.
    fn open(&mut self, tag: Tag, seen: bool) -> Option<Result<(), AnswerError>> {
        if self.path.is_empty() && (seen || tag != Tag::Command) {
            return None;
        }
        if self.path.len() >= DEPTH_MAX {
            return Some(Err(AnswerError::Limit { what: "levels of elements", max: DEPTH_MAX }));
        }
        self.path.push(tag);
        self.text.clear();
        let (of_process, a) = (self.of_process(), &mut self.answer);
        let room = match tag {
            Tag::Session => put(&mut a.sessions),
            Tag::Channel => put(&mut a.channels),
            Tag::Event if !of_process => put(&mut a.events),
            Tag::Context => put(&mut a.contexts),
            Tag::Pid => put(&mut a.processes),
            _ => true,
        };
        Some(if room { Ok(()) } else { Err(AnswerError::Limit { what: "items", max: ITEMS_MAX }) })
    }

    /// Inside an event of a program's list of tracepoints.
    fn of_process(&self) -> bool {
        matches!(
            self.path.as_slice(),
            [.., Tag::Pid, Tag::Events, Tag::Event] | [.., Tag::Pid, Tag::Events, Tag::Event, _]
        )
    }

    fn add(&mut self, text: &str) -> Result<(), AnswerError> {
        if self.text.len() + text.len() > TEXT_MAX {
            // Long blanks between elements are no text.
            if text.trim().is_empty() {
                return Ok(());
            }
            return Err(AnswerError::Limit { what: "bytes of a text", max: TEXT_MAX });
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Stores the complete text of an element.
    fn close(&mut self) {
        let (of_process, text, a) =
            (self.of_process(), std::mem::take(&mut self.text), &mut self.answer);
        let yes = || matches!(text.as_str(), "true" | "1");
        match self.path.as_slice() {
            [Tag::Command, Tag::Name] => a.command = text,
            // 2.13.9 writes it inside `output` when it refuses a log level.
            [Tag::Command, Tag::Success] | [Tag::Command, Tag::Output, Tag::Success] => {
                a.success = Some(yes())
            }
            [.., Tag::Version, Tag::String] => a.version = text,
            [.., Tag::Session, leaf] => {
                if let Some(session) = a.sessions.last_mut() {
                    match leaf {
                        Tag::Name => session.name = text,
                        Tag::Path => session.path = text,
                        Tag::Enabled => session.enabled = yes(),
                        Tag::LiveTimer => session.live_timer = text.parse().unwrap_or(0),
                        _ => {}
                    }
                }
            }
            [.., Tag::Channel, Tag::Name] => name(&mut a.channels, text),
            [.., Tag::Channel, Tag::Success] => success(&mut a.channels, yes()),
            [.., Tag::Event, Tag::Name] if of_process && a.tracepoints.len() >= ITEMS_MAX => {}
            [.., Tag::Event, Tag::Name] if of_process => _ = a.tracepoints.insert(text),
            [.., Tag::Event, Tag::Name] => name(&mut a.events, text),
            [.., Tag::Event, Tag::Success] if !of_process => success(&mut a.events, yes()),
            [.., Tag::Context, Tag::Symbol] => name(&mut a.contexts, text),
            [.., Tag::Context, Tag::Success] => success(&mut a.contexts, yes()),
            [.., Tag::Pid, leaf] => {
                if let Some(process) = a.processes.last_mut() {
                    match leaf {
                        Tag::Id => process.pid = text.parse().unwrap_or(0),
                        Tag::Name => process.name = text,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        self.path.pop();
    }
}

fn put<T: Default>(items: &mut Vec<T>) -> bool {
    let room = items.len() < ITEMS_MAX;
    if room {
        items.push(T::default());
    }
    room
}

fn name(items: &mut [Item], text: String) {
    items.last_mut().into_iter().for_each(|i| i.name.clone_from(&text));
}

fn success(items: &mut [Item], yes: bool) {
    items.last_mut().into_iter().for_each(|i| i.success = Some(yes));
}

/// The five predefined entities and numbers.
fn character(reference: &BytesRef<'_>) -> Option<char> {
    if let Ok(Some(c)) = reference.resolve_char_ref() {
        return Some(c);
    }
    match &*reference.xml10_content() {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

fn xml_error(error: &Error, at: u64, read: u64) -> AnswerError {
    use quick_xml::errors::{IllFormedError, SyntaxError};
    match error {
        // All syntax errors of quick-xml but one mean a missing end.
        Error::Syntax(e) if !matches!(e, SyntaxError::InvalidBangMarkup) => {
            AnswerError::Truncated(read)
        }
        Error::IllFormed(IllFormedError::UnclosedReference) => AnswerError::Truncated(read),
        _ => AnswerError::Malformed { offset: at, what: error.to_string() },
    }
}

#[cfg(test)]
#[path = "tests/mi.rs"]
mod tests;
