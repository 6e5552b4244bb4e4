//! `[lttng]`: live sessions to read; `[[lttng.session]]`: sessions that the PMDA creates and
//! manages.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::FIELD_SIZE;
use super::control::{Blocking, Buffers, Domain, SessionSpec, blocking, buffers, domain, micros};
use super::limits::SESSIONS_MAX;
use super::viewer::{Pattern, SESSIONS, Seek};
use crate::config::units;

crate::section! {
    /// `[lttng]`
    Config;

    /// The `lttng` program: a path, or a name to find in PATH.
    #[serde(deserialize_with = "program")]
    program: PathBuf = PathBuf::from("lttng"), r#""lttng""#, "a name or an absolute path";

    /// Relay daemons, with their port for viewers.
    #[serde(deserialize_with = "relays")]
    relays: Vec<String> = vec!["127.0.0.1:5344".into()], r#"["127.0.0.1:5344"]"#,
        "at most 64 HOST:PORT";

    /// Live sessions that are read beside those that the PMDA makes.
    #[serde(deserialize_with = "view")]
    view: Vec<String> = Vec::new(), "[]", "at most 256 HOST/SESSION with `*`";

    /// Where reading begins in a session that exists already.
    #[serde(deserialize_with = "from")]
    from: Seek = Seek::Beginning, r#""beginning""#, "`\"beginning\"` or `\"last\"`";

    /// Sessions that are read at once, of all relay daemons; each has a connection.
    #[serde(deserialize_with = "units::count::<_, 1, 10_000>")]
    max_sessions: u64 = SESSIONS as u64, "256", "1 to 10000";

    /// Events that become records, PROVIDER:EVENT.
    #[serde(deserialize_with = "units::names::<_, 256, 512>")]
    records: Vec<String> = vec!["*".into()], r#"["*"]"#, "at most 256 patterns with `*`";

    /// Events that are only counted, of those.
    #[serde(deserialize_with = "units::names::<_, 256, 512>")]
    count_only: Vec<String> = Vec::new(), "[]", "at most 256 patterns with `*`";

    /// Longest text of an array or structure in a record; the rest is cut.
    #[serde(deserialize_with = "units::bytes::<_, 64, 262_144>")]
    field_size: u64 = FIELD_SIZE as u64, r#""64KiB""#, "64B to 256KiB";

    /// Sessions that the PMDA makes, a block `[[lttng.session]]` each: `etc/apm.toml` lists its
    /// keys.
    #[serde(rename = "session", deserialize_with = "sessions")]
    sessions["session"]: Vec<SessionSpec> = Vec::new(), "[]", "at most 64 blocks";
}

impl Config {
    /// The lines of `--check`.
    pub(super) fn describe(&self) -> Vec<String> {
        let list = |texts: &[String]| match texts {
            [] => "none".to_owned(),
            texts => texts.join(", "),
        };
        let made: Vec<_> = self.sessions.iter().map(|spec| spec.name.clone()).collect();
        vec![
            format!("relay daemons: {}", list(&self.relays)),
            format!("sessions that are read: {}", list(&self.view)),
            format!("sessions that the PMDA makes and reads: {}", list(&made)),
        ]
    }
}

/// The keys of one `[[lttng.session]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    name: String,
    url: Option<String>,
    #[serde(default, deserialize_with = "live_timer")]
    live_timer: Option<u64>,
    #[serde(default, deserialize_with = "word_domain")]
    domain: Domain,
    channel: Option<String>,
    #[serde(default, deserialize_with = "size")]
    subbuf_size: Option<u64>,
    num_subbuf: Option<u64>,
    #[serde(default, deserialize_with = "word_buffers")]
    buffers: Option<Buffers>,
    #[serde(default, deserialize_with = "word_blocking")]
    blocking_timeout: Option<Blocking>,
    #[serde(default, deserialize_with = "size")]
    tracefile_size: Option<u64>,
    tracefile_count: Option<u64>,
    events: Vec<String>,
    #[serde(default)]
    contexts: Vec<String>,
    filter: Option<String>,
    loglevel: Option<String>,
    loglevel_only: Option<String>,
    #[serde(default = "yes")]
    start: bool,
}

fn yes() -> bool {
    true
}

impl From<Keys> for SessionSpec {
    fn from(k: Keys) -> Self {
        let own = Self::new(&k.name);
        Self {
            url: k.url.unwrap_or(own.url),
            live_timer: k.live_timer.unwrap_or(own.live_timer),
            domain: k.domain,
            channel: k.channel.unwrap_or(own.channel),
            subbuf_size: k.subbuf_size,
            num_subbuf: k.num_subbuf,
            buffers: k.buffers,
            blocking_timeout: k.blocking_timeout,
            tracefile_size: k.tracefile_size.unwrap_or(own.tracefile_size),
            // Files without a size limit are a single file for each stream.
            tracefile_count: k.tracefile_count.unwrap_or(if k.tracefile_size == Some(0) {
                0
            } else {
                own.tracefile_count
            }),
            events: k.events,
            contexts: k.contexts,
            filter: k.filter,
            loglevel: k.loglevel,
            loglevel_only: k.loglevel_only,
            start: k.start,
            name: own.name,
        }
    }
}

