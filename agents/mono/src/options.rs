//! The text after `--profile=`: the destination, the counters, the interval.
//!
//! Mono passes the whole `apm:address=…,interval=…` to the module (docs/protocols/mono-counters.md
//! section 7). A mistake in it must not affect the program, so parsing ends in one line for stderr
//! and never in an exit.

use std::time::Duration;

use crate::catalogue::{Pattern, Selection};

/// The port of the 2014 agents when none was given (docs/protocols/mono-counters.md section 2).
pub(crate) const DEFAULT_PORT: u16 = 8888;
/// The syntax allowed after `apm:`; ends every error message.
const ALLOWED: &str = "allowed: address=HOST[:PORT] or tcp://HOST[:PORT] or file://PATH, \
     interval=MS, counters=CAT/NAME;CAT/*;*, all, retry=MS, verbose";
/// One hour. Longer intervals are most likely a mistake, and this limit keeps times small.
const LONGEST_MS: u64 = 3_600_000;
/// Shortest pause between connections; a faster loop could slow down the program.
const SHORTEST_RETRY_MS: u64 = 10;

/// Destination of Hello and samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// A listening inspector.
    Tcp {
        /// Host name or IP literal; resolved on the module's own thread.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// A file of the same bytes, samples only (docs/protocols/mono-counters.md section 2, file
    /// mode).
    File(String),
}

/// The options of the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// Destination.
    pub(crate) address: Address,
    /// Time between two samples.
    pub(crate) interval: Duration,
    /// Pause after a refused, lost or closed connection.
    pub(crate) retry: Duration,
    /// Counters in Hello.
    pub(crate) selection: Selection,
    /// Log connections on stderr.
    pub(crate) verbose: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: Address::Tcp { host: "127.0.0.1".to_owned(), port: DEFAULT_PORT },
            interval: Duration::from_secs(1),
            retry: Duration::from_secs(5),
            selection: Selection::All,
            verbose: false,
        }
    }
}

impl Options {
    /// Parses `apm` or `apm:options`; the error is the line for stderr.
    pub(crate) fn parse(desc: &str) -> Result<Self, String> {
        Self::parse_list(desc.split_once(':').map_or("", |(_, list)| list))
            .map_err(|wrong| format!("{wrong}; {ALLOWED}"))
    }

    fn parse_list(list: &str) -> Result<Self, String> {
        let mut options = Self::default();
        let mut patterns: Option<Vec<Pattern>> = None;
        let mut all = false;
        for option in list.split(',').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("address", text)) => options.address = address(text)?,
                Some(("interval", text)) => options.interval = millis("interval", text, 1)?,
                Some(("retry", text)) => options.retry = millis("retry", text, SHORTEST_RETRY_MS)?,
                Some(("counters", text)) => {
                    let patterns = patterns.get_or_insert_default();
                    for item in text.split(';').filter(|item| !item.is_empty()) {
                        patterns.push(Pattern::parse(item)?);
                    }
                }
                None if option == "all" => all = true,
                None if option == "verbose" => options.verbose = true,
                _ => return Err(format!("unknown option `{option}`")),
            }
        }
        if let (Some(patterns), false) = (patterns, all) {
            options.selection = Selection::Only(patterns);
        }
        Ok(options)
    }
}

/// Parses `HOST[:PORT]`, `tcp://HOST[:PORT]` or `file://PATH`. `%p` in a path is this process's id,
/// so that a program and its children need not share a file.
fn address(text: &str) -> Result<Address, String> {
    if let Some(path) = text.strip_prefix("file://") {
        if path.is_empty() {
            return Err("address=file:// without a path".to_owned());
        }
        let pid = std::process::id().to_string();
        return Ok(Address::File(path.replace("%p", &pid)));
    }
    let wrong = || format!("address `{text}` is not HOST:PORT");
    let place = text.strip_prefix("tcp://").unwrap_or(text);
    let (host, port) = if let Some(rest) = place.strip_prefix('[') {
        // An IPv6 literal contains colons, hence the brackets.
        let (host, rest) = rest.split_once(']').ok_or_else(wrong)?;
        match rest {
            "" => (host, None),
            _ => (host, Some(rest.strip_prefix(':').ok_or_else(wrong)?)),
        }
    } else {
        match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        }
    };
    if host.is_empty() || host.contains('/') {
        return Err(wrong());
    }
    let port = match port {
        None => DEFAULT_PORT,
        Some(digits) => digits.parse::<u16>().ok().filter(|port| *port != 0).ok_or_else(wrong)?,
    };
    Ok(Address::Tcp { host: host.to_owned(), port })
}

