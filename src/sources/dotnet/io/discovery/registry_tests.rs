use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::model::{Memory, Purpose};
use crate::sources::dotnet::wire::ipc::Advertise;

struct World {
    registry: Registry,
    found: Arc<Mutex<Vec<Found>>>,
}

fn world() -> World {
    let found = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&found);
    let host = Host::new("/proc".into());
    let on_found = Box::new(move |new| all.lock().expect("a lock").push(new));
    let charge = Charge::new(Arc::new(Memory::default()), Purpose::Definitions);
    let stop = CancellationToken::new();
    let mut registry =
        Registry::new(&host, watch::channel(Arc::default()).1, on_found, charge, stop);
    registry.configure(&Config::default());
    World { registry, found }
}

impl World {
    fn found(&self) -> Vec<Found> {
        self.found.lock().expect("a lock").clone()
    }

    /// A process connects; returns its end.
    fn arrives(&mut self, pid: u32, start: u64, cookie: u8) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let advertise = Advertise { cookie: [cookie; 16], pid: 1 };
        let arrival = Arrival { stream: ours, advertise, pid, uid: 0 };
        self.registry.arrived(arrival, target(pid, start), Program::new(b"app", None));
        theirs
    }

    /// A look has shown this.
    fn finds(&mut self, target: Target, access: Access) {
        let program = Program::new(target.name.as_bytes(), None);
        self.reports(target.pid, Report { target: Some(target), ..report(program, access) });
    }

    fn reports(&mut self, pid: u32, report: Report) {
        self.registry.report(Taken { found: [(pid, report)].into(), alive: None, full: false });
    }

    /// These are left.
    fn alive(&mut self, alive: &[(u32, u64)]) {
        let alive = Some(alive.iter().copied().collect());
        self.registry.report(Taken { found: HashMap::new(), alive, full: false });
    }
}

fn report(program: Program, access: Access) -> Report {
    Report { target: None, again: false, over: false, program, access }
}

fn target(pid: u32, start: u64) -> Target {
    Target {
        pid,
        start,
        started: None,
        container_pid: 1,
        container: None,
        uid: 0,
        owner: "root".to_owned(),
        name: "app".to_owned(),
        command: String::new(),
        key: start.to_string(),
    }
}

fn denied() -> Access {
    Access::Denied(Arc::from("no"))
}

const SOCKET: Access = Access::Open(Via::Socket);
const PORT: Access = Access::Open(Via::Port);

#[tokio::test]
async fn a_process_that_is_not_wanted_is_no_instance_and_takes_no_place() {
    let mut world = world();
    let wants = |world: &mut World, pattern: &str| {
        let config = Config { processes: vec![pattern.to_owned()], ..Config::default() };
        let mut again = world.registry.configure(&config);
        again.sort_unstable();
        again
    };
    wants(&mut world, "other*");
    for pid in 1..=4 {
        world.finds(target(pid, 10), denied());
    }
    // It executes another program.
    let again = Report { again: true, target: Some(target(1, 10)), ..report(program("a"), SOCKET) };
    world.reports(1, again);
    world.reports(1, report(program("a"), SOCKET));
    world.alive(&[(1, 10), (3, 10), (4, 10)]);
    // The id of the third is used again.
    world.finds(target(3, 11), denied());
    assert!(world.found().is_empty() && world.registry.live.is_empty());
    assert_eq!(world.registry.again(), [0; 0], "there was room for them");
    world.registry.tick(Duration::ZERO);
    assert!(world.registry.charge.bytes() >= 3 * size_of::<(u32, (u64, bool))>());
    assert_eq!(wants(&mut world, "ap*"), [1, 3, 4]);
    world.finds(target(1, 10), SOCKET);
    world.finds(target(3, 11), SOCKET);
    let found = world.found();
    let all = found.iter().map(|f| (f.target.pid, f.target.start, f.again));
    assert_eq!(all.collect::<Vec<_>>(), [(1, 10, true), (3, 11, false)]);
    // One that executes a program that is wanted.
    assert_eq!(wants(&mut world, "other"), [4]);
    world.finds(Target { name: "other".to_owned(), ..target(4, 10) }, SOCKET);
    assert_eq!((world.found().len(), world.registry.left_out.len()), (3, 0));
}

