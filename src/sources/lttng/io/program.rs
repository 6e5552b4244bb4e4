//! One run of the `lttng` program.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::sources::lttng::control::limits::{OUTPUT_MAX, STDERR_MAX};
use crate::sources::lttng::control::{Exit, Invocation, Reply};

/// Bytes of one read.
const READ: usize = 16 << 10;
/// Time limit of waiting for a killed program; after it the runtime reaps the process.
const KILL_TIME: Duration = Duration::from_secs(1);

/// Runs a command within its time limit. Dropping the future kills the process. It inherits the
/// environment, `LTTNG_HOME` included.
pub(super) async fn run(program: &Path, invocation: &Invocation) -> Reply {
    let spawned = Command::new(program)
        .args(&invocation.args)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let failed = |exit| Reply { exit, stdout: Vec::new(), stderr: String::new() };
    let mut child = match spawned {
        Ok(child) => child,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return failed(Exit::NotInstalled),
        Err(e) => return failed(Exit::NotStarted(e.to_string())),
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let ended = timeout(invocation.limit, converse(&mut child, &mut stdout, &mut stderr)).await;
    let exit = match ended {
        Ok(Ok(status)) => exit(status),
        Ok(Err(Cut::TooMuch)) => Exit::TooMuch,
        Ok(Err(Cut::Io(e))) => Exit::NotStarted(e.to_string()),
        Err(_) => Exit::TimedOut,
    };
    if matches!(exit, Exit::TooMuch | Exit::TimedOut) {
        // Children of the program may keep the pipes open, so these are not read to their ends.
        let _ = timeout(KILL_TIME, child.kill()).await;
    }
    Reply { exit, stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() }
}

/// Why the output was not read to its end.
enum Cut {
    /// More standard output than the limit.
    TooMuch,
    Io(std::io::Error),
}

impl From<std::io::Error> for Cut {
    fn from(e: std::io::Error) -> Self {
        Self::Io(e)
    }
}

/// Reads both outputs to their ends.
async fn converse(
    child: &mut Child,
    stdout: &mut Vec<u8>,
    stderr: &mut Vec<u8>,
) -> Result<ExitStatus, Cut> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    tokio::try_join!(
        async {
            if keep(out, stdout, OUTPUT_MAX, false).await? { Ok(()) } else { Err(Cut::TooMuch) }
        },
        async { Ok(keep(err, stderr, STDERR_MAX, true).await?) },
    )?;
    Ok(child.wait().await?)
}

/// Reads up to `max` bytes. `false`: there are more; with `drain` they are read and dropped,
/// otherwise reading ends.
async fn keep(
    source: Option<impl AsyncRead + Unpin>,
    kept: &mut Vec<u8>,
    max: usize,
    drain: bool,
) -> std::io::Result<bool> {
    let Some(mut source) = source else { return Ok(true) };
    let (mut buffer, mut whole) = (vec![0; READ], true);
    loop {
        let n = source.read(&mut buffer).await?;
        if n == 0 {
            return Ok(whole);
        }
        let room = max - kept.len();
        kept.extend_from_slice(buffer.get(..n.min(room)).unwrap_or_default());
        whole &= n <= room;
        if !whole && !drain {
            return Ok(false);
        }
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(0)),
    }
}
