//! Options of the command line, of PCP's environment and of the service's file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt};
use pmda::client::{Source, TimeZone};
use serde::Deserialize;

use crate::otlp::header;
use crate::read::Wanted;

/// Bytes of the service's file.
const MOST_FILE: u64 = 1 << 20;
/// Calls of `--slowest`.
const MOST_SLOWEST: usize = 1000;

/// What is to be done.
#[derive(Debug, Default, Clone)]
pub(super) struct Options {
    /// Where to.
    pub(super) otlp: Vec<String>,
    pub(super) perfetto: Vec<String>,
    pub(super) chrome: Vec<String>,
    pub(super) pprof: Vec<String>,
    pub(super) speedscope: Vec<String>,
    /// Metrics beside the records.
    pub(super) counters: Vec<String>,
    /// Of stacks all that was counted.
    pub(super) total: bool,
    pub(super) json: bool,
    pub(super) headers: Vec<(String, String)>,
    pub(super) compression: Option<String>,
    pub(super) shift: bool,
    /// Which.
    pub(super) all: bool,
    pub(super) trace: Option<String>,
    pub(super) slowest: Option<usize>,
    pub(super) service: Option<String>,
    pub(super) filter: Option<String>,
    pub(super) kinds: Vec<String>,
    /// From where.
    pub(super) host: Option<String>,
    pub(super) archive: Option<String>,
    pub(super) lines: Option<String>,
    /// -S, -T, -A, -O.
    pub(super) times: [Option<String>; 4],
    pub(super) zone: Option<TimeZone>,
    pub(super) follow: bool,
    pub(super) interval: Option<Duration>,
    /// As a service.
    pub(super) config: Option<PathBuf>,
    pub(super) state: Option<PathBuf>,
    pub(super) check: bool,
}

/// What the command line says.
#[derive(Debug)]
pub(super) enum Said {
    Run(Box<Options>),
    Help,
    Version,
}

/// The service's file. Its keys are the names of options.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    otlp: Vec<String>,
    json: bool,
    headers: BTreeMap<String, String>,
    compression: Option<String>,
    all: bool,
    service: Option<String>,
    filter: Option<String>,
    kinds: Vec<String>,
    host: Option<String>,
    interval: Option<String>,
    state: Option<PathBuf>,
}

