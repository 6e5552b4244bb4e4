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
    let inside = "sources::lttng::io::control::probe_tests::inside_is_the_user_of_a_name_service";
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
