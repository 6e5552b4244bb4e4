use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{Receiver, channel};

use super::*;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("apm-port-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

fn start(path: &Path) -> (Receiver<Arrival>, CancellationToken) {
    let (sender, receiver) = channel(4);
    let stop = CancellationToken::new();
    tokio::spawn(run(path.to_owned(), sender, stop.clone()));
    (receiver, stop)
}

async fn connect(path: &Path) -> UnixStream {
    for _ in 0..500 {
        if let Ok(stream) = UnixStream::connect(path).await {
            return stream;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("nobody listens on {}", path.display())
}

fn message() -> [u8; ADVERTISE] {
    let mut message = [0; ADVERTISE];
    message[..8].copy_from_slice(b"ADVR_V1\0");
    message[24] = 77;
    message
}

#[tokio::test]
async fn identity_comes_from_the_kernel() {
    let folder = folder("identity");
    let path = folder.join("made/s");
    let (mut arrivals, stop) = start(&path);
    let mut stream = connect(&path).await;
    let mode = std::fs::metadata(&path).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, MODE);
    // Byte by byte, and beside it one that says something else.
    let mut other = connect(&path).await;
    other.write_all(&[b'x'; ADVERTISE]).await.expect("sent");
    for byte in message() {
        stream.write_all(&[byte]).await.expect("sent");
        tokio::task::yield_now().await;
    }
    let arrival = arrivals.recv().await.expect("an arrival");
    assert_eq!((arrival.pid, arrival.advertise.pid), (std::process::id(), 77));
    assert_eq!(arrival.uid, rustix::process::getuid().as_raw());
    assert_eq!(other.read(&mut [0; 1]).await.expect("an end"), 0);
    stop.cancel();
    while path.exists() {
        sleep(Duration::from_millis(10)).await;
    }
    std::fs::remove_dir_all(&folder).expect("gone");
}

#[tokio::test]
async fn a_live_socket_is_left_alone_and_a_dead_one_replaced() {
    let folder = folder("dead");
    let path = folder.join("s");
    let live = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
    let refused = Bound::new(&path).await.err().expect("refused");
    assert_eq!(refused.to_string(), "another program listens there");
    drop(live);
    // A program that another test is starting inherits the socket until its exec.
    for _ in 0..500 {
        if Bound::new(&path).await.is_ok() {
            break;
        }
        sleep(Duration::from_millis(10)).await;
    }
    assert!(!path.exists());
    let bound = Bound::new(&path).await.expect("bound");
    // What is another's by now stays.
    std::fs::remove_file(&path).expect("gone");
    std::fs::write(&path, "").expect("a file");
    drop(bound);
    assert!(path.exists());
    let refused = Bound::new(&path).await.err().expect("refused");
    assert_eq!(refused.to_string(), "there is another file, not a socket");
    std::fs::remove_dir_all(&folder).expect("gone");
}

#[tokio::test]
async fn silent_connections_are_bounded() {
    let folder = folder("silent");
    let path = folder.join("s");
    let (mut arrivals, stop) = start(&path);
    let mut silent = Vec::new();
    for _ in 0..limits::ARRIVING_USER {
        silent.push(connect(&path).await);
    }
    let mut refused = connect(&path).await;
    let _ = refused.write_all(&message()).await;
    // Closed with or without unread bytes.
    assert!(matches!(refused.read(&mut [0; 1]).await, Ok(0) | Err(_)));
    drop(silent.pop());
    for _ in 0..500 {
        let mut stream = connect(&path).await;
        let _ = stream.write_all(&message()).await;
        if timeout(Duration::from_millis(20), arrivals.recv()).await.is_ok() {
            stop.cancel();
            std::fs::remove_dir_all(&folder).expect("gone");
            return;
        }
    }
    panic!("no place became free");
}
