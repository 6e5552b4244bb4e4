//! The driver with a script in place of `lttng`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::*;
use crate::sources::lttng::control::{Exit, Invocation, Reply, SessionPhase, Step, Verb};
use crate::sources::lttng::limits::{OUTPUT_MAX, STDERR_MAX};

/// A folder with a script called `lttng`; removed when dropped.
struct Lab(PathBuf);

impl Lab {
    fn new(name: &str, script: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("apm-lttng-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let lab = Self(folder);
        // Written by another process: if another thread forks while this process has the file open
        // for writing, the script cannot be run.
        let text = format!("#!/bin/sh\ncd \"$(dirname \"$0\")\" || exit 9\n{script}\n");
        let mut writer = std::process::Command::new("sh");
        writer
            .args(["-c", "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"", "sh"])
            .arg(lab.program())
            .arg(text);
        assert!(writer.status().expect("sh").success());
        lab
    }

    fn program(&self) -> PathBuf {
        self.0.join("lttng")
    }

    fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    /// Content of a file that the script has written.
    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap_or_default()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn run_for(lab: &Lab, limit: Duration) -> Reply {
    run(lab.program(), Invocation { limit, ..Invocation::list() }).await
}

#[tokio::test]
async fn a_program_that_answers() {
    let lab = Lab::new(
        "answers",
        "echo \"$*\"; echo \"$LC_ALL ${LTTNG_HOME-none}\"; echo err >&2; cat; exit 55",
    );
    let reply = run_for(&lab, Duration::from_secs(10)).await;
    assert_eq!((reply.exit, reply.stderr.as_str()), (Exit::Code(55), "err\n"));
    let home = std::env::var("LTTNG_HOME").unwrap_or_else(|_| "none".into());
    assert_eq!(
        String::from_utf8_lossy(&reply.stdout),
        format!("--no-sessiond --mi xml list\nC {home}\n")
    );
}

#[tokio::test]
async fn a_program_that_hangs_is_killed() {
    let lab = Lab::new("hangs", "echo $$ >pid; echo some; exec sleep 1000");
    let start = Instant::now();
    let reply = run_for(&lab, Duration::from_millis(500)).await;
    assert_eq!((reply.exit, reply.stdout.as_slice()), (Exit::TimedOut, &b"some\n"[..]));
    assert!(start.elapsed() < Duration::from_secs(60));
    let pid = lab.read("pid");
    assert!(!pid.is_empty() && !Path::new("/proc").join(pid.trim()).exists(), "it is still there");
}

#[tokio::test]
async fn a_child_that_holds_the_pipes_does_not_hold_us() {
    let lab = Lab::new("child", "sleep 100 & exit 0");
    let start = Instant::now();
    assert_eq!(run_for(&lab, Duration::from_millis(500)).await.exit, Exit::TimedOut);
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn output_is_bounded() {
    let lab = Lab::new("huge", "exec yes '<session>'");
    let reply = run_for(&lab, Duration::from_secs(60)).await;
    assert_eq!((reply.exit, reply.stdout.len()), (Exit::TooMuch, OUTPUT_MAX));
    let lab = Lab::new("complains", "yes error | head -c 1000000 >&2; exit 3");
    let reply = run_for(&lab, Duration::from_secs(60)).await;
    assert_eq!(reply.exit, Exit::Code(3));
    assert!(reply.stderr.len() <= STDERR_MAX);
}

#[tokio::test]
async fn other_ends() {
    let lab = Lab::new("signal", "kill -13 $$");
    assert_eq!(run_for(&lab, Duration::from_secs(10)).await.exit, Exit::Signal(13));
    let nowhere = run("/nonexistent/lttng".into(), Invocation::list()).await;
    assert_eq!(nowhere.exit, Exit::NotInstalled);
    std::fs::set_permissions(lab.program(), std::fs::Permissions::from_mode(0o644))
        .expect("a mode");
    assert!(matches!(run_for(&lab, Duration::from_secs(10)).await.exit, Exit::NotStarted(_)));
    let garbage = Lab::new("garbage", "head -c 5000 /dev/urandom");
    let reply = run_for(&garbage, Duration::from_secs(10)).await;
    assert!(reply.judge(&Step::List).is_err());
}

#[test]
fn the_state_file_is_whole_or_the_old_one() {
    let lab = Lab::new("state", "");
    let text = crate::sources::lttng::control::State::default().text();
    assert!(saved(&lab.state()).expect("none is an empty one").sessions.is_empty());
    state_file::write(&lab.state(), &text).expect("written");
    state_file::write(&lab.state(), &text).expect("written again");
    assert_eq!(lab.read("state"), text);
    assert_eq!(std::fs::metadata(lab.state()).expect("there").permissions().mode() & 0o777, 0o600);
    std::fs::write(lab.state(), "{").expect("damaged");
    assert!(saved(&lab.state()).is_err());
    std::fs::write(lab.state(), [0xff]).expect("damaged");
    assert!(saved(&lab.state()).is_err());
    assert!(state_file::write(&lab.0.join("no/such"), &text).is_err());
}

/// A session daemon in a shell script: one session, kept in a file.
const DAEMON: &str = r#"
echo "$*" >>log
shift 3
begin='<command><name>x</name><output>' end='</output><success>true</success></command>'
case $1 in
version) echo "$begin<version><string>2.13.9</string></version>$end" ;;
list)
    [ -e hang ] && exec sleep 1000
    [ $# = 2 ] && { echo "$begin<domains><domain><pids/></domain></domains>$end"; exit; }
    s=; [ -e session ] && . ./session && s="<session><name>$name</name><path>$path</path><enabled>$enabled</enabled><live_timer_interval>1000000</live_timer_interval></session>"
    echo "$begin<sessions>$s</sessions>$end" ;;
create) echo "name=$2 path='tcp4://127.0.0.1:5342/${4##*/} [data: 5343]' enabled=false" >session
    echo "$begin<session><name>$2</name></session>$end" ;;
start) sed -i s/false/true/ session; echo "$begin$end" ;;
stop) sed -i s/true/false/ session; echo "$begin$end" ;;
destroy) rm session; echo "$begin$end" ;;
*) echo "$begin$end" ;;
esac"#;

