//! Specification of a recording session, from the configuration or a user's request.

use serde::{Deserialize, Serialize};

use super::super::limits::{CONTEXTS_MAX, EVENT_LENGTH_MAX, EVENTS_MAX, FILTER_MAX, NAME_MAX};

/// Domain of tracepoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    /// LTTng-UST: programs in C, C++, .NET with a provider, …
    #[default]
    Ust,
    /// The Linux kernel: needs a session daemon of root and the LTTng modules.
    Kernel,
    /// Loggers of `java.util.logging`.
    Jul,
    /// Loggers of Apache log4j 1.
    Log4j,
    /// Loggers of Python.
    Python,
}

impl Domain {
    /// The program's option.
    #[must_use]
    pub fn option(self) -> &'static str {
        match self {
            Self::Ust => "--userspace",
            Self::Kernel => "--kernel",
            Self::Jul => "--jul",
            Self::Log4j => "--log4j",
            Self::Python => "--python",
        }
    }

    /// Whether channels can be configured: loggers have one channel, which LTTng makes itself.
    #[must_use]
    pub fn has_channels(self) -> bool {
        matches!(self, Self::Ust | Self::Kernel)
    }
}

/// Sharing of ring buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Buffers {
    /// All programs of a user.
    Uid,
    /// Each program has separate buffers.
    Pid,
}

/// Longest time that a program with `LTTNG_UST_ALLOW_BLOCKING` waits for room instead of discarding
/// events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Blocking {
    /// No limit.
    Inf,
    /// Microseconds.
    Micros(u64),
}

/// Specification of a recording session. [`SessionSpec::check`] validates it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSpec {
    /// Name of the session.
    pub name: String,
    /// Relay daemon: `net://HOST[:CONTROL[:DATA]]`, or `net6://`.
    pub url: String,
    /// Longest delay of an event in the tracer, in microseconds.
    pub live_timer: u64,
    /// Domain of its tracepoints.
    pub domain: Domain,
    /// Name of the channel.
    pub channel: String,
    /// Bytes of a sub-buffer.
    pub subbuf_size: Option<u64>,
    /// Sub-buffers of each ring.
    pub num_subbuf: Option<u64>,
    /// Sharing of ring buffers.
    pub buffers: Option<Buffers>,
    /// Whether programs wait for room.
    pub blocking_timeout: Option<Blocking>,
    /// Bytes of a trace file of the relay daemon, for each stream; 0: no limit.
    pub tracefile_size: u64,
    /// Trace files of each stream, the oldest is overwritten; 0: no limit.
    pub tracefile_count: u64,
    /// Patterns of event names.
    pub events: Vec<String>,
    /// Context fields.
    pub contexts: Vec<String>,
    /// Filter expression for all of the events.
    pub filter: Option<String>,
    /// Events at least as severe as this.
    pub loglevel: Option<String>,
    /// Events of this log level.
    pub loglevel_only: Option<String>,
    /// Started; else only created.
    pub start: bool,
}

/// An invalid key of a specification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {help}")]
pub struct SpecError {
    /// The key.
    pub key: &'static str,
    /// The value as written.
    pub value: String,
    /// Valid values.
    pub help: String,
}

fn wrong(key: &'static str, value: impl std::fmt::Debug, help: impl Into<String>) -> SpecError {
    SpecError { key, value: format!("{value:?}"), help: help.into() }
}

/// Shortest and longest live timer, in microseconds. A shorter one makes nearly empty packets.
pub const LIVE_TIMER: std::ops::RangeInclusive<u64> = 1_000..=3_600_000_000;
/// Smallest and largest sub-buffer.
pub const SUBBUF_SIZE: std::ops::RangeInclusive<u64> = 4096..=1 << 30;
/// Fewest and most sub-buffers.
pub const NUM_SUBBUF: std::ops::RangeInclusive<u64> = 2..=1 << 16;
/// The largest default sub-buffer of LTTng, that of the kernel.
const SUBBUF_DEFAULT_MAX: u64 = 1 << 20;

