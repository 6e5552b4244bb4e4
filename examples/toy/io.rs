//! Listens for toys, and shows processes of this host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::config::Config;
use super::metrics::METRICS;
use super::session::Toy;
use crate::clock::now;
use crate::contract::{Identity, Peer, PeerMaker};
use crate::host::{self, Glance, Interest, Look, Named, Visit};
use crate::model::{Condition, Departure, Listening};
use crate::net::{Caller, Listen};
use crate::sources::{Context, Running};

pub(super) fn start(
    config: Config,
    Context { peers, net, host, .. }: Context,
) -> std::io::Result<Box<dyn Running<Config>>> {
    if !config.program.is_empty() {
        let finder = Finder::new(config.program.clone(), peers.maker(false));
        host.add(Arc::new(finder.clone()), None);
        let stop = net.stop().clone();
        net.spawn(async move {
            stop.cancelled().await;
            finder.0.end();
        });
    }
    if let Some(address) = config.listen {
        let factory = Arc::new(|caller: Caller| {
            Box::new(Toy::new(caller.address)) as Box<dyn crate::contract::Session>
        });
        net.listen(Listen { place: Listening::Plain(address), peers, factory, reset: false });
    }
    Ok(Box::new(RunningToy(config)))
}

/// The configuration at the start of the source.
struct RunningToy(Config);

impl Running<Config> for RunningToy {
    fn reconfigure(&self, new: &Config) -> Vec<&'static str> {
        let mut keys = Vec::new();
        keys.extend((self.0.listen != new.listen).then_some("listen"));
        keys.extend((self.0.program != new.program).then_some("program"));
        keys
    }
}

/// The eye of this source. Reports are made on a thread that may block, and no call of a peer blocks, so no
/// task is needed. A source that reads its processes has one (`host::Known` keeps what was told to it).
#[derive(Clone)]
struct Finder(Arc<Shared>);

struct Shared {
    program: String,
    maker: PeerMaker,
    /// Peers by process and its start, since ids are used again; `None`: the PMDA stops.
    shown: Mutex<Option<HashMap<(u32, u64), Peer>>>,
}

impl Finder {
    fn new(program: String, maker: PeerMaker) -> Self {
        Self(Arc::new(Shared { program, maker, shown: Mutex::new(Some(HashMap::new())) }))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<(u32, u64), Peer>>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn found(&self, pid: u32, start: u64) {
        let mut shown = self.lock();
        let Some(shown) = shown.as_mut() else { return };
        let peer = shown.entry((pid, start)).or_insert_with(|| self.maker.make());
        // It is new, or a limit has turned it away and there may be room now.
        if peer.name().is_none() {
            peer.at(now());
            peer.is(Identity {
                name: format!("{}:{pid}", self.program.replace(char::is_whitespace, "_")),
                peer: format!("process {pid}"),
                labels: vec![("pid", pid.to_string())],
                process: Some(format!("{pid}@{start}")),
                ..Identity::default()
            });
            peer.start_counters(METRICS);
            peer.condition(Condition::Unread("toys of this host are only looked at".into()));
            peer.flush();
        }
    }

    fn gone(&self, pid: u32, start: u64) {
        if let Some(mut peer) = self.lock().as_mut().and_then(|shown| shown.remove(&(pid, start))) {
            peer.at(now());
            peer.end(Departure::regular("the process has ended"));
        }
    }

    /// A peer that is dropped without an end counts as a fault of the PMDA.
    fn end(&self) {
        for mut peer in self.lock().take().into_iter().flat_map(HashMap::into_values) {
            peer.end(Departure::regular("the PMDA stopped"));
        }
    }
}

impl host::Finder for Finder {
    fn is_active(&self) -> bool {
        true
    }

    fn look(&self, glance: &Glance, _: Visit) -> Look {
        let (pid, start, shared) = (glance.pid(), glance.stat().start, Arc::clone(&self.0));
        if glance.stat().comm == self.0.program.as_bytes() {
            let report = Box::new(move || shared.found(pid, start));
            return Look { interest: Interest::Often, report: Some(report) };
        }
        // It may have been one before it executed another program.
        let report = Box::new(move || shared.gone(pid, start));
        Look { interest: Interest::Nothing, report: Some(report) }
    }

    fn gone(&self, pid: u32, start: u64) {
        self.0.gone(pid, start);
    }

    fn named(&self, _: &[u8]) -> Option<Named> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Recorded;
    use crate::host::{Finder as _, ProcFs};

    #[test]
    fn a_process_is_an_instance_while_it_runs() {
        let (proc, pid) = (ProcFs::new("/proc".into()), std::process::id());
        let glance = proc.open(pid).and_then(Glance::of).expect("this process");
        let name = String::from_utf8(glance.stat().comm.clone()).expect("a name");
        let recorded = Recorded::new(&super::super::metrics::TABLE);
        let look = |name: &str| {
            let finder = Finder::new(name.to_owned(), recorded.maker());
            let look = finder.look(&glance, Visit { number: 1, settled: false });
            look.report.expect("a report")();
            (finder, look.interest)
        };
        assert_eq!(look("another").1, Interest::Nothing);
        assert!(recorded.identity().is_none());
        let (finder, interest) = look(&name);
        assert_eq!(interest, Interest::Often);
        assert!(recorded.log().shown.contains(&format!("{name}:{pid}")));
        finder.gone(pid, glance.stat().start);
        assert_eq!(recorded.log().ended, [Departure::regular("the process has ended")]);
    }
}
