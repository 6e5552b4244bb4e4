//! Requests that a user stores to `apm.lttng.control.*`.
//!
//! | metric | text |
//! | --- | --- |
//! | session | `create NAME [key=value …]` with the keys of the configuration, lists separated by commas, `filter=` last; `destroy NAME` |
//! | enable | `NAME PATTERN[,PATTERN…]`, or `NAME events=PATTERN…` |
//! | context | `NAME CONTEXT[,CONTEXT…]`, or `NAME contexts=CONTEXT…`, before the first start |
//! | start, stop | `NAME` |

use super::super::limits::REQUEST_MAX;
use super::spec::{Blocking, Buffers, Domain, SessionSpec, event, session_name};
use crate::read::{SIZES, TIMES, quantity};

/// The metric that a request is stored to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// `control.session`: create or destroy a session.
    Session,
    /// `control.enable`: enable events.
    Enable,
    /// `control.context`: add context fields.
    Context,
    /// `control.start`: start recording.
    Start,
    /// `control.stop`: stop recording.
    Stop,
}

/// A valid request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Creates a session.
    Create(Box<SessionSpec>),
    /// Destroys a managed session.
    Destroy(String),
    /// Enables events of a managed session.
    Enable(String, Vec<String>),
    /// Adds context fields to a managed session.
    Context(String, Vec<String>),
    /// Starts a managed session.
    Start(String),
    /// Stops a managed session.
    Stop(String),
}

impl Command {
    /// Parses a stored text.
    ///
    /// # Errors
    /// The text is invalid; the message has the valid form.
    pub fn parse(verb: Verb, text: &str) -> Result<Self, String> {
        if text.len() > REQUEST_MAX {
            return Err(format!("a request has at most {REQUEST_MAX} bytes"));
        }
        let text = text.trim();
        match verb {
            Verb::Session => match text.split_once(char::is_whitespace) {
                Some(("create", rest)) => create(rest.trim()),
                Some(("destroy", name)) => Ok(Self::Destroy(named(name)?)),
                _ => Err("write \"create NAME [key=value ...]\" or \"destroy NAME\"".into()),
            },
            Verb::Enable => {
                let (name, patterns) =
                    listed(text, "events", "NAME PATTERN[,PATTERN...]", "s1 demo:*,other:tick")?;
                patterns.iter().try_for_each(|p| event(p)).map_err(|e| e.to_string())?;
                Ok(Self::Enable(name, patterns))
            }
            Verb::Context => {
                let (name, contexts) =
                    listed(text, "contexts", "NAME CONTEXT[,CONTEXT...]", "s1 vpid,vtid")?;
                Ok(Self::Context(name, contexts))
            }
            Verb::Start => Ok(Self::Start(named(text)?)),
            Verb::Stop => Ok(Self::Stop(named(text)?)),
        }
    }

    /// Name of the session.
    #[must_use]
    pub fn session(&self) -> &str {
        match self {
            Self::Create(spec) => &spec.name,
            Self::Destroy(name)
            | Self::Enable(name, _)
            | Self::Context(name, _)
            | Self::Start(name)
            | Self::Stop(name) => name,
        }
    }
}

fn named(name: &str) -> Result<String, String> {
    let name = name.trim();
    session_name(name).map_err(|e| e.to_string())?;
    Ok(name.to_owned())
}

/// The items of a list, without the quotes that a shell would remove from it or from an item.
fn items(text: &str) -> Result<Vec<String>, String> {
    let text = inside(text.trim());
    let items = text.split(',').map(|item| inside(item.trim())).filter(|item| !item.is_empty());
    let items: Vec<_> = items.map(str::to_owned).collect();
    match items.iter().find(|item| item.contains(['\'', '"'])) {
        Some(item) => Err(format!("{item}: write the list without quotes and blanks: a:b,c:*")),
        None => Ok(items),
    }
}

/// The text within a pair of quotes around the whole of it, if there is one.
fn inside(text: &str) -> &str {
    ['\'', '"']
        .into_iter()
        .find_map(|quote| {
            text.strip_prefix(quote)?.strip_suffix(quote).filter(|t| !t.contains(quote))
        })
        .map_or(text, str::trim)
}

/// Parses a name and a list, with an optional `key=` before the list as in `create`.
fn listed(
    text: &str,
    key: &str,
    form: &str,
    example: &str,
) -> Result<(String, Vec<String>), String> {
    let help = || format!("write \"{form}\", for example \"{example}\"");
    let (name, rest) = text.split_once(char::is_whitespace).ok_or_else(help)?;
    let rest = rest.trim_start();
    let rest = rest.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')).unwrap_or(rest);
    let items = items(rest)?;
    if items.is_empty() {
        return Err(help());
    }
    if let Some(other) = items.iter().find(|item| item.contains('=')) {
        return Err(format!("{other:?}: no other key than {key}= can be here; {}", help()));
    }
    Ok((named(name)?, items))
}