/// Parses a whole number of milliseconds within its bounds.
fn millis(name: &str, text: &str, shortest: u64) -> Result<Duration, String> {
    text.parse::<u64>()
        .ok()
        .filter(|ms| (shortest..=LONGEST_MS).contains(ms))
        .map(Duration::from_millis)
        .ok_or_else(|| {
            format!("{name}={text} is not a number of milliseconds in {shortest}..{LONGEST_MS}")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port }
    }

    #[test]
    fn nothing_given_means_the_defaults() {
        for desc in ["apm", "apm:", "apm:,"] {
            let options = Options::parse(desc).unwrap();
            assert_eq!(options, Options::default());
            assert_eq!(options.address, tcp("127.0.0.1", 8888));
            assert_eq!(options.interval, Duration::from_millis(1000));
            assert_eq!(options.retry, Duration::from_millis(5000));
            assert_eq!(options.selection, Selection::All);
        }
    }

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("10.0.0.7:99", tcp("10.0.0.7", 99)),
            ("tcp://collector:99", tcp("collector", 99)),
            ("tcp://collector", tcp("collector", 8888)),
            ("[::1]:99", tcp("::1", 99)),
            ("[::1]", tcp("::1", 8888)),
            ("file:///tmp/a b.bin", Address::File("/tmp/a b.bin".into())),
        ] {
            let options = Options::parse(&format!("apm:address={text}")).unwrap();
            assert_eq!(options.address, expected, "{text}");
        }
        let Address::File(path) = Options::parse("apm:address=file://x-%p.bin").unwrap().address
        else {
            panic!("not a file");
        };
        assert_eq!(path, format!("x-{}.bin", std::process::id()));
    }

    #[test]
    fn everything_at_once() {
        let options =
            Options::parse("apm:address=tcp://h:1,interval=50,counters=GC/Minor GC time;mono jit/*,retry=20,verbose").unwrap();
        assert_eq!(options.interval, Duration::from_millis(50));
        assert_eq!(options.retry, Duration::from_millis(20));
        assert!(options.verbose);
        let Selection::Only(patterns) = options.selection else {
            panic!("a list was given");
        };
        assert_eq!(patterns.len(), 2);
    }

    #[test]
    fn all_wins_over_a_list_and_an_empty_list_selects_nothing() {
        let both = Options::parse("apm:counters=GC/x,all").unwrap();
        assert_eq!(both.selection, Selection::All);
        let none = Options::parse("apm:counters=").unwrap();
        assert_eq!(none.selection, Selection::Only(Vec::new()));
        let twice = Options::parse("apm:counters=GC/x,counters=GC/y").unwrap();
        assert!(matches!(twice.selection, Selection::Only(list) if list.len() == 2));
    }

    #[test]
    fn mistakes_name_themselves_and_what_is_allowed() {
        for (desc, part) in [
            ("apm:nonsense", "`nonsense`"),
            ("apm:adress=h:1", "`adress=h:1`"),
            ("apm:interval=0", "interval=0"),
            ("apm:interval=-5", "interval=-5"),
            ("apm:interval=1e3", "interval=1e3"),
            ("apm:interval=3600001", "interval=3600001"),
            ("apm:retry=1", "retry=1"),
            ("apm:address=", "HOST:PORT"),
            ("apm:address=h:0", "HOST:PORT"),
            ("apm:address=h:70000", "HOST:PORT"),
            ("apm:address=h:", "HOST:PORT"),
            ("apm:address=[::1", "HOST:PORT"),
            ("apm:address=http://h:1", "HOST:PORT"),
            ("apm:address=file://", "without a path"),
            ("apm:counters=GC", "CAT/NAME"),
            ("apm:counters=Gc2/x", "Gc2"),
            ("apm:all=1", "`all=1`"),
        ] {
            let wrong = Options::parse(desc).unwrap_err();
            assert!(wrong.contains(part), "{desc}: {wrong}");
            assert!(wrong.contains("; allowed: address="), "{desc}: {wrong}");
            assert!(!wrong.contains('\n'));
        }
    }
}