/// A session checked while it is parsed, so that an error has its line.
struct Checked(SessionSpec);

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let spec = SessionSpec::from(Keys::deserialize(d)?);
        if spec.events.is_empty() {
            return Err(D::Error::custom(
                "events = []: at least one pattern is needed, for example [\"myprovider:*\"] or [\"*\"]",
            ));
        }
        spec.check().map_err(D::Error::custom)?;
        Ok(Self(spec))
    }
}

fn sessions<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<SessionSpec>, D::Error> {
    let specs: Vec<SessionSpec> =
        Vec::<Checked>::deserialize(d)?.into_iter().map(|c| c.0).collect();
    if specs.len() > SESSIONS_MAX {
        return Err(D::Error::custom(format!(
            "{} sessions, at most {SESSIONS_MAX} are allowed",
            specs.len()
        )));
    }
    for (i, spec) in specs.iter().enumerate() {
        if specs.iter().take(i).any(|s| s.name == spec.name) {
            return Err(D::Error::custom(format!(
                "two sessions have the name {:?}: give one of them another",
                spec.name
            )));
        }
    }
    Ok(specs)
}

fn relays<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let relays = units::names::<_, 64, 300>(d)?;
    let sound = |r: &&String| {
        r.rsplit_once(':')
            .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
    };
    match relays.iter().find(|r| !sound(r)) {
        Some(wrong) => Err(D::Error::custom(format!(
            "{wrong:?} is not HOST:PORT; write for example \"127.0.0.1:5344\""
        ))),
        None => Ok(relays),
    }
}

fn view<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let view = units::names::<_, 256, 1024>(d)?;
    match view.iter().find(|pattern| Pattern::parse(pattern).is_none()) {
        Some(wrong) => Err(D::Error::custom(format!(
            "{wrong:?} is not HOST/SESSION; write for example \"*/*\" or \"web*/app\""
        ))),
        None => Ok(view),
    }
}

fn from<'de, D: Deserializer<'de>>(d: D) -> Result<Seek, D::Error> {
    match String::deserialize(d)?.as_str() {
        "beginning" => Ok(Seek::Beginning),
        "last" => Ok(Seek::Last),
        other => Err(D::Error::custom(format!("{other:?} is neither \"beginning\" nor \"last\""))),
    }
}

fn program<'de, D: Deserializer<'de>>(d: D) -> Result<PathBuf, D::Error> {
    let text = String::deserialize(d)?;
    let path = PathBuf::from(&text);
    if text.is_empty() || (text.contains('/') && !path.is_absolute()) {
        return Err(D::Error::custom(format!(
            "{text:?} is neither a name to be looked for in PATH nor an absolute path: \"lttng\""
        )));
    }
    Ok(path)
}

fn live_timer<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u64>, D::Error> {
    micros(&String::deserialize(d)?).map(Some).map_err(D::Error::custom)
}

fn size<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u64>, D::Error> {
    units::bytes::<_, 0, { 1 << 40 }>(d).map(Some)
}

fn word_domain<'de, D: Deserializer<'de>>(d: D) -> Result<Domain, D::Error> {
    domain(&String::deserialize(d)?).map_err(D::Error::custom)
}

fn word_buffers<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Buffers>, D::Error> {
    buffers(&String::deserialize(d)?).map(Some).map_err(D::Error::custom)
}