impl SessionSpec {
    /// The defaults, with a name and without events.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            url: "net://127.0.0.1".to_owned(),
            live_timer: 1_000_000,
            domain: Domain::Ust,
            channel: "apm".to_owned(),
            subbuf_size: None,
            num_subbuf: None,
            buffers: None,
            blocking_timeout: None,
            tracefile_size: 64 << 20,
            tracefile_count: 4,
            events: Vec::new(),
            contexts: Vec::new(),
            filter: None,
            loglevel: None,
            loglevel_only: None,
            start: true,
        }
    }

    /// Checks the specification as far as is possible without LTTng.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn check(&self) -> Result<(), SpecError> {
        session_name(&self.name)?;
        url(&self.url)?;
        if !LIVE_TIMER.contains(&self.live_timer) {
            return Err(wrong(
                "live_timer",
                self.live_timer,
                "between 1ms and 1h, for example \"1s\" or \"200ms\"",
            ));
        }
        self.check_channel()?;
        if self.start && self.events.is_empty() {
            return Err(wrong(
                "events",
                &self.events,
                "at least one pattern is needed, for example [\"myprovider:*\"] or [\"*\"]",
            ));
        }
        if self.events.len() > EVENTS_MAX {
            return Err(wrong(
                "events",
                self.events.len(),
                format!("at most {EVENTS_MAX} patterns"),
            ));
        }
        self.events.iter().try_for_each(|e| event(e))?;
        if self.contexts.len() > CONTEXTS_MAX {
            return Err(wrong(
                "contexts",
                self.contexts.len(),
                format!("at most {CONTEXTS_MAX} contexts"),
            ));
        }
        self.contexts.iter().try_for_each(|c| context(c, self.domain))?;
        if let Some(filter) = &self.filter
            && (filter.is_empty()
                || filter.len() > FILTER_MAX
                || filter.chars().any(char::is_control))
        {
            return Err(wrong(
                "filter",
                filter,
                format!("an expression of 1 to {FILTER_MAX} bytes on one line"),
            ));
        }
        self.check_level()
    }

    fn check_channel(&self) -> Result<(), SpecError> {
        if !self.domain.has_channels() {
            let own = Self::new("");
            let key = [
                ("channel", self.channel != own.channel),
                ("subbuf_size", self.subbuf_size.is_some()),
                ("num_subbuf", self.num_subbuf.is_some()),
                ("buffers", self.buffers.is_some()),
                ("blocking_timeout", self.blocking_timeout.is_some()),
            ];
            let Some((key, _)) = key.iter().find(|k| k.1) else { return Ok(()) };
            return Err(wrong(
                key,
                self.domain,
                "loggers have a channel of LTTng's own: leave the key out for this domain",
            ));
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if self.channel.is_empty()
            || self.channel.len() > NAME_MAX
            || !self.channel.chars().all(fits)
            || self.channel.starts_with(['.', '-'])
        {
            return Err(wrong(
                "channel",
                &self.channel,
                "letters, digits, '_', '-' and '.', not beginning with '.' or '-'",
            ));
        }
        if let Some(size) = self.subbuf_size
            && !(size.is_power_of_two() && SUBBUF_SIZE.contains(&size))
        {
            return Err(wrong(
                "subbuf_size",
                size,
                "a power of two from 4KiB to 1GiB, for example \"512KiB\"",
            ));
        }
        if let Some(n) = self.num_subbuf
            && !(n.is_power_of_two() && NUM_SUBBUF.contains(&n))
        {
            return Err(wrong("num_subbuf", n, "a power of two from 2 to 65536, for example 8"));
        }
        if self.tracefile_size != 0
            && self.tracefile_size < self.subbuf_size.unwrap_or(SUBBUF_DEFAULT_MAX)
        {
            return Err(wrong(
                "tracefile_size",
                self.tracefile_size,
                "no smaller than a sub-buffer; 0 for files without end",
            ));
        }
        if self.tracefile_count != 0 && self.tracefile_size == 0 {
            return Err(wrong(
                "tracefile_count",
                self.tracefile_count,
                "a number of files needs tracefile_size",
            ));
        }
        if self.domain == Domain::Kernel
            && (self.buffers.is_some() || self.blocking_timeout.is_some())
        {
            return Err(wrong(
                "domain",
                self.domain,
                "the kernel has neither buffers per user or process nor blocking_timeout",
            ));
        }
        Ok(())
    }

    fn check_level(&self) -> Result<(), SpecError> {
        if self.loglevel.is_some() && self.loglevel_only.is_some() {
            return Err(wrong(
                "loglevel_only",
                &self.loglevel_only,
                "either loglevel or loglevel_only",
            ));
        }
        for (key, level) in [("loglevel", &self.loglevel), ("loglevel_only", &self.loglevel_only)] {
            let Some(level) = level else { continue };
            let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            if self.domain == Domain::Kernel {
                return Err(wrong(key, level, "events of the kernel have no log level"));
            }
            if level.is_empty()
                || level.len() > 64
                || !level.chars().all(fits)
                || level.starts_with('-')
            {
                return Err(wrong(
                    key,
                    level,
                    "a name of lttng-enable-event(1), for example \"TRACE_INFO\" or \"INFO\"",
                ));
            }
        }
        Ok(())
    }

    /// Whether the parts that cannot change after the creation are equal.
    #[must_use]
    pub fn same_frame(&self, other: &Self) -> bool {
        let frame =
            |s: &Self| Self { events: Vec::new(), contexts: Vec::new(), start: true, ..s.clone() };
        frame(self) == frame(other)
    }
}