fn create(text: &str) -> Result<Command, String> {
    let (name, mut rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mut spec = SessionSpec { start: false, ..SessionSpec::new(&named(name)?) };
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            break;
        }
        let (key, after) =
            rest.split_once('=').ok_or_else(|| format!("{rest:?} is not key=value"))?;
        // A filter expression contains blanks.
        let end = if key == "filter" {
            after.len()
        } else {
            after.find(char::is_whitespace).unwrap_or(after.len())
        };
        let (value, next) = after.split_at(end);
        set(&mut spec, key, value).map_err(|e| format!("{key}: {e}"))?;
        rest = next;
    }
    spec.check().map_err(|e| e.to_string())?;
    Ok(Command::Create(Box::new(spec)))
}

fn set(spec: &mut SessionSpec, key: &str, value: &str) -> Result<(), String> {
    let number = || value.parse::<u64>().map_err(|_| format!("{value:?} is not a whole number"));
    match key {
        "url" => value.clone_into(&mut spec.url),
        "live_timer" => spec.live_timer = micros(value)?,
        "domain" => spec.domain = domain(value)?,
        "channel" => value.clone_into(&mut spec.channel),
        "subbuf_size" => spec.subbuf_size = Some(bytes(value)?),
        "num_subbuf" => spec.num_subbuf = Some(number()?),
        "buffers" => spec.buffers = Some(buffers(value)?),
        "blocking_timeout" => spec.blocking_timeout = Some(blocking(value)?),
        "tracefile_size" => spec.tracefile_size = bytes(value)?,
        "tracefile_count" => spec.tracefile_count = number()?,
        "events" => spec.events = items(value)?,
        "contexts" => spec.contexts = items(value)?,
        "filter" => spec.filter = Some(unquoted(value.trim())?.to_owned()),
        "loglevel" => spec.loglevel = Some(value.to_owned()),
        "loglevel_only" => spec.loglevel_only = Some(value.to_owned()),
        "start" => {
            spec.start =
                value.parse().map_err(|_| format!("{value:?} is neither true nor false"))?
        }
        _ => {
            return Err(
                "no such key; there are url, live_timer, domain, channel, subbuf_size, num_subbuf, buffers, blocking_timeout, \
                        tracefile_size, tracefile_count, events, contexts, loglevel, loglevel_only, start and filter"
                    .into(),
            );
        }
    }
    Ok(())
}

/// The text behind `filter=`, without the quotes that a shell would remove.
fn unquoted(filter: &str) -> Result<&str, String> {
    for quote in ['\'', '"'] {
        let Some(rest) = filter.strip_prefix(quote) else { continue };
        // An expression can begin with a text in double quotes: "a" == $ctx.procname.
        match rest.strip_suffix(quote) {
            Some(inner) if !inner.contains(quote) => return Ok(inner.trim()),
            _ if quote == '"' => {}
            _ => {
                return Err(
                    "write the expression without quotes around it, as the last key: filter=n == 1 && name == \"x\"".into()
                );
            }
        }
    }
    Ok(filter)
}

fn bytes(text: &str) -> Result<u64, String> {
    quantity(text, SIZES, "512KiB")
}

/// Microseconds of `200ms`, `1s`.
///
/// # Errors
/// The text is invalid; the message has the valid form.
pub fn micros(text: &str) -> Result<u64, String> {
    quantity(text, TIMES, "200ms")
}

/// # Errors
/// The word is unknown; the message has the valid ones.
pub fn domain(text: &str) -> Result<Domain, String> {
    match text {
        "ust" => Ok(Domain::Ust),
        "kernel" => Ok(Domain::Kernel),
        "jul" => Ok(Domain::Jul),
        "log4j" => Ok(Domain::Log4j),
        "python" => Ok(Domain::Python),
        _ => Err(format!("{text:?} is none of ust, kernel, jul, log4j, python")),
    }
}

/// # Errors
/// The word is unknown; the message has the valid ones.
pub fn buffers(text: &str) -> Result<Buffers, String> {
    match text {
        "uid" => Ok(Buffers::Uid),
        "pid" => Ok(Buffers::Pid),
        _ => Err(format!("{text:?} is neither uid nor pid")),
    }
}

