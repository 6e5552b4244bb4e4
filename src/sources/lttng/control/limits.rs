//! Bounds on what the `lttng` program, the session daemon and users can cause.

use std::time::Duration;

/// Bytes of standard output of the `lttng` program. The longest answer lists tracepoints, with
/// about 250 bytes for each tracepoint of each process (410 in a .NET process).
pub const OUTPUT_MAX: usize = 16 << 20;
/// Bytes of standard error: one line for each refused event.
pub const STDERR_MAX: usize = 64 << 10;
/// Levels of elements in an answer; `list` has ten.
pub const DEPTH_MAX: usize = 32;
/// Sessions, channels, events, contexts, processes and different tracepoints in an answer, each.
pub const ITEMS_MAX: usize = 65_536;
/// Bytes of one text in an answer: names are up to 255, paths up to 4096.
pub const TEXT_MAX: usize = 8192;

/// Managed sessions.
pub const SESSIONS_MAX: usize = 64;
/// Bytes of a session's name; relay daemons before 2.11 cut it at 64, session daemons reject 255.
pub const NAME_MAX: usize = 200;
/// Event patterns of a session: they go onto one command line, which has 128 KiB for an argument.
pub const EVENTS_MAX: usize = 256;
/// Bytes of an event pattern (`LTTNG_SYMBOL_NAME_LEN` less its NUL).
pub const EVENT_LENGTH_MAX: usize = 255;
/// Contexts of a session.
pub const CONTEXTS_MAX: usize = 64;
/// Bytes of a filter expression.
pub const FILTER_MAX: usize = 4096;
/// Bytes of a request that a user stores.
pub const REQUEST_MAX: usize = 8192;
/// Requests in the queue.
pub const REQUESTS_MAX: usize = 64;
/// Bytes of the state file.
pub const STATE_MAX: usize = 4 << 20;

/// Time limit of a command. The slowest in practice is the first `enable-event` (it starts the
/// consumer: 0.2 s).
pub const COMMAND_TIME: Duration = Duration::from_secs(10);
/// Time limit of `stop`, `destroy` and the list of tracepoints, which wait for data in transit or
/// for every program.
pub const SLOW_COMMAND_TIME: Duration = Duration::from_secs(30);
/// Time between two comparisons of wanted and existing sessions.
pub const PERIOD: Duration = Duration::from_secs(10);
/// Pause after the first failure; each further one doubles it up to [`BACKOFF_MAX`].
pub const BACKOFF: Duration = Duration::from_secs(1);
/// Longest pause after failures.
pub const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// A session younger than this does not count as lost: the relay daemon may not list it yet.
pub const LOST_GRACE: Duration = Duration::from_secs(5);
/// Shortest time between two lists of tracepoints, which explain why no events come.
pub const PROGRAMS_PERIOD: Duration = Duration::from_secs(30);
