//! Why no session daemon answers: the program says the same for "none runs" and "not for this
//! user".

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::sources::lttng::control::{Probe, Socket};

/// How long a connection to a socket may take.
const CONNECT_TIME: Duration = Duration::from_secs(1);
/// The session daemon of root listens here.
const ROOT_SOCKET: &str = "/var/run/lttng/client-lttng-sessiond";

/// Tries the sockets that the program tries.
pub(super) async fn look() -> Probe {
    let user = user();
    let mut paths = vec![PathBuf::from(ROOT_SOCKET)];
    if user != 0 {
        let home = std::env::var_os("LTTNG_HOME").or_else(|| std::env::var_os("HOME"));
        paths.extend(home.map(|home| Path::new(&home).join(".lttng/client-lttng-sessiond")));
    }
    let mut sockets = Vec::new();
    for path in paths {
        sockets.push((path.display().to_string(), socket(&path).await));
    }
    Probe { user: name_of("/etc/passwd", user), sockets }
}

async fn socket(path: &Path) -> Socket {
    // The connection is closed at once; the session daemon takes that for a program that had
    // nothing to say.
    match timeout(CONNECT_TIME, UnixStream::connect(path)).await {
        Err(_) | Ok(Ok(_)) => Socket::Alive,
        Ok(Err(e)) if e.kind() == ErrorKind::NotFound => Socket::Absent,
        Ok(Err(e)) if e.kind() == ErrorKind::PermissionDenied => {
            let group = std::fs::metadata(path)
                .map_or_else(|_| "tracing".into(), |m| name_of("/etc/group", m.gid()));
            Socket::Denied(group)
        }
        Ok(Err(_)) => Socket::Dead,
    }
}

/// The user id that counts for permissions.
fn user() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ids = status.lines().find_map(|l| l.strip_prefix("Uid:")).unwrap_or_default();
    ids.split_ascii_whitespace().nth(1).and_then(|id| id.parse().ok()).unwrap_or(u32::MAX)
}

/// The name of a user or group, or its number.
fn name_of(file: &str, id: u32) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    named(&text, id).unwrap_or_else(|| id.to_string())
}

fn named(text: &str, id: u32) -> Option<String> {
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ids() {
        let text = "root:x:0:0:root:/root:/bin/sh\nbroken\npcp:x:999:995::/:/sbin/nologin\n";
        assert_eq!((named(text, 999).as_deref(), named(text, 995)), (Some("pcp"), None));
        assert_eq!(name_of("/nonexistent", 7), "7");
        assert_ne!(user(), u32::MAX);
    }

    #[tokio::test]
    async fn sockets_are_told_apart() {
        let folder = std::env::temp_dir().join(format!("apm-probe-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("s");
        assert_eq!(socket(&path).await, Socket::Absent);
        let listener = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
        assert_eq!(socket(&path).await, Socket::Alive);
        drop(listener);
        // A program that another test starts at this moment has it for as long as it takes to
        // start.
        for _ in 0..500 {
            if socket(&path).await == Socket::Dead {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(socket(&path).await, Socket::Dead);
        std::fs::remove_dir_all(&folder).expect("gone");
    }
}
