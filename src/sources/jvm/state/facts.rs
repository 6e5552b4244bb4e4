//! What does not change while a JVM runs: what the host knows of the process, and what its performance data says of
//! versions, collector and names.

use std::borrow::Cow;

use super::super::command::{Argument, arguments};
use super::super::limits;
use super::super::wire::{Counter, Values};
use crate::heap_size;
use crate::model::is_invisible;

/// What the host knows of a process. It does not change while it lives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Who {
    /// Process id as this host sees it.
    pub(crate) pid: u32,
    /// Time of the start in clock ticks since boot.
    pub(crate) start: u64,
    /// Time of the start in ms since 1970, if it is known.
    pub(crate) started: Option<i64>,
    /// Process id as the process sees it.
    pub(crate) inner_pid: u32,
    /// Name of its user, or the number.
    pub(crate) owner: String,
    /// The container that it is in.
    pub(crate) container: Option<String>,
    /// Command line, for one whose performance data is not read.
    pub(crate) command: String,
    /// It began while this PMDA ran: all that it has counted counts for its service.
    pub(crate) is_new: bool,
    /// Name of the main thread: the program where a JVM runs within another one.
    pub(crate) comm: String,
    /// OTEL_SERVICE_NAME of the process's environment, if that can be read.
    pub(crate) service: Option<String>,
}
heap_size!(Who { owner, container, command, comm, service });

/// How memory is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collector {
    Serial,
    Parallel,
    Cms,
    G1,
    Zgc,
    ZgcGenerational,
    Shenandoah,
    Epsilon,
}

/// What a text of the region has with each, the first that fits, and how people write it.
const SIGNS: [(Counter, &[u8], Collector, &str); 9] = [
    (Counter::PolicyName, b"Copy:MSC", Collector::Serial, "Serial"),
    (Counter::PolicyName, b"ParScav:MSC", Collector::Parallel, "Parallel"),
    (Counter::PolicyName, b"ParNew:CMS", Collector::Cms, "CMS"),
    (Counter::PolicyName, b"GarbageFirst", Collector::G1, "G1"),
    (Counter::Name1, b"Shenandoah", Collector::Shenandoah, "Shenandoah"),
    (Counter::Name0, b"ZGC minor", Collector::ZgcGenerational, "ZGC generational"),
    (Counter::Name2, b"Z ", Collector::Zgc, "ZGC"),
    (Counter::VmArgs, b"-XX:+UseZGC", Collector::Zgc, "ZGC"),
    (Counter::VmArgs, b"-XX:+UseEpsilonGC", Collector::Epsilon, "Epsilon"),
];

impl Collector {
    /// As people write it.
    pub(crate) fn name(self) -> &'static str {
        SIGNS.iter().find(|sign| sign.2 == self).map_or("", |sign| sign.3)
    }

    /// By the policy, else by the names of collectors, else by the arguments: ZGC of 11 and Epsilon
    /// have neither.
    fn of(values: Values<'_>) -> Option<Self> {
        let has = |counter, word| memchr::memmem::find(values.text(counter)?, word);
        SIGNS.iter().find(|sign| has(sign.0, sign.1).is_some()).map(|sign| sign.2)
    }

    /// Whether generations share the heap in fixed parts, so that its limit is the sum of theirs. Of
    /// others each generation could be the whole heap.
    pub(super) const fn is_parted(self, release: Option<u32>) -> bool {
        self.limits_spaces() && !matches!((self, release), (Self::Parallel, Some(28..)))
    }

    /// Whether spaces have limits of their own.
    pub(super) const fn limits_spaces(self) -> bool {
        matches!(self, Self::Serial | Self::Parallel | Self::Cms)
    }
}

/// Facts of a JVM. A text has no control characters; what the region lacks is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    /// java.version: `17.0.9`, `1.8.0_504`.
    pub(crate) version: Option<Box<str>>,
    /// `8`, `11`, `17`, …
    pub(crate) release: Option<u32>,
    /// Name and version of the virtual machine.
    pub(crate) vm: Option<Box<str>>,
    /// Vendor of the virtual machine.
    pub(crate) vendor: Option<Box<str>>,
    /// Main class or jar with its arguments, which may be secrets: no label. Empty within another
    /// program.
    pub(crate) command: Option<Box<str>>,
    pub(crate) collector: Option<Collector>,
    pub(crate) names: Names,
    /// What is needed for its names and labels is there: it comes a moment after the region is ready.
    pub(crate) is_complete: bool,
    /// It answers requests by the attach protocol.
    pub(crate) takes_requests: bool,
    /// Ticks a second, above 0. `None`: no times can be told.
    pub(super) frequency: Option<u64>,
}