fn program(command: &str) -> Program {
    Program::new(command.as_bytes(), None)
}

#[tokio::test]
async fn a_process_is_one_however_it_was_found() {
    let mut world = world();
    world.finds(target(5, 50), denied());
    let found = world.found();
    assert_eq!(*found[0].access.borrow(), denied());
    assert_eq!(found[0].connect().await.err().map(|e| e.to_string()).as_deref(), Some("no"));
    let mut theirs = world.arrives(5, 50, 1);
    assert_eq!((world.found().len(), found[0].access.borrow().clone()), (1, PORT));
    let mut ours = found[0].connect().await.expect("the connection");
    ours.write_all(b"x").await.expect("sent");
    assert_eq!(theirs.read_u8().await.expect("a byte"), b'x');
    // The next one comes when this one is used.
    let waiting = tokio::spawn({
        let found = found[0].clone();
        async move { found.connect().await.is_ok() }
    });
    let _next = world.arrives(5, 50, 1);
    assert!(waiting.await.expect("done"));
    assert!(!found[0].gone.is_cancelled());
    world.alive(&[]);
    assert!(found[0].gone.is_cancelled());
}

#[tokio::test]
async fn an_id_that_is_used_again_is_another_process() {
    let mut world = world();
    let _first = world.arrives(5, 50, 1);
    let _second = world.arrives(5, 51, 2);
    world.finds(target(5, 52), SOCKET);
    let gone: Vec<_> = world.found().iter().map(|found| found.gone.is_cancelled()).collect();
    assert_eq!(gone, [true, true, false]);
}

#[tokio::test]
async fn processes_that_are_not_to_be_seen_differ_by_their_cookies() {
    let mut world = world();
    let _ends = [world.arrives(0, 0, 1), world.arrives(0, 0, 2), world.arrives(0, 0, 1)];
    assert_eq!(world.found().len(), 2);
    // A process has at most two idle connections.
    let _more: Vec<_> = (0..20).map(|_| world.arrives(0, 0, 1)).collect();
    assert_eq!(world.found().len(), 2);
}