impl Options {
    /// Reads the command line, and what pcp(1) says in the environment.
    pub(super) fn parse(
        arguments: impl IntoIterator<Item = OsString>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Said, String> {
        let mut parser = Parser::from_args(arguments);
        let mut found = Self::default();
        let wrong = |e: lexopt::Error| e.to_string();
        while let Some(argument) = parser.next().map_err(wrong)? {
            match argument {
                Arg::Long("otlp") => found.otlp.push(value(&mut parser)?),
                Arg::Long("perfetto") => found.perfetto.push(value(&mut parser)?),
                Arg::Long("chrome") => found.chrome.push(value(&mut parser)?),
                Arg::Long("pprof") => found.pprof.push(value(&mut parser)?),
                Arg::Long("speedscope") => found.speedscope.push(value(&mut parser)?),
                Arg::Long("counters") => {
                    let names = value(&mut parser)?;
                    found.counters.extend(names.split(',').map(|name| name.trim().to_owned()));
                }
                Arg::Long("total") => found.total = true,
                Arg::Long("json") => found.json = true,
                Arg::Long("header") => {
                    let pair = value(&mut parser)?;
                    let pair = header(&pair).ok_or(format!("--header {pair}: NAME=VALUE"))?;
                    found.headers.push(pair);
                }
                Arg::Long("compression") => found.compression = Some(value(&mut parser)?),
                Arg::Long("shift") => found.shift = true,
                Arg::Long("all") => found.all = true,
                Arg::Long("trace") => found.trace = Some(value(&mut parser)?),
                Arg::Long("slowest") => {
                    let number = value(&mut parser)?.parse().ok();
                    let number = number.filter(|number| (1..=MOST_SLOWEST).contains(number));
                    let wrong = || format!("--slowest: a number from 1 to {MOST_SLOWEST}");
                    found.slowest = Some(number.ok_or_else(wrong)?);
                }
                Arg::Long("service") => found.service = Some(value(&mut parser)?),
                Arg::Short('x') | Arg::Long("filter") => found.filter = Some(value(&mut parser)?),
                Arg::Short('h') | Arg::Long("host") => found.host = Some(value(&mut parser)?),
                Arg::Short('a') | Arg::Long("archive") => found.archive = Some(value(&mut parser)?),
                Arg::Long("lines") => found.lines = Some(value(&mut parser)?),
                Arg::Short('S') | Arg::Long("start") => found.times[0] = Some(value(&mut parser)?),
                Arg::Short('T') | Arg::Long("finish") => found.times[1] = Some(value(&mut parser)?),
                Arg::Short('A') | Arg::Long("align") => found.times[2] = Some(value(&mut parser)?),
                Arg::Short('O') | Arg::Long("origin") => found.times[3] = Some(value(&mut parser)?),
                Arg::Short('Z') | Arg::Long("timezone") => {
                    found.zone = Some(TimeZone::Named(value(&mut parser)?));
                }
                Arg::Short('z') | Arg::Long("hostzone") => found.zone = Some(TimeZone::Host),
                Arg::Short('f') | Arg::Long("follow") => found.follow = true,
                Arg::Short('t') | Arg::Long("interval") => {
                    found.interval = Some(interval(&value(&mut parser)?)?);
                }
                Arg::Long("config") => found.config = Some(value(&mut parser)?.into()),
                Arg::Long("state") => found.state = Some(value(&mut parser)?.into()),
                Arg::Long("check") => found.check = true,
                Arg::Short('V') | Arg::Long("version") => return Ok(Said::Version),
                Arg::Short('?') | Arg::Long("help") => return Ok(Said::Help),
                Arg::Value(kind) => found.kinds.push(kind.string().map_err(wrong)?),
                other => return Err(other.unexpected().to_string()),
            }
        }
        found.of_pcp(environment)?;
        found.read_file()?;
        found.sound()?;
        Ok(Said::Run(Box::new(found)))
    }

    /// Options of pcp(1) itself come in the environment.
    fn of_pcp(&mut self, environment: impl Fn(&str) -> Option<String>) -> Result<(), String> {
        let known = |name: &str| environment(name).filter(|text| !text.is_empty());
        if self.host.is_none() && self.archive.is_none() && self.lines.is_none() {
            self.archive = known("PCP_ARCHIVE");
            self.host = if self.archive.is_none() { known("PCP_HOST") } else { None };
        }
        let names = ["PCP_START_TIME", "PCP_FINISH_TIME", "PCP_ALIGN_TIME", "PCP_ORIGIN_TIME"];
        for (time, name) in self.times.iter_mut().zip(names) {
            *time = time.take().or_else(|| known(name));
        }
        if self.zone.is_none() {
            self.zone = known("PCP_TIMEZONE")
                .map(TimeZone::Named)
                .or_else(|| known("PCP_HOSTZONE").map(|_| TimeZone::Host));
        }
        if self.interval.is_none()
            && let Some(text) = known("PCP_INTERVAL")
        {
            self.interval = Some(interval(&text)?);
        }
        Ok(())
    }

    /// What the service's file says; the command line goes before it.
    fn read_file(&mut self) -> Result<(), String> {
        let Some(path) = &self.config else { return Ok(()) };
        let shown = path.display();
        let length = std::fs::metadata(path).map_err(|e| format!("{shown}: {e}"))?.len();
        if length > MOST_FILE {
            return Err(format!("{shown}: more than {MOST_FILE} bytes"));
        }
        let text = std::fs::read_to_string(path).map_err(|e| format!("{shown}: {e}"))?;
        let file: File = toml::from_str(&text).map_err(|e| {
            let before = e.span().and_then(|at| text.get(..at.start)).unwrap_or_default();
            format!("{shown}: line {}: {}", before.matches('\n').count() + 1, e.message())
        })?;
        let interval = file.interval.as_deref().map(interval).transpose();
        let interval = interval.map_err(|e| format!("{shown}: interval: {e}"))?;
        if self.otlp.is_empty() {
            self.otlp = file.otlp;
        }
        if self.kinds.is_empty() {
            self.kinds = file.kinds;
        }
        self.json |= file.json;
        self.all |= file.all;
        for (name, value) in file.headers {
            if !self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
                self.headers.push((name, value));
            }
        }
        self.compression = self.compression.take().or(file.compression);
        self.service = self.service.take().or(file.service);
        self.filter = self.filter.take().or(file.filter);
        self.host = self.host.take().or(file.host);
        self.state = self.state.take().or(file.state);
        self.interval = self.interval.or(interval);
        self.follow = true;
        Ok(())
    }