heap_size!(Facts { version, vm, vendor, command, names });

impl Facts {
    /// From the constants of a region, and what is known beside it.
    pub(crate) fn new(values: Values<'_>, who: &Who) -> Self {
        let text = |counter| values.text(counter).map(|text| Box::from(shown(text)));
        let release = |counter| release(std::str::from_utf8(values.text(counter)?).ok()?);
        let release = release(Counter::Specification).or_else(|| release(Counter::Version));
        let collector = Collector::of(values);
        let vm = match (text(Counter::VmName), text(Counter::VmVersion)) {
            (Some(name), Some(version)) => Some(format!("{name} {version}").into()),
            (name, version) => name.or(version),
        };
        Self {
            version: text(Counter::Version),
            release,
            vm,
            vendor: text(Counter::Vendor),
            command: text(Counter::Command),
            collector,
            names: Names::new(values, who),
            is_complete: collector.is_some()
                && [Counter::Version, Counter::Command, Counter::VmArgs]
                    .iter()
                    .all(|counter| values.text(*counter).is_some()),
            takes_requests: values
                .text(Counter::Capabilities)
                .is_some_and(|able| able.starts_with(b"1")),
            frequency: values.count(Counter::Frequency).filter(|&hertz| hertz > 0),
        }
    }

    /// Nanoseconds of a counter of ticks. `None`: it is not there.
    pub(super) fn time(&self, values: Values<'_>, counter: Counter) -> Option<u64> {
        self.nanoseconds(values.long(counter)?)
    }

    /// Rounded down. `None`: below zero, or nobody knows how long a tick is.
    fn nanoseconds(&self, ticks: i64) -> Option<u64> {
        let ticks = u64::try_from(ticks).ok()?;
        match self.frequency? {
            1_000_000_000 => Some(ticks),
            hertz => u64::try_from(u128::from(ticks) * 1_000_000_000 / u128::from(hertz)).ok(),
        }
    }
}

/// The release of `17`, `1.8`, `21.0.8`, `1.8.0_504`, `28-ea`.
fn release(version: &str) -> Option<u32> {
    let number = version.strip_prefix("1.").unwrap_or(version);
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// A text that can be shown: bytes that are no UTF-8 become U+FFFD, control characters blanks.
pub(crate) fn shown(text: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(text);
    if text.contains(char::is_control) { text.replace(char::is_control, " ").into() } else { text }
}

// Names: what somebody has called a process, or what it runs. Never its arguments.

/// Options that name a service, the first of them first.
const SERVICE: [&[u8]; 3] =
    [b"-Dspring.application.name=", b"-Dquarkus.application.name=", b"-Dotel.service.name="];
/// The same as an argument of a program of Spring Boot.
const ARGUMENT: &[u8] = b"--spring.application.name=";

/// Classes and jars of launchers, which say nothing of what they launch.
const LAUNCHERS: [(&str, &str); 5] = [
    ("org.apache.catalina.startup.Bootstrap", "tomcat"),
    ("jboss-modules", "wildfly"),
    ("org.codehaus.plexus.classworlds.launcher.Launcher", "maven"),
    ("org.gradle.launcher.daemon.bootstrap.GradleDaemon", "gradle"),
    ("worker.org.gradle.process.internal.worker.GradleWorkerMain", "gradle"),
];

/// Names of one process: each at most [`limits::PROGRAM`] characters, without blanks, control and
/// invisible characters, which become `_`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// What the process was told that it is called: the last of the JVM's options, the program's
    /// argument, or OTEL_SERVICE_NAME.
    pub(crate) service: Option<Box<str>>,
    /// Jar without its version, main class without its package, what a launcher launches, or the
    /// name of the main thread where a JVM runs within another program. May be empty.
    pub(crate) program: Box<str>,
}

heap_size!(Names { service, program });

impl Names {
    /// The name that is shown.
    pub(crate) fn shown(&self) -> &str {
        self.service.as_deref().unwrap_or(&self.program)
    }

    pub(crate) fn new(values: Values<'_>, who: &Who) -> Self {
        let text = |counter| values.text(counter).unwrap_or_default();
        let (command, path) = (text(Counter::Command), text(Counter::ClassPath));
        let service = service(text(Counter::VmArgs), command);
        let environment = who.service.as_deref().map(|name| name.trim().as_bytes());
        let service = service.or(environment.filter(|name| !name.is_empty()));
        let program = program(&String::from_utf8_lossy(command), &String::from_utf8_lossy(path));
        let program = program.filter(|name| !name.is_empty());
        Self {
            service: service.map(|name| clean(&String::from_utf8_lossy(name))),
            program: clean(program.as_deref().unwrap_or(&who.comm)),
        }
    }
}

