//! The command line: PCP's options for every PMDA through pmdaGetOptions(3), and the agent's own.

use std::ffi::{CString, c_char, c_int};

use pcp_sys as sys;

use crate::cstring;

/// An option of one agent, beside those of every PMDA (`-D -d -l -U -?`).
#[derive(Clone, Copy, Debug)]
pub struct OptionDef {
    /// Name after `--`.
    pub long: &'static str,
    /// Letter after `-`, if the option has one.
    pub short: Option<char>,
    /// Name of the argument in the usage message; `None` for an option without an argument.
    pub argument: Option<&'static str>,
    /// Text of the usage message.
    pub text: &'static str,
}

/// The parsed command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The agent's own options in their order: long name, and argument (empty if it has none).
    pub options: Vec<(&'static str, String)>,
    /// User of option `-U`.
    pub user: Option<String>,
}

impl Arguments {
    /// The last argument given to an option; empty for an option without one.
    #[must_use]
    pub fn get(&self, long: &str) -> Option<&str> {
        self.options.iter().rev().find(|(name, _)| *name == long).map(|(_, text)| text.as_str())
    }
}

/// PCP's options for every PMDA: long name, letter, argument, text.
const PCPS: [(&str, char, Option<&str>, &str); 5] = [
    ("debug", 'D', Some("SPEC"), "libpcp debugging"),
    ("domain", 'd', Some("NUM"), "PMDA domain number [default {}]"),
    ("log", 'l', Some("FILE"), "log file instead of the default"),
    ("username", 'U', Some("USER"), "run as this user [default pcp]"),
    ("help", '?', None, "show this message and exit"),
];

/// Strings and rows of an option table; the rows point to the strings.
struct OptionTable {
    rows: Vec<sys::pmLongOptions>,
    letters: CString,
    _strings: Vec<CString>,
}

impl OptionTable {
    fn new(name: &str, domain: u32, own: &[OptionDef]) -> Self {
        let mut strings: Vec<CString> = Vec::new();
        // The bytes of a CString stay in place while the vector grows.
        let mut keep = |text: &str| {
            strings.push(cstring::cut(text));
            strings.last().map_or(std::ptr::null(), |s| s.as_ptr())
        };
        let mut letters = String::new();
        let mut rows = Vec::new();
        let mut row = |long: &str, short: Option<char>, argument: Option<&str>, text: &str| {
            if let Some(letter) = short.filter(|l| *l != '-') {
                letters.push(letter);
                letters.extend(argument.map(|_| ':'));
            }
            rows.push(sys::pmLongOptions {
                long_opt: keep(long),
                has_arg: argument.is_some().into(),
                short_opt: short.map_or(0, |letter| u32::from(letter).cast_signed()),
                argname: argument.map_or(std::ptr::null(), &mut keep),
                message: keep(text),
            });
        };
        row("", Some('-'), None, "PMDA options");
        for (long, short, argument, text) in PCPS {
            row(long, Some(short), argument, &text.replace("{}", &domain.to_string()));
        }
        if !own.is_empty() {
            row("", Some('-'), None, &format!("Options of {name}"));
        }
        for option in own {
            row(option.long, option.short, option.argument, option.text);
        }
        rows.push(sys::pmLongOptions {
            long_opt: std::ptr::null(),
            has_arg: 0,
            short_opt: 0,
            argname: std::ptr::null(),
            message: std::ptr::null(),
        });
        let letters = cstring::cut(&letters);
        Self { rows, letters, _strings: strings }
    }
}

/// Parses the arguments into `dispatch` (domain, log file) and the result. `Err` is the exit
/// status, after a message was printed.
pub(crate) fn parse(
    (name, domain, own): (&str, u32, &'static [OptionDef]),
    args: &[CString],
    dispatch: &mut sys::pmdaInterface,
) -> Result<Arguments, i32> {
    let mut table = OptionTable::new(name, domain, own);
    // SAFETY: pmdaOptions is plain data; zero is what C's static initialisers leave in the fields
    // that are not named.
    let mut opts: sys::pmdaOptions = unsafe { std::mem::zeroed() };
    opts.short_options = table.letters.as_ptr();
    opts.long_options = table.rows.as_mut_ptr();
    opts.short_usage = c"[options]".as_ptr();

    let mut argv: Vec<*mut c_char> = args.iter().map(|a| a.as_ptr().cast_mut()).collect();
    argv.push(std::ptr::null_mut());
    let argc = c_int::try_from(args.len()).unwrap_or(c_int::MAX);
    let mut found = Arguments::default();
    let mut bad = false;
    loop {
        // SAFETY: argv has argc C strings that outlive the loop; opts and dispatch are valid for
        // writing, and the option table ends with a zeroed row. getopt(3) permutes the pointers,
        // not the strings.
        let c = unsafe { sys::pmdaGetOptions(argc, argv.as_ptr(), &raw mut opts, dispatch) };
        let Ok(letter) = u32::try_from(c) else { break };
        let option = if letter == 0 {
            // The agent's own options are the last rows before the end mark.
            let first = table.rows.len() - 1 - own.len();
            usize::try_from(opts.index).ok().and_then(|i| own.get(i.checked_sub(first)?))
        } else {
            own.iter().find(|o| o.short.is_some_and(|s| u32::from(s) == letter))
        };
        // SAFETY: optarg is null or one of the arguments.
        let argument = unsafe { cstring::copy(opts.optarg) }.unwrap_or_default();
        match option {
            Some(option) => {
                let argument = if option.argument.is_some() { argument } else { String::new() };
                found.options.push((option.long, argument));
            }
            None if letter == u32::from('U') => found.user = Some(argument),
            None => bad = true,
        }
    }
    if found.user.is_none() {
        // SAFETY: pmdaGetOptions(3) leaves null or one of the arguments.
        found.user = unsafe { cstring::copy(opts.username) };
    }
    let wants_help = args.iter().any(|a| matches!(a.to_bytes(), b"-?" | b"--help"));
    if bad || opts.errors != 0 || wants_help {
        // SAFETY: pmdaUsageMessage(3) prints the table that opts points to, which is still alive.
        unsafe { sys::pmdaUsageMessage(&raw mut opts) };
        return Err(i32::from(!wants_help));
    }
    Ok(found)
}