fn word_blocking<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Blocking>, D::Error> {
    blocking(&String::deserialize(d)?).map(Some).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A configuration with this section only.
    #[derive(Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Document {
        lttng: Config,
    }

    fn parse(text: &str) -> Result<Vec<SessionSpec>, String> {
        toml::from_str(text).map(|d: Document| d.lttng.sessions).map_err(|e| e.to_string())
    }

    #[test]
    fn a_session_needs_a_name_and_events() {
        let sessions =
            parse("[[lttng.session]]\nname = 'web'\nevents = ['demo:*']").expect("sound");
        assert_eq!(
            sessions,
            [SessionSpec { events: vec!["demo:*".into()], ..SessionSpec::new("web") }]
        );
        assert_eq!(toml::from_str::<Document>("").expect("sound").lttng, Config::default());
    }

    #[test]
    fn every_key_is_understood() {
        let text = "[lttng]\nprogram = '/opt/lttng/bin/lttng'\n[[lttng.session]]\nname='a'\nevents=['x']\ntracefile_size=0\n\
            [[lttng.session]]\nname = 'web'\nurl = 'net://10.0.0.1:6342:6343'\nlive_timer = '200ms'\ndomain = 'ust'\nchannel = 'c'\n\
            subbuf_size = '16KiB'\nnum_subbuf = 8\nbuffers = 'pid'\nblocking_timeout = '100us'\ntracefile_size = '1MiB'\n\
            tracefile_count = 2\nevents = ['a:*', 'b']\ncontexts = ['vpid', 'vtid']\nfilter = '$ctx.vpid == 7'\n\
            loglevel = 'TRACE_INFO'\nstart = false";
        let sessions = parse(text).expect("sound");
        assert_eq!((sessions[0].tracefile_size, sessions[0].tracefile_count), (0, 0));
        let expected = SessionSpec {
            name: "web".into(),
            url: "net://10.0.0.1:6342:6343".into(),
            live_timer: 200_000,
            domain: Domain::Ust,
            channel: "c".into(),
            subbuf_size: Some(16384),
            num_subbuf: Some(8),
            buffers: Some(Buffers::Pid),
            blocking_timeout: Some(Blocking::Micros(100)),
            tracefile_size: 1 << 20,
            tracefile_count: 2,
            events: vec!["a:*".into(), "b".into()],
            contexts: vec!["vpid".into(), "vtid".into()],
            filter: Some("$ctx.vpid == 7".into()),
            loglevel: Some("TRACE_INFO".into()),
            loglevel_only: None,
            start: false,
        };
        assert_eq!(sessions[1], expected);
    }

    #[test]
    fn errors_name_the_place_and_what_to_do() {
        let session = "[[lttng.session]]\nname = 'a'\nevents = ['x']\n";
        for (text, parts) in [
            (
                "[[lttng.session]]\nevents = ['x']".to_owned(),
                &["line 1", "missing field `name`"] as &[&str],
            ),
            ("[[lttng.session]]\nname = 'a'".into(), &["missing field `events`"]),
            (
                "[[lttng.session]]\nname = 'a'\nevents = []\nstart = false".into(),
                &["line 1", "at least one pattern"],
            ),
            (
                "[[lttng.session]]\nname = 'a/b'\nevents = ['x']".into(),
                &["line 1", "without '/' and blanks"],
            ),
            (format!("{session}evnts = []"), &["line 4", "unknown field `evnts`"]),
            (format!("{session}live_timer = '1'"), &["line 4", "200ms"]),
            (format!("{session}live_timer = '2h'"), &["between 1ms and 1h"]),
            (format!("{session}domain = 'windows'"), &["line 4", "none of ust"]),
            (format!("{session}buffers = 'gid'"), &["line 4", "neither uid nor pid"]),
            (format!("{session}blocking_timeout = 'x'"), &["line 4", "\"inf\""]),
            (format!("{session}subbuf_size = '5000'"), &["a power of two"]),
            (format!("{session}num_subbuf = 3"), &["a power of two"]),
            (format!("{session}url = 'file:///x'"), &["net://HOST"]),
            (format!("{session}{session}"), &["two sessions have the name \"a\""]),
            ("[lttng]\nprogram = 'bin/lttng'".into(), &["line 2", "absolute path"]),
            ("[lttng]\nsessions = []".into(), &["line 2", "unknown field `sessions`"]),
        ] {
            let message = parse(&text).expect_err(&text);
            for part in parts {
                assert!(message.contains(part), "{text:?} gave {message:?}, without {part:?}");
            }
        }
        let many: String = (0..=SESSIONS_MAX)
            .map(|i| format!("[[lttng.session]]\nname = 's{i}'\nevents = ['x']\n"))
            .collect();
        assert!(parse(&many).expect_err("many").contains("at most"));
    }

    #[test]
    fn the_example_of_the_shipped_file_is_sound() {
        let shipped = include_str!("../../../etc/apm.toml");
        let at = shipped.find("# [[lttng.session]]").expect("an example");
        let lines = shipped[at..]
            .lines()
            .take_while(|l| l.starts_with('#'))
            .map(|l| l.trim_start_matches('#').trim());
        let key = |l: &str| {
            l.split_once(" = ")
                .is_some_and(|(k, _)| k.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        };
        let text: String =
            lines.filter(|l| l.starts_with("[[") || key(l)).map(|l| format!("{l}\n")).collect();
        let sessions = parse(&text).unwrap_or_else(|e| panic!("{text}\n{e}"));
        let own = SessionSpec {
            name: sessions[0].name.clone(),
            events: sessions[0].events.clone(),
            ..SessionSpec::new("x")
        };
        let shown =
            SessionSpec { contexts: vec![], filter: None, loglevel: None, ..sessions[0].clone() };
        let shown = SessionSpec {
            subbuf_size: None,
            num_subbuf: None,
            buffers: None,
            blocking_timeout: None,
            ..shown
        };
        assert_eq!(shown, own, "the example shows the defaults where there are some");
    }
}