/// Of an option that is there twice the JVM takes the last.
fn service<'a>(options: &'a [u8], command: &'a [u8]) -> Option<&'a [u8]> {
    let last_of = |text: &'a [u8], key: &[u8]| {
        let words = text.split(u8::is_ascii_whitespace).rev();
        words.filter_map(|word| word.strip_prefix(key)).find(|value| !value.is_empty())
    };
    let option = SERVICE.into_iter().find_map(|key| last_of(options, key));
    // The first word is what runs.
    let arguments = command.iter().position(|&b| b == b' ').and_then(|at| command.get(at..));
    option.or_else(|| last_of(arguments?, ARGUMENT))
}

/// The name of a program that was started so, by the text of /proc/PID/cmdline: of one whose
/// performance data is not read. `None`: it is none of `java` with a class or a jar.
pub(crate) fn of_command_line(command: &[u8]) -> Option<String> {
    let java = String::from_utf8_lossy(command.split(|&b| b == 0).next()?);
    if last(&java, '/') != "java" {
        return None;
    }
    let name = arguments(command).find_map(|argument| match argument {
        Argument::Option(_) => None,
        Argument::Jar(jar) => Some((String::from_utf8_lossy(jar), true)),
        Argument::Main(class) => Some((String::from_utf8_lossy(class), false)),
    });
    let (what, is_jar) = name?;
    let name = program(&what, if is_jar { &what } else { "" })?;
    Some(clean(&name).into()).filter(|name: &String| !name.is_empty())
}

fn program(command: &str, path: &str) -> Option<String> {
    let jar = |file: &str| Some(unversioned(last(file, '/').strip_suffix(".jar")?).to_owned());
    // A jar's path may have blanks, and is the class path.
    let whole =
        command.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let first = command.split(' ').next()?;
    let file = if whole && path.ends_with(".jar") { path } else { first };
    let of =
        |name: &str| LAUNCHERS.iter().find(|known| known.0 == name).map(|known| known.1.into());
    if let Some(name) = jar(file) {
        return of(&name).or(Some(name));
    }
    // MODULE/CLASS, or a class alone.
    let class = last(file, '/');
    // A source file, which `java` compiles and runs: up to there it is an argument of what compiles it.
    let compiles = class.starts_with("com.sun.tools.javac.launcher.");
    let source = if compiles { command.split(' ').nth(1) } else { Some(class) };
    if let Some(name) = source.and_then(|source| last(source, '/').strip_suffix(".java")) {
        return Some(name.to_owned());
    }
    if class.starts_with("org.springframework.boot.loader.") && class.ends_with("Launcher") {
        let folder = last(last(path, ':').trim_end_matches('/'), '/');
        if !matches!(folder, "" | "." | "..") {
            return Some(jar(folder).unwrap_or_else(|| folder.to_owned()));
        }
    }
    of(class).or_else(|| Some(last(class, '.').to_owned()))
}

/// The part behind the last `separator`.
fn last(text: &str, separator: char) -> &str {
    text.rsplit(separator).next().unwrap_or(text)
}

/// A name without the version at its end: `-1.4.2`, `-1.4.2-SNAPSHOT`.
fn unversioned(name: &str) -> &str {
    let word = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let version = |text: &str| {
        let (number, suffix) = text.split_once('-').unwrap_or((text, "x"));
        number.starts_with(|c: char| c.is_ascii_digit())
            && number.split('.').all(word)
            && suffix.starts_with(char::is_alphabetic)
            && word(suffix)
    };
    let mut dashes = name.match_indices('-');
    let at = dashes.find(|&(at, _)| at > 0 && name.get(at + 1..).is_some_and(version));
    at.and_then(|(at, _)| name.get(..at)).unwrap_or(name)
}

