//! How a process was started: the options of its JVM and what it runs, by its command line and its environment.

/// The texts of /proc/PID/cmdline and /proc/PID/environ. Empty: they cannot be read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Start<'a> {
    pub(crate) command: &'a [u8],
    pub(crate) environment: &'a [u8],
}

/// What `java` makes of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument<'a> {
    /// It begins with `-`, or with `@`: the file has options.
    Option(&'a [u8]),
    /// The jar that it runs.
    Jar(&'a [u8]),
    /// The class, or the module with or without a class, that it runs.
    Main(&'a [u8]),
}

/// Options whose value is the next argument, unless they have a `=`.
const WITH_VALUE: [&[u8]; 16] = [
    b"-cp",
    b"-classpath",
    b"--class-path",
    b"-p",
    b"--module-path",
    b"--upgrade-module-path",
    b"--add-modules",
    b"--add-exports",
    b"--add-opens",
    b"--add-reads",
    b"--limit-modules",
    b"--patch-module",
    b"--source",
    b"--enable-native-access",
    b"--describe-module",
    b"-d",
];

/// The arguments of `java` up to what it runs: what follows is the program's.
pub(crate) fn arguments(command: &[u8]) -> impl Iterator<Item = Argument<'_>> {
    let mut words = command.split(|&b| b == 0).skip(1);
    let mut runs = false;
    std::iter::from_fn(move || {
        if runs {
            return None;
        }
        let argument = match words.next()? {
            b"-jar" => Argument::Jar(words.next()?),
            b"-m" | b"--module" => Argument::Main(words.next()?),
            option if WITH_VALUE.contains(&option) => {
                words.next();
                Argument::Option(option)
            }
            option if option.starts_with(b"-") || option.starts_with(b"@") => {
                option.strip_prefix(b"--module=").map_or(Argument::Option(option), Argument::Main)
            }
            class => Argument::Main(class),
        };
        runs = !matches!(argument, Argument::Option(_));
        Some(argument)
    })
}

impl<'a> Start<'a> {
    /// Options of the JVM in the order in which they count: the last one wins. Those in files
    /// (`@argfiles`, .hotspotrc) are not seen.
    pub(crate) fn options(self) -> impl Iterator<Item = &'a [u8]> {
        let words = move |name| {
            let value = variable(self.environment, name).unwrap_or_default();
            value.split(u8::is_ascii_whitespace)
        };
        let own = arguments(self.command).filter_map(|argument| match argument {
            Argument::Option(option) => Some(option),
            Argument::Jar(_) | Argument::Main(_) => None,
        });
        let before = words("JAVA_TOOL_OPTIONS").chain(words("JDK_JAVA_OPTIONS"));
        before.chain(own).chain(words("_JAVA_OPTIONS"))
    }
}

/// The value of a variable in the text of /proc/PID/environ; the first of a name counts, as for
/// getenv(3).
pub(crate) fn variable<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut variables = environment.split(|&b| b == 0);
    variables.find_map(|one| one.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_where_the_program_begins() {
        let all = |command: &'static str| arguments(command.as_bytes()).collect::<Vec<_>>();
        let (option, main) = (|text: &'static str| Argument::Option(text.as_bytes()), b"Main");
        let known = WITH_VALUE.map(|option| [option, b"a/b=ALL-UNNAMED"].join(&0)).join(&0);
        let known = [b"java\0", &known[..], b"\0Main\0-x\0"].concat();
        let found: Vec<_> = arguments(&known).collect();
        let last = Argument::Main(main);
        assert_eq!(found, [WITH_VALUE.map(Argument::Option).as_slice(), &[last]].concat());
        assert_eq!(all("java\0-ea\0-jar\0x.jar\0-y\0"), [option("-ea"), Argument::Jar(b"x.jar")]);
        assert_eq!(all("java\0--add-opens=a/b=c\0Main\0"), [option("--add-opens=a/b=c"), last]);
        for module in ["java\0-m\0Main\0-x", "java\0--module\0Main", "java\0--module=Main\0x\0"] {
            assert_eq!(all(module), [last], "{module}");
        }
        assert_eq!(all("java\0@file\0-cp"), [option("@file"), option("-cp")]);
        assert_eq!((all("java\0-jar"), all("java"), all("")), (vec![], vec![], vec![]));
    }

    #[test]
    fn variables() {
        let environment = b"A=1\0OTEL_SERVICE_NAME=shop=x\0OTEL_SERVICE_NAME=y\0B";
        assert_eq!(variable(environment, "OTEL_SERVICE_NAME"), Some(&b"shop=x"[..]));
        assert_eq!(variable(environment, "A"), Some(&b"1"[..]));
        assert_eq!((variable(environment, "B"), variable(environment, "OTEL")), (None, None));
    }
}