fn start(
    lab: &Lab,
    sessions: Vec<SessionSpec>,
) -> (SessionControl, CancellationToken, TaskTracker, watch::Receiver<Vec<Report>>) {
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let options = ControlOptions { program: lab.program(), state_file: lab.state(), sessions };
    let control_queue = Arc::default();
    let control =
        SessionControl::start(&Handle::current(), &tasks, stop.clone(), options, control_queue);
    let reports = control.reports();
    (control, stop, tasks, reports)
}

async fn until(reports: &mut watch::Receiver<Vec<Report>>, what: impl FnMut(&Vec<Report>) -> bool) {
    let waited = timeout(Duration::from_secs(30), reports.wait_for(what)).await;
    if !matches!(waited, Ok(Ok(_))) {
        drop(waited);
        panic!("{:?}", reports.borrow());
    }
}

fn answered(
    control: &SessionControl,
    verb: Verb,
    text: &str,
) -> tokio::sync::oneshot::Receiver<Result<String, String>> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let command = Command::parse(verb, text).expect(text);
    control.request(command, Box::new(move |result| drop(sender.send(result))));
    receiver
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_the_configuration_to_a_recording_session_and_requests() {
    let lab = Lab::new("daemon", DAEMON);
    let spec = SessionSpec { events: vec!["demo:*".into()], ..SessionSpec::new("s1") };
    let (control, stop, tasks, mut reports) = start(&lab, vec![spec.clone()]);
    until(&mut reports, |r| {
        r.iter().any(|r| r.phase == SessionPhase::Active && r.diagnosis.code == Code::NoApplication)
    })
    .await;
    assert!(lab.read("state").contains("s1-apm-"));
    let done = answered(&control, Verb::Stop, "s1").await.expect("an answer");
    assert_eq!(done, Ok("done: session s1 is stopped".into()));
    let no = answered(&control, Verb::Start, "s2").await.expect("an answer");
    assert!(no.expect_err("unknown").contains("there are: s1"));
    stop.cancel();
    tasks.close();
    timeout(Duration::from_secs(5), tasks.wait()).await.expect("it ends");
    let no = answered(&control, Verb::Start, "s1").await.expect("an answer");
    assert!(no.is_err());
    // Another run knows that the session is ours, and stopped.
    let commands = lab.read("log").lines().count();
    let (control, _stop, _tasks, mut reports) = start(&lab, vec![spec]);
    until(&mut reports, |r| {
        r.iter().any(|r| r.phase == SessionPhase::Stopped && r.diagnosis.code == Code::Stopped)
    })
    .await;
    assert_eq!(
        lab.read("log").lines().count(),
        commands + 2,
        "version and list only: {}",
        lab.read("log")
    );
    assert!(control.configure(vec![]));
    until(&mut reports, Vec::is_empty).await;
    assert!(!lab.0.join("session").exists() && lab.read("log").ends_with("destroy s1 --no-wait\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hanging_program_keeps_nobody_waiting() {
    let lab = Lab::new("busy", DAEMON);
    std::fs::write(lab.0.join("hang"), "").expect("a file");
    let (control, stop, tasks, _reports) =
        start(&lab, vec![SessionSpec { events: vec!["a".into()], ..SessionSpec::new("s1") }]);
    while !lab.read("log").contains("xml list") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // A request that needs no command is answered although a command hangs.
    let no = timeout(Duration::from_secs(2), answered(&control, Verb::Start, "s2"))
        .await
        .expect("soon")
        .expect("an answer");
    assert!(no.is_err());
    stop.cancel();
    tasks.close();
    timeout(Duration::from_secs(2), tasks.wait())
        .await
        .expect("it ends although the program hangs");
}