    /// That no option would be ignored.
    fn sound(&self) -> Result<(), String> {
        let sources = [self.host.is_some(), self.archive.is_some(), self.lines.is_some()];
        if sources.iter().filter(|given| **given).count() > 1 {
            return Err("one of -h, -a and --lines".into());
        }
        let live = self.archive.is_none() && self.lines.is_none();
        let all = |given: bool, name: &str, only: &str| match given {
            true => Err(format!("{name}: {only}")),
            false => Ok(()),
        };
        all(!live && self.filter.is_some(), "--filter", "live only: --trace and --service always")?;
        all(!live && self.follow, "--follow", "live only")?;
        all(!live && self.interval.is_some(), "--interval", "live only")?;
        let once = live && !self.follow && !self.is_profile();
        all(once && self.interval.is_some(), "--interval", "with --follow or profiles only")?;
        let times = self.times.iter().any(Option::is_some) || self.zone.is_some();
        all(self.archive.is_none() && times, "-S, -T, -A, -O, -z and -Z", "with an archive only")?;
        all(live && self.shift, "--shift", "with an archive or with lines only")?;
        all(
            self.lines.as_deref() == Some("-") && self.shift,
            "--shift",
            "with a file, which is read twice",
        )?;
        all(self.lines.is_some() && !self.kinds.is_empty(), "SOURCE.KIND", "with PCP only")?;
        self.sound_profile()
    }

    /// That profiles are asked for alone, with options of theirs.
    fn sound_profile(&self) -> Result<(), String> {
        let live = self.archive.is_none() && self.lines.is_none();
        let profile = self.is_profile();
        let all = |given: bool, what: &str| if given { Err(what.to_owned()) } else { Ok(()) };
        all(!profile && self.total, "--total works with --pprof and --speedscope only")?;
        let records = [&self.otlp, &self.perfetto, &self.chrome].iter().any(|to| !to.is_empty());
        all(profile && records, "--pprof and --speedscope are of stacks: export records apart")?;
        let chosen = self.filter.is_some() || self.all || self.shift;
        all(
            profile && (chosen || !self.kinds.is_empty()),
            "--filter, --all, --shift and SOURCE.KIND are for records",
        )?;
        all(self.slowest.is_some() && self.follow, "--slowest works without --follow")?;
        all(
            self.has_stacks() && !profile && self.follow,
            "--follow of stacks works without --trace",
        )?;
        all(!live && self.total, "--total works live only")?;
        all(self.total && self.interval.is_some(), "one of --total and --interval")?;
        all(
            profile && self.lines.is_some() && self.service.is_some(),
            "--service works with PCP only",
        )?;
        let files = self.speedscope.iter().chain(&self.pprof).any(|to| !is_url(to));
        all(
            profile && self.follow && (files || self.total),
            "--follow of stacks works with --pprof URL only",
        )?;
        all(self.speedscope.iter().any(|to| is_url(to)), "--speedscope takes a file")?;
        let drawn = !self.perfetto.is_empty() || !self.chrome.is_empty();
        all(
            !self.counters.is_empty() && (!drawn || self.lines.is_some()),
            "--counters works with --perfetto and --chrome, of PCP",
        )?;
        all(
            self.shift && drawn && self.otlp.is_empty(),
            "--shift is for receivers of OTLP: viewers show any time",
        )?;
        let urls = self.perfetto.iter().chain(&self.chrome).any(|to| is_url(to));
        all(urls, "--perfetto and --chrome take files")
    }

    /// Whether stacks are asked for, not records. Those of single calls are out of records.
    pub(super) fn is_profile(&self) -> bool {
        self.has_stacks() && self.trace.is_none() && self.slowest.is_none()
    }

    /// Whether stacks are asked for.
    pub(super) fn has_stacks(&self) -> bool {
        !self.pprof.is_empty() || !self.speedscope.is_empty()
    }

    /// What is read, if it is not a file with lines.
    pub(super) fn wanted(&self) -> Wanted {
        let source = match &self.archive {
            Some(archive) => Source::Archive(archive.clone()),
            None => Source::Host(self.host.clone().unwrap_or_else(|| "local:".into())),
        };
        Wanted { source, times: self.times.clone(), zone: self.zone.clone() }
    }

    /// Whether it is a service: it waits for receivers.
    pub(super) fn is_service(&self) -> bool {
        self.config.is_some()
    }
}