/// # Errors
/// The name is invalid.
pub(super) fn session_name(name: &str) -> Result<(), SpecError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.+=@:".contains(c);
    if name.is_empty()
        || name.len() > NAME_MAX
        || !name.chars().all(fits)
        || name.starts_with(['-', '.'])
    {
        let help = format!(
            "1 to {NAME_MAX} letters, digits, '_', '-', '.', '+', '=', '@' or ':', without '/' and blanks"
        );
        return Err(wrong("name", name, help));
    }
    Ok(())
}

fn url(url: &str) -> Result<(), SpecError> {
    let error = |help: &str| {
        Err(wrong(
            "url",
            url,
            format!("{help}; for example \"net://127.0.0.1\" or \"net://127.0.0.1:5342:5343\""),
        ))
    };
    let Some(rest) = url.strip_prefix("net://").or_else(|| url.strip_prefix("net6://")) else {
        return error("a relay daemon is at net://HOST[:CONTROL_PORT[:DATA_PORT]], or net6://");
    };
    let (host, ports) = match rest.strip_prefix('[').map(|r| r.split_once(']')) {
        Some(Some((host, ports))) => (host, ports),
        Some(None) => return error("']' is missing"),
        None => rest.split_at(rest.find(':').unwrap_or(rest.len())),
    };
    if rest.contains('/') {
        return error("no folder: the PMDA adds its own mark there");
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.:%".contains(c);
    if host.is_empty() || !host.chars().all(fits) {
        return error("the host is missing or has characters that no host has");
    }
    let mut ports = ports.split(':');
    let sound = ports.next() == Some("")
        && ports.clone().count() <= 2
        && ports.all(|p| p.parse::<u16>().is_ok_and(|p| p > 0));
    if sound { Ok(()) } else { error("ports are numbers from 1 to 65535, at most two") }
}

/// # Errors
/// The pattern is invalid.
pub(super) fn event(pattern: &str) -> Result<(), SpecError> {
    let unfit = |c: char| c.is_control() || c.is_whitespace() || c == ',';
    if pattern.is_empty()
        || pattern.len() > EVENT_LENGTH_MAX
        || pattern.starts_with('-')
        || pattern.contains(unfit)
    {
        let help = format!(
            "a name of up to {EVENT_LENGTH_MAX} bytes without blanks and commas, '*' stands for anything: \"demo:*\""
        );
        return Err(wrong("events", pattern, help));
    }
    Ok(())
}

/// # Errors
/// The context is invalid.
pub(super) fn context(name: &str, domain: Domain) -> Result<(), SpecError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.:$".contains(c);
    if name.is_empty()
        || name.len() > EVENT_LENGTH_MAX
        || name.starts_with('-')
        || !name.chars().all(fits)
    {
        return Err(wrong(
            "contexts",
            name,
            "a type of lttng-add-context(1), for example \"vpid\", \"vtid\" or \"procname\"",
        ));
    }
    if name.starts_with('$') && !matches!(domain, Domain::Jul | Domain::Log4j) {
        return Err(wrong(
            "contexts",
            name,
            "contexts of applications are for domains jul and log4j",
        ));
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests/spec.rs"]
mod tests;