/// # Errors
/// The text is invalid; the message has the valid form.
pub fn blocking(text: &str) -> Result<Blocking, String> {
    if text == "inf" {
        Ok(Blocking::Inf)
    } else {
        micros(text).map(Blocking::Micros).map_err(|e| format!("{e}; or \"inf\""))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sound_requests() {
        let parse = |verb, text: &str| Command::parse(verb, text).expect(text);
        let spec = |text: &str| match parse(Verb::Session, text) {
            Command::Create(spec) => *spec,
            other => panic!("{other:?}"),
        };
        assert_eq!(spec("create s1"), SessionSpec { start: false, ..SessionSpec::new("s1") });
        let all = spec(
            "create  s1 url=net://h:1:2 live_timer=200ms domain=ust channel=c subbuf_size=16KiB num_subbuf=8 buffers=pid \
             blocking_timeout=inf tracefile_size=1MiB tracefile_count=2 events=a:*,b contexts=vpid,vtid loglevel=TRACE_INFO start=true \
             filter=$ctx.vpid == 7 && x = 1",
        );
        assert_eq!(
            (all.live_timer, all.subbuf_size, all.num_subbuf),
            (200_000, Some(16384), Some(8))
        );
        assert_eq!((all.events.len(), all.contexts.len(), all.start), (2, 2, true));
        assert_eq!((all.buffers, all.blocking_timeout), (Some(Buffers::Pid), Some(Blocking::Inf)));
        assert_eq!(all.filter.as_deref(), Some("$ctx.vpid == 7 && x = 1"));
        for (text, filter) in
            [("'n == 1'", "n == 1"), ("\"n == 1\"", "n == 1"), ("' n == \"a\" '", "n == \"a\"")]
        {
            assert_eq!(spec(&format!("create s1 filter={text}")).filter.as_deref(), Some(filter));
        }
        assert_eq!(
            spec("create s1 filter=\"a\" == n && m == \"b\"").filter.as_deref(),
            Some("\"a\" == n && m == \"b\"")
        );
        for list in ["'a:*,b'", "\"a:*\",'b'", "'a:*',b", "a:*,'b',"] {
            assert_eq!(spec(&format!("create s1 events={list}")).events, ["a:*", "b"], "{list}");
            assert_eq!(
                parse(Verb::Enable, &format!("s1 {list}")),
                Command::Enable("s1".into(), vec!["a:*".into(), "b".into()])
            );
        }
        assert_eq!(spec("create s1 domain=python loglevel_only=INFO").domain, Domain::Python);
        assert_eq!(parse(Verb::Session, " destroy s1 "), Command::Destroy("s1".into()));
        assert_eq!(
            parse(Verb::Enable, "s1 a:*, b"),
            Command::Enable("s1".into(), vec!["a:*".into(), "b".into()])
        );
        assert_eq!(
            parse(Verb::Enable, "s1  events=a:*,b"),
            Command::Enable("s1".into(), vec!["a:*".into(), "b".into()])
        );
        assert_eq!(
            parse(Verb::Context, "s1 contexts=vpid"),
            Command::Context("s1".into(), vec!["vpid".into()])
        );
        assert_eq!(
            parse(Verb::Context, "s1 vpid"),
            Command::Context("s1".into(), vec!["vpid".into()])
        );
        assert_eq!(parse(Verb::Start, "s1"), Command::Start("s1".into()));
        assert_eq!(parse(Verb::Stop, "s1").session(), "s1");
    }

    #[test]
    fn others_are_told_what_to_write() {
        for (verb, text, part) in [
            (Verb::Session, "", "create NAME"),
            (Verb::Session, "create", "create NAME"),
            (Verb::Session, "make s1", "create NAME"),
            (Verb::Session, "create a/b", "without '/'"),
            (Verb::Session, "create s1 events", "not key=value"),
            (Verb::Session, "create s1 evnts=a", "there are url"),
            (Verb::Session, "create s1 live_timer=1", "200ms"),
            (Verb::Session, "create s1 num_subbuf=x", "whole number"),
            (Verb::Session, "create s1 buffers=gid", "neither uid nor pid"),
            (Verb::Session, "create s1 domain=windows", "none of ust"),
            (Verb::Session, "create s1 blocking_timeout=ever", "or \"inf\""),
            (Verb::Session, "create s1 start=yes", "neither true nor false"),
            (Verb::Session, "create s1 start=true", "at least one pattern"),
            (Verb::Session, "destroy a b", "without '/' and blanks"),
            (Verb::Enable, "s1", "NAME PATTERN"),
            (Verb::Enable, "s1 ,", "NAME PATTERN"),
            (Verb::Enable, "s1 a b", "without blanks"),
            (Verb::Enable, "s1 contexts=vpid", "no other key than events="),
            (Verb::Enable, "s1 events=", "NAME PATTERN"),
            (Verb::Session, "create s1 events='a:b, c'", "without quotes"),
            (Verb::Enable, "s1 'a:b", "without quotes"),
            (Verb::Enable, "s1 a'b'", "without quotes"),
            (Verb::Context, "s1 events=a:b", "no other key than contexts="),
            (Verb::Session, "create s1 filter='n == 1", "without quotes"),
            (Verb::Session, "create s1 filter='n' == 'm'", "without quotes"),
            (Verb::Context, "", "NAME CONTEXT"),
            (Verb::Start, "", "name"),
        ] {
            let error = Command::parse(verb, text).expect_err(text);
            assert!(error.contains(part), "{text:?}: {error}");
        }
        assert!(Command::parse(Verb::Start, &"x".repeat(REQUEST_MAX + 1)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_sound_request_or_a_fault(text in ".{0,80}", create in any::<bool>()) {
            let text = if create { format!("create s1 {text}") } else { text };
            for verb in [Verb::Session, Verb::Enable, Verb::Context, Verb::Start, Verb::Stop] {
                if let Ok(Command::Create(spec)) = Command::parse(verb, &text) {
                    prop_assert_eq!(spec.check(), Ok(()));
                }
            }
        }
    }
}