/// Whether something is sent there.
pub(super) fn is_url(to: &str) -> bool {
    to.contains("://")
}

/// The time between two looks.
fn interval(text: &str) -> Result<Duration, String> {
    match pmda::client::interval(text)? {
        Duration::ZERO => Err(format!("{text}: an interval above 0 is needed")),
        found => Ok(found),
    }
}

/// The value of an option.
fn value(parser: &mut Parser) -> Result<String, String> {
    parser.value().and_then(|value| value.string()).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str], environment: &[(&str, &str)]) -> Result<Options, String> {
        let said = Options::parse(arguments.iter().map(OsString::from), |name| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        match said? {
            Said::Run(options) => Ok(*options),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn options_of_pcp_count() {
        let found =
            parse(&["--otlp", "http://a", "zorka"], &[("PCP_HOST", "web1")]).expect("sound");
        assert_eq!(found.wanted().source, Source::Host("web1".into()));
        assert_eq!(found.kinds, ["zorka"]);
        let found = parse(&[], &[("PCP_ARCHIVE", "a"), ("PCP_START_TIME", "@10:00")]);
        let found = found.expect("sound");
        assert_eq!(found.wanted().source, Source::Archive("a".into()));
        assert_eq!(found.times[0].as_deref(), Some("@10:00"));
        let found = parse(&["-h", "b"], &[("PCP_HOST", "web1")]).expect("sound");
        assert_eq!(found.wanted().source, Source::Host("b".into()));
        assert_eq!(parse(&[], &[]).expect("sound").wanted().source, Source::Host("local:".into()));
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        for wrong in [
            &["-a", "x", "-f"][..],
            &["-a", "x", "-x", "a == 1"],
            &["-a", "x", "-h", "y"],
            &["-S", "@10:00"],
            &["--shift"],
            &["--lines", "-", "--shift"],
            &["--lines", "f", "zorka"],
            &["-t", "2"],
            &["--total"],
            &["--pprof", "a", "--perfetto", "b"],
            &["--pprof", "a", "-f"],
            &["--pprof", "a", "zorka"],
            &["--pprof", "http://a", "--trace", "1", "-f"],
            &["--perfetto", "a", "--slowest", "1", "-f"],
            &["--slowest", "0"],
            &["--slowest", "1001"],
            &["--speedscope", "http://a"],
            &["--counters", "a.b", "--otlp", "a"],
            &["-a", "x", "--shift", "--perfetto", "a"],
            &["--pprof", "a", "-a", "x", "--total"],
            &["--header", "x"],
            &["--unknown"],
            &["-f", "-t", "soon"],
            &["-f", "-t", "0"],
        ] {
            assert!(parse(wrong, &[]).is_err(), "{wrong:?}");
        }
        assert!(parse(&["-f"], &[("PCP_INTERVAL", "0 sec")]).is_err());
        assert!(parse(&["--help"], &[]).is_err_and(|said| said == "Help"));
        assert!(parse(&["-V"], &[]).is_err_and(|said| said == "Version"));
    }

    #[test]
    fn the_file_has_the_names_of_options() {
        let path = std::env::temp_dir().join(format!("export-{}.toml", std::process::id()));
        let name = path.to_str().expect("a name").to_owned();
        let text = "otlp = [\"http://a\"]\nkinds = [\"zorka\"]\ninterval = \"500 msec\"\nstate = \"s\"\n\
                    [headers]\nAuthorization = \"Bearer x\"\n";
        std::fs::write(&path, text).expect("space");
        let found = parse(&["--config", &name, "--otlp", "http://b"], &[]).expect("sound");
        assert_eq!((found.otlp, found.kinds), (vec!["http://b".into()], vec!["zorka".into()]));
        assert_eq!(found.headers, [("Authorization".into(), "Bearer x".into())]);
        assert_eq!((found.interval, found.follow), (Some(Duration::from_millis(500)), true));
        let found = parse(&["--config", &name, "--header", "authorization=mine"], &[]);
        let headers = found.expect("sound").headers;
        assert_eq!(headers, [("authorization".into(), "mine".into())]);
        std::fs::write(&path, "interval = \"0\"\n").expect("space");
        assert!(parse(&["--config", &name], &[]).is_err_and(|e| e.contains("interval")));
        std::fs::write(&path, "otpl = []\n").expect("space");
        assert!(parse(&["--config", &name], &[]).is_err_and(|e| e.contains("otpl")));
        std::fs::remove_file(&path).expect("the file");
    }
}
