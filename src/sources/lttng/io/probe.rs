//! Diagnoses why no session daemon answers: the `lttng` program prints the same text for "none
//! runs" and "this user may not connect".

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pmda::process::{effective_user, group_name, user_name};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::sources::lttng::control::{Probe, Socket};

/// Longest time for a connection to a socket.
const CONNECT_TIME: Duration = Duration::from_secs(1);
/// Socket of root's session daemon.
const ROOT_SOCKET: &str = "/var/run/lttng/client-lttng-sessiond";

/// Connects to the sockets that the program connects to.
pub(super) async fn look() -> Probe {
    let user = effective_user();
    let mut paths = vec![PathBuf::from(ROOT_SOCKET)];
    if user != 0 {
        let home = std::env::var_os("LTTNG_HOME").or_else(|| std::env::var_os("HOME"));
        paths.extend(home.map(|home| Path::new(&home).join(".lttng/client-lttng-sessiond")));
    }
    let mut sockets = Vec::new();
    for path in paths {
        sockets.push((path.display().to_string(), socket(&path).await));
    }
    // A user or group without a name is shown by its number.
    Probe { user: user_name(user).unwrap_or_else(|| user.to_string()), sockets }
}

async fn socket(path: &Path) -> Socket {
    // The connection is closed at once. For the session daemon that is a client without a request.
    match timeout(CONNECT_TIME, UnixStream::connect(path)).await {
        Err(_) | Ok(Ok(_)) => Socket::Alive,
        Ok(Err(e)) if e.kind() == ErrorKind::NotFound => Socket::Absent,
        Ok(Err(e)) if e.kind() == ErrorKind::PermissionDenied => {
            let group = std::fs::metadata(path).map_or_else(
                |_| "tracing".to_owned(),
                |m| group_name(m.gid()).unwrap_or_else(|| m.gid().to_string()),
            );
            Socket::Denied(group)
        }
        Ok(Err(_)) => Socket::Dead,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a user that no file of this host has, only a source of NSS, as with LDAP.
    const NSS_USER: &str = "set -e; mkdir -p /run/userdb; mount -t tmpfs none /run/userdb
        cd /run/userdb; ln -s apmtest.user 54321.user
        echo '{\"userName\":\"apmtest\",\"uid\":54321,\"gid\":54321,\"disposition\":\"regular\"}' \
            >apmtest.user
        echo 'passwd: files systemd' >nsswitch
        mount --bind nsswitch /etc/nsswitch.conf
        exec setpriv --reuid 54321 --clear-groups \"$@\"";

    #[test]
    #[ignore = "needs root, a mount namespace, setpriv and libnss-systemd"]
    fn a_user_of_any_name_service_has_a_name() {
        let me = std::env::current_exe().expect("this program");
        let inside = "sources::lttng::io::probe::tests::inside_is_the_user_of_a_name_service";
        let output = std::process::Command::new("unshare")
            .args(["-m", "--propagation", "private", "sh", "-c", NSS_USER, "sh"])
            .arg(me)
            .args([inside, "--exact", "--ignored"])
            .output()
            .expect("unshare");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
    }

    #[tokio::test]
    #[ignore = "run by the test above"]
    async fn inside_is_the_user_of_a_name_service() {
        if effective_user() == 54321 {
            assert_eq!(look().await.user, "apmtest");
        }
    }

    #[tokio::test]
    async fn sockets_differ() {
        let folder = std::env::temp_dir().join(format!("apm-probe-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("s");
        assert_eq!(socket(&path).await, Socket::Absent);
        let listener = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
        assert_eq!(socket(&path).await, Socket::Alive);
        drop(listener);
        // A program that another test is starting inherits the socket until its exec.
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
