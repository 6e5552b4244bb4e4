//! The command line of pmdaapm.

use std::ffi::OsString;
use std::path::PathBuf;

use pmda::{Agent, Arguments, OptionDef, PmdaInfo};

/// Name of the program, domain number, log file.
const INFO: PmdaInfo = PmdaInfo::new("pmdaapm", 400, "apm.log").with_options(OPTIONS);

/// The options beside PCP's own.
const OPTIONS: &[OptionDef] = &[
    OptionDef {
        short: Some('c'),
        argument: Some("FILE"),
        ..flag("config", "configuration [default $PCP_SYSCONF_DIR/apm/apm.toml]")
    },
    flag("check", "check the configuration, print what would be listened on, exit"),
    flag("print-pmns", "print the name space, exit"),
    flag("print-help", "print the help texts in the form of newhelp(1), exit"),
    flag("print-metrics", "print a table of all metrics, exit"),
    flag(
        "print-ids",
        "print which PMID clusters, items and instance domains are in use and free, exit",
    ),
    flag("print-configuration", "print a table of all configuration keys, exit"),
    flag("print-pmlogconf", "print the groups for pmlogconf(1), exit"),
    flag("print-confinement", "print the system calls of each kind of thread, exit"),
    flag("catalogue", "print all static metrics as JSON, exit"),
    OptionDef {
        argument: Some("NAME"),
        ..flag(
            "forget",
            "drop metrics that peers have brought, by name with *, while pmcd is stopped, exit",
        )
    },
    flag("page", "print a page for browsers that shows the metrics through pmproxy(1), exit"),
    OptionDef {
        argument: Some("URL"),
        ..flag("proxy", "pmproxy of the page [default http://localhost:44322]")
    },
    OptionDef {
        argument: Some("SPEC"),
        ..flag("hostspec", "pmcd of the page, as pmproxy names it [default local:]")
    },
    OptionDef { short: Some('V'), ..flag("version", "print the version, exit") },
];

const fn flag(long: &'static str, text: &'static str) -> OptionDef {
    OptionDef { long, short: None, argument: None, text }
}

/// The mode of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Runs the PMDA.
    #[default]
    Run,
    /// `--check`
    Check,
    /// `--print-pmns`
    PrintPmns,
    /// `--print-help`
    PrintHelp,
    /// `--print-metrics`: `docs/metrics.md`
    PrintMetrics,
    /// `--print-ids`: for who adds a source, a table or a metric
    PrintIds,
    /// `--print-configuration`: `docs/configuration.md`
    PrintConfiguration,
    /// `--print-pmlogconf`: `etc/pmlogconf/*`
    PrintPmlogconf,
    /// `--print-confinement`: the system calls of each kind of thread, for qa/145
    PrintConfinement,
    /// `--catalogue`: all metrics as JSON, for scripts
    Catalogue,
    /// `--forget`
    Forget,
    /// `--page`
    Page,
    /// `--version`
    Version,
}

/// The options given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The last mode given.
    pub mode: Mode,
    /// `-c`, `--config`
    pub config: Option<PathBuf>,
    /// `--forget`
    pub forget: Option<String>,
    /// `--proxy`
    pub proxy: Option<String>,
    /// `--hostspec`
    pub hostspec: Option<String>,
}

impl Options {
    fn new(arguments: &Arguments) -> Self {
        let mode = arguments.options.iter().rev().find_map(|(long, _)| match *long {
            "check" => Some(Mode::Check),
            "print-pmns" => Some(Mode::PrintPmns),
            "print-help" => Some(Mode::PrintHelp),
            "print-metrics" => Some(Mode::PrintMetrics),
            "print-ids" => Some(Mode::PrintIds),
            "print-configuration" => Some(Mode::PrintConfiguration),
            "print-pmlogconf" => Some(Mode::PrintPmlogconf),
            "print-confinement" => Some(Mode::PrintConfinement),
            "catalogue" => Some(Mode::Catalogue),
            "forget" => Some(Mode::Forget),
            "page" => Some(Mode::Page),
            "version" => Some(Mode::Version),
            _ => None,
        });
        let text = |long| arguments.get(long).map(str::to_owned);
        Self {
            mode: mode.unwrap_or_default(),
            config: arguments.get("config").map(PathBuf::from),
            forget: text("forget"),
            proxy: text("proxy"),
            hostspec: text("hostspec"),
        }
    }
}

/// Reads the arguments of the process.
///
/// # Errors
/// The status to exit with, after a usage message was printed.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<(Agent, Options), i32> {
    let agent = Agent::new(&INFO, args)?;
    let options = Options::new(agent.arguments());
    Ok((agent, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Options, i32> {
        let all = std::iter::once(&"pmdaapm").chain(args);
        parse(all.map(OsString::from)).map(|(_, options)| options)
    }

    #[test]
    fn long_and_short_options() {
        assert_eq!(parsed(&[]), Ok(Options::default()));
        let mode = |mode| Ok(Options { mode, ..Options::default() });
        assert_eq!(parsed(&["-V"]), mode(Mode::Version));
        assert_eq!(parsed(&["--print-help"]), mode(Mode::PrintHelp));
        assert_eq!(parsed(&["--catalogue"]), mode(Mode::Catalogue));
        let check =
            Options { mode: Mode::Check, config: Some("/etc/a b".into()), ..Options::default() };
        assert_eq!(parsed(&["--check", "-c", "/etc/a b"]), Ok(check.clone()));
        assert_eq!(parsed(&["-d", "401", "--config=/etc/a b", "--check"]), Ok(check));
        let page = Options {
            mode: Mode::Page,
            proxy: Some("http://web1:44322".into()),
            hostspec: Some("web1".into()),
            ..Options::default()
        };
        let given = ["--page", "--proxy", "http://web1:44322", "--hostspec=web1"];
        assert_eq!(parsed(&given), Ok(page));
        let forget = Some("apm.mono.counter.junk*".to_owned());
        let forget = Options { mode: Mode::Forget, forget, ..Options::default() };
        assert_eq!(parsed(&["--forget", "apm.mono.counter.junk*"]), Ok(forget));
        assert_eq!(parsed(&["--nonsense"]), Err(1));
        assert_eq!(parsed(&["-?"]), Err(0));
    }

    #[test]
    fn domain_is_that_of_the_option() {
        let domain = |args: &[&str]| {
            let args = std::iter::once(&"pmdaapm").chain(args).map(OsString::from);
            parse(args).map(|(agent, _)| agent.domain())
        };
        assert_eq!((domain(&[]), domain(&["-d", "401"])), (Ok(400), Ok(401)));
    }
}