#[tokio::test]
async fn closed_connections_are_not_handed_out() {
    let mut world = world();
    drop(world.arrives(0, 0, 1));
    tokio::task::yield_now().await;
    let found = world.found();
    let error = found[0].connect().await.expect_err("no connection");
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_process_too_many_need_not_wait_for_us() {
    let mut world = world();
    for pid in 1..=u32::try_from(limits::PROCESSES).expect("a number") {
        world.finds(target(pid, 50), SOCKET);
    }
    let mut theirs = world.arrives(1_000_000, 50, 1);
    let mut resume = Vec::new();
    theirs.read_to_end(&mut resume).await.expect("a request and the end");
    assert_eq!(resume, Request::Resume.encode().expect("a request"));
    assert_eq!(world.found().len(), limits::PROCESSES);
    // It comes again by itself; one that was found is found again when there is room.
    world.finds(target(1_000_001, 50), SOCKET);
    assert_eq!(world.registry.again(), [0; 0]);
    world.registry.live.remove(&Id::Pid(7));
    assert_eq!((world.registry.again(), world.registry.again()), (vec![1_000_001], vec![]));
    world.finds(target(1_000_001, 50), SOCKET);
    assert_eq!(world.found().len(), limits::PROCESSES + 1);
}

#[tokio::test]
async fn a_process_that_the_store_has_no_room_for_is_tried_again() {
    let mut world = world();
    let mut theirs = world.arrives(5, 50, 1);
    world.finds(target(5, 50), SOCKET);
    let tries = |world: &mut World, second| {
        world.registry.tick(Duration::from_secs(second));
        world.found().len()
    };
    assert_eq!(tries(&mut world, 0), 1, "it is read");
    // Its task has ended.
    world.found.lock().expect("a lock").clear();
    assert_eq!((tries(&mut world, 2), tries(&mut world, 61)), (0, 0));
    assert_eq!((tries(&mut world, 62), tries(&mut world, 600)), (1, 1));
    let mut ours = world.found()[0].connect().await.expect("the connection");
    ours.write_all(b"x").await.expect("sent");
    assert_eq!(theirs.read_u8().await.expect("a byte"), b'x');
    world.found.lock().expect("a lock").clear();
    assert_eq!((tries(&mut world, 610), tries(&mut world, 669)), (0, 0));
    assert_eq!(tries(&mut world, 670), 1);
}

#[tokio::test]
async fn another_cookie_is_another_runtime() {
    let mut world = world();
    let mut first = world.arrives(5, 50, 1);
    let mut second = world.arrives(5, 50, 2);
    let found = world.found();
    let gone: Vec<_> = found.iter().map(|f| (f.again, f.gone.is_cancelled())).collect();
    assert_eq!(gone, [(false, true), (true, false)]);
    let mut ours = found[1].connect().await.expect("the connection");
    ours.write_all(b"x").await.expect("sent");
    assert_eq!(second.read_u8().await.expect("a byte"), b'x');
    drop(found);
    world.found.lock().expect("a lock").clear();
    assert_eq!(first.read(&mut [0]).await.expect("an end"), 0);
}

#[tokio::test]
async fn a_process_that_executes_a_program_without_a_runtime_is_none() {
    let mut world = world();
    let over = |command| Report { over: true, ..report(program(command), SOCKET) };
    world.finds(target(5, 50), SOCKET);
    world.reports(5, over("sh"));
    assert!(world.registry.live.is_empty() && world.found()[0].gone.is_cancelled());
    // One that has connected since is one all the same.
    world.finds(target(6, 50), SOCKET);
    let _theirs = world.arrives(6, 50, 1);
    world.reports(6, over("app"));
    let found = world.found();
    assert_eq!((found[1].gone.is_cancelled(), found[1].access.borrow().clone()), (false, PORT));
    world.reports(6, over("sh"));
    assert!(found[1].gone.is_cancelled());
}

#[tokio::test]
async fn a_process_that_executes_another_program_is_another() {
    let mut world = world();
    world.finds(target(5, 50), SOCKET);
    // The same is seen again, and was not to be read for a while.
    world.finds(target(5, 50), denied());
    world.finds(target(5, 50), SOCKET);
    assert_eq!((world.found().len(), world.found()[0].again), (1, false));
    let mut theirs = world.arrives(5, 50, 1);
    world.finds(Target { name: "other".to_owned(), ..target(5, 50) }, SOCKET);
    let found = world.found();
    let names: Vec<_> = found.iter().map(|f| (&*f.target.name, f.gone.is_cancelled())).collect();
    assert_eq!((names, found[1].again), (vec![("app", true), ("other", false)], true));
    // What was connected is what it executes now.
    let mut ours = found[1].connect().await.expect("the connection");
    ours.write_all(b"x").await.expect("sent");
    assert_eq!(theirs.read_u8().await.expect("a byte"), b'x');
    // One that nobody wants is none.
    world.registry.configure(&Config { processes: vec!["o*".to_owned()], ..Config::default() });
    world.finds(target(5, 50), SOCKET);
    assert!(world.registry.live.is_empty() && found[1].gone.is_cancelled());
}

#[tokio::test]
async fn what_is_connected_stays_when_nobody_looks() {
    let mut world = world();
    let _theirs = world.arrives(5, 50, 1);
    (5..=6).for_each(|pid| world.finds(target(pid, 50), SOCKET));
    let _cookie = world.arrives(0, 0, 2);
    world.registry.configure(&Config { discover: false, ..Config::default() });
    let found = world.found();
    let mut gone: Vec<_> = found.iter().map(|f| (f.target.pid, f.gone.is_cancelled())).collect();
    gone.sort_unstable();
    assert_eq!(gone, [(0, false), (5, false), (6, true)]);
    // It is not taken for one that has ended since, which only a finder tells.
    world.alive(&[(7, 70)]);
    assert_eq!(world.registry.live.len(), 2);
}