fn clean(name: &str) -> Box<str> {
    let bad = |c: char| c.is_whitespace() || c.is_control() || is_invisible(c);
    let chars = name.chars().take(limits::PROGRAM);
    chars.map(|c| if bad(c) { '_' } else { c }).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        let of = ["17", "1.8", "21.0.8", "1.8.0_504", "28-ea", "9", "x", "", "1."].map(release);
        let know = [17, 8, 21, 8, 28, 9].map(Some);
        assert_eq!(of, [know.as_slice(), &[None; 3]].concat().as_slice());
        assert_eq!(&*shown(b"a\nb\x1b[2J \xff\xc2\x85"), "a b [2J \u{fffd} ");
    }

    #[test]
    fn ticks() {
        let facts = |hertz| Facts { frequency: Some(hertz), ..Facts::default() };
        assert_eq!(facts(3_000_000).nanoseconds(1_234_567), Some(411_522_333));
        assert_eq!(facts(1_000_000_000).nanoseconds(i64::MAX), Some(i64::MAX.unsigned_abs()));
        assert_eq!(facts(1).nanoseconds(i64::MAX), None);
        assert_eq!(facts(1).nanoseconds(-1), None);
        assert_eq!(Facts::default().nanoseconds(1), None);
    }

    #[test]
    fn programs() {
        for (command, path, name) in [
            ("Load a b  c", "/w:/app/*", "Load"),
            ("shop.load/load.Load x", "", "Load"),
            ("shop.load", "", "load"),
            (
                "/app/orders-service-1.4.2.jar --port=1",
                "/app/orders-service-1.4.2.jar",
                "orders-service",
            ),
            ("/my app/shop-2.0-SNAPSHOT.jar -x", "/my app/shop-2.0-SNAPSHOT.jar", "shop"),
            ("/my app/shop.jar", "/my app/shop.jar", "shop"),
            // The class path found no room in the region.
            ("/app/shop-3.1.jar --secret", "", "shop"),
            ("-1.jar", "-1.jar", "-1"),
            ("log-9a.b-1.2_x.jar", "log-9a.b-1.2_x.jar", "log-9a.b"),
            ("web-2.jar", "web-2.jar", "web"),
            (
                "org.apache.catalina.startup.Bootstrap start",
                "/x/bootstrap.jar:/x/juli.jar",
                "tomcat",
            ),
            ("org.springframework.boot.loader.launch.JarLauncher", "/srv/orders/", "orders"),
            ("org.springframework.boot.loader.JarLauncher", ".", "JarLauncher"),
            ("/opt/wildfly/jboss-modules.jar -mp /m", "/opt/wildfly/jboss-modules.jar", "wildfly"),
            ("org.codehaus.plexus.classworlds.launcher.Launcher verify", "/m/x.jar", "maven"),
            ("org.gradle.launcher.daemon.bootstrap.GradleDaemon 8.5", "/g/x.jar", "gradle"),
            ("Bücher/日本 x", "/w", "日本"),
            // Of 17 and 25.
            ("jdk.compiler/com.sun.tools.javac.launcher.Main /srv/Shop.java x", ".", "Shop"),
            ("jdk.compiler/com.sun.tools.javac.launcher.SourceLauncher Shop.java", ".", "Shop"),
            (
                "jdk.compiler/com.sun.tools.javac.launcher.SourceLauncher shop",
                ".",
                "SourceLauncher",
            ),
            ("", "", ""),
        ] {
            assert_eq!(program(command, path).as_deref(), Some(name), "{command}");
        }
    }

    #[test]
    fn services() {
        let of = |options: &'static str, command: &'static str| {
            service(options.as_bytes(), command.as_bytes()).map(String::from_utf8_lossy)
        };
        assert_eq!(of("-Dspring.application.name=a -Dspring.application.name=b", "").unwrap(), "b");
        assert_eq!(of("-Dotel.service.name=o -Dquarkus.application.name=q", "").unwrap(), "q");
        assert_eq!(of("-Dotel.service.name=", "M --spring.application.name=s x").unwrap(), "s");
        assert_eq!(of("-XDotel.service.name=x", "--spring.application.name=main"), None);
    }

    #[test]
    fn names_are_clean_and_short() {
        assert_eq!(&*clean("a\tb\u{7}ü 日本\u{202e}x"), "a_b_ü_日本_x");
        assert_eq!(clean(&"é".repeat(100)).chars().count(), limits::PROGRAM);
    }

    #[test]
    fn names_by_command_lines() {
        for (command, name) in [
            (&b"/usr/bin/java\0-Xmx1g\0-cp\0/a.jar\0org.shop.Main\0secret\0"[..], Some("Main")),
            (b"java\0-jar\0/app/shop-1.2.jar\0", Some("shop")),
            (b"java\0-m\0shop/org.shop.Main\0", Some("Main")),
            (b"java\0--module=shop/org.shop.Main\0x\0", Some("Main")),
            (b"java\0--add-opens\0a/b=ALL-UNNAMED\0Main\0", Some("Main")),
            (b"java\0--source\x0021\0/srv/Shop.java\0x.java\0", Some("Shop")),
            (b"java\0.java\0", None),
            (b"java\0-version\0", None),
            (b"java\0\0x\0", None),
            (b"python3\0x.py\0", None),
            (b"", None),
        ] {
            assert_eq!(of_command_line(command).as_deref(), name, "{}", command.escape_ascii());
        }
    }
}
