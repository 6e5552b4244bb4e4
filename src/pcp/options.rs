//! Command line: PCP's own options through pmdaGetOptions(3), and ours.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::PathBuf;

use super::sys;
use super::text::to_string;

/// What to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Be a PMDA.
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
    /// `--print-configuration`: `docs/configuration.md`
    PrintConfiguration,
    /// `--version`
    Version,
}

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What to do.
    pub mode: Mode,
    /// `-c`, `--config`
    pub config: Option<PathBuf>,
    /// `-U`, `--username`
    pub user: Option<String>,
}

/// `(long, takes an argument, short, argument name, text)`; 0 for options without a letter.
const OURS: &[(&CStr, bool, u8, Option<&CStr>, &CStr)] = &[
    (
        c"config",
        true,
        b'c',
        Some(c"FILE"),
        c"configuration [default $PCP_SYSCONF_DIR/apm/apm.toml]",
    ),
    (c"check", false, 0, None, c"check the configuration, print what would be listened on, exit"),
    (c"print-pmns", false, 0, None, c"print the name space, exit"),
    (c"print-help", false, 0, None, c"print the help texts in the form of newhelp(1), exit"),
    (c"print-metrics", false, 0, None, c"print a table of all metrics, exit"),
    (c"print-configuration", false, 0, None, c"print a table of all configuration keys, exit"),
    (c"version", false, b'V', None, c"print the version, exit"),
];

/// PCP's options that every PMDA has, with their descriptions.
const PCPS: &[(&CStr, bool, u8, Option<&CStr>, &CStr)] = &[
    (c"debug", true, b'D', Some(c"SPEC"), c"libpcp debugging"),
    (c"domain", true, b'd', Some(c"NUM"), c"PMDA domain number [default 400]"),
    (c"log", true, b'l', Some(c"FILE"), c"log file instead of the default"),
    (c"username", true, b'U', Some(c"USER"), c"run as this user [default pcp]"),
    (c"help", false, b'?', None, c"show this message and exit"),
];

/// Reads the arguments into `dispatch` (domain, log file) and the result. `Err` holds the exit
/// status: a message has been printed.
pub fn parse(args: &[CString], dispatch: &mut sys::pmdaInterface) -> Result<Options, i32> {
    let header = |text: &'static CStr| sys::pmLongOptions {
        long_opt: c"".as_ptr(),
        has_arg: 0,
        short_opt: c_int::from(b'-'),
        argname: std::ptr::null(),
        message: text.as_ptr(),
    };
    let row =
        |o: &(&'static CStr, bool, u8, Option<&'static CStr>, &'static CStr)| sys::pmLongOptions {
            long_opt: o.0.as_ptr(),
            has_arg: c_int::from(o.1),
            short_opt: o.2.into(),
            argname: o.3.map_or(std::ptr::null(), CStr::as_ptr),
            message: o.4.as_ptr(),
        };
    let mut long: Vec<sys::pmLongOptions> = vec![header(c"PMDA options")];
    long.extend(PCPS.iter().map(row));
    long.push(header(c"Options of pmdaapm"));
    long.extend(OURS.iter().map(row));
    // SAFETY: pmLongOptions is plain data for which all zeroes is the end mark.
    long.push(unsafe { std::mem::zeroed() });

    // SAFETY: pmdaOptions is plain data; zero is what C's static initialisers leave in the fields
    // that are not named.
    let mut opts: sys::pmdaOptions = unsafe { std::mem::zeroed() };
    opts.short_options = c"D:d:l:U:c:V?".as_ptr();
    opts.long_options = long.as_mut_ptr();
    opts.short_usage = c"[options]".as_ptr();

    let mut argv: Vec<*mut c_char> = args.iter().map(|a| a.as_ptr().cast_mut()).collect();
    argv.push(std::ptr::null_mut());
    let argc = c_int::try_from(args.len()).unwrap_or(c_int::MAX);
    let mut found = Options::default();
    let mut bad = false;
    loop {
        // SAFETY: argv has argc C strings that outlive the loop; opts and dispatch are valid for
        // writing, and the option table ends with a zeroed row. getopt(3) permutes the
        // pointers, not the strings.
        let c = unsafe { sys::pmdaGetOptions(argc, argv.as_ptr(), &raw mut opts, dispatch) };
        let argument = || to_string(opts.optarg).unwrap_or_default();
        match u8::try_from(c) {
            Err(_) => break,
            Ok(b'c') => found.config = Some(argument().into()),
            Ok(b'U') => found.user = Some(argument()),
            Ok(b'V') => found.mode = Mode::Version,
            Ok(0) => {
                match usize::try_from(opts.index)
                    .ok()
                    .and_then(|i| long.get(i))
                    .and_then(|o| to_string(o.long_opt))
                    .as_deref()
                {
                    Some("check") => found.mode = Mode::Check,
                    Some("print-pmns") => found.mode = Mode::PrintPmns,
                    Some("print-help") => found.mode = Mode::PrintHelp,
                    Some("print-metrics") => found.mode = Mode::PrintMetrics,
                    Some("print-configuration") => found.mode = Mode::PrintConfiguration,
                    _ => bad = true,
                }
            }
            Ok(_) => bad = true,
        }
    }
    if found.user.is_none() {
        found.user = to_string(opts.username);
    }
    let wants_help = args.iter().any(|a| matches!(a.to_bytes(), b"-?" | b"--help"));
    if bad || opts.errors != 0 || wants_help {
        // SAFETY: pmdaUsageMessage(3) prints the table that opts points to, which is still alive.
        unsafe { sys::pmdaUsageMessage(&raw mut opts) };
        return Err(i32::from(!wants_help));
    }
    Ok(found)
}
