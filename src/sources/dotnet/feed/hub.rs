//! The processes of all traces.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::process::Fed;
use crate::contract::PeerMaker;
use crate::model::Now;
use crate::sources::dotnet::{Config, clr, limits};
use crate::sources::foreign::{ForeignEvent, ForeignFeed, ForeignReader};

/// The provider of the runtime's events in traces.
pub const PROVIDER: &str = "DotNETRuntime";

/// Reads the runtime's events of all traces.
pub struct Hub {
    maker: PeerMaker,
    /// Name of this host.
    host: Box<str>,
    inner: Mutex<Inner>,
}

struct Inner {
    config: Arc<Config>,
    processes: HashMap<(Arc<str>, u64), Fed>,
    /// Processes of this host that are read otherwise, by their own process ids.
    streamed: HashMap<u64, u32>,
    feeds: u64,
    /// Events without a process, or of processes beyond the limit.
    unattributed: u64,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Hub {
    /// A hub without processes. `host`: the name of this host.
    #[must_use]
    pub fn new(config: Arc<Config>, host: &str, maker: PeerMaker) -> Arc<Self> {
        let inner = Inner {
            config,
            processes: HashMap::new(),
            streamed: HashMap::new(),
            feeds: 0,
            unattributed: 0,
        };
        Arc::new(Self { maker, host: host.into(), inner: Mutex::new(inner) })
    }

    /// The provider's reader of events.
    #[must_use]
    pub fn reader(self: &Arc<Self>) -> Arc<dyn ForeignReader> {
        Arc::new(Reader(Arc::clone(self)))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Processes that begin from now on have these settings.
    pub fn configure(&self, config: Arc<Config>) {
        self.lock().config = config;
    }

    /// A process of this host, by its own process id, is read otherwise: it is not fed until the
    /// value is dropped.
    #[must_use]
    pub fn streamed(this: &Arc<Self>, process: u64) -> Streamed {
        let mut inner = this.lock();
        *inner.streamed.entry(process).or_default() += 1;
        if let Some(fed) = inner.processes.remove(&(Arc::from(&*this.host), process)) {
            fed.end("it is read otherwise now");
        }
        drop(inner);
        Streamed { hub: Arc::clone(this), process }
    }

    /// A second has passed: events that have waited long enough are counted.
    pub fn tick(&self, now: Now) {
        for fed in self.lock().processes.values_mut() {
            fed.tick(now);
        }
    }

    /// Processes that are fed.
    #[must_use]
    pub fn processes(&self) -> usize {
        self.lock().processes.len()
    }

    /// Events that belong to no known process.
    #[must_use]
    pub fn unattributed(&self) -> u64 {
        self.lock().unattributed
    }

    fn event(&self, feed: u64, host: &Arc<str>, now: Now, event: &ForeignEvent<'_>) {
        let mut inner = self.lock();
        let Some(process) = event.process else {
            inner.unattributed += 1;
            return;
        };
        if **host == *self.host && inner.streamed.contains_key(&process) {
            return;
        }
        let Inner { processes, config, unattributed, .. } = &mut *inner;
        let room = processes.len() < limits::FED;
        let fed = match processes.entry((Arc::clone(host), process)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) if room => {
                entry.insert(Fed::new(host, process, config, self.maker.make(), now))
            }
            Entry::Vacant(_) => {
                *unattributed += 1;
                return;
            }
        };
        fed.event(feed, now, event);
    }

    /// A trace has ended: processes without another one end with it.
    fn close(&self, feed: u64) {
        let mut inner = self.lock();
        let ended: Vec<_> = inner
            .processes
            .iter_mut()
            .filter_map(|(key, fed)| fed.leave(feed).then(|| key.clone()))
            .collect();
        for key in ended {
            if let Some(fed) = inner.processes.remove(&key) {
                fed.end("its trace of LTTng has ended");
            }
        }
        if inner.unattributed > 0 {
            log::info!("dotnet: {} events of traces belong to no process", inner.unattributed);
        }
    }
}

struct Reader(Arc<Hub>);

impl ForeignReader for Reader {
    fn open(&self, host: &str) -> Box<dyn ForeignFeed> {
        let mut inner = self.0.lock();
        inner.feeds += 1;
        let number = inner.feeds;
        drop(inner);
        Box::new(Feed { hub: Arc::clone(&self.0), host: host.into(), number })
    }
}

/// The events of one trace.
struct Feed {
    hub: Arc<Hub>,
    host: Arc<str>,
    number: u64,
}

/// Versions are below this; ids are above it in the number of a class.
pub(super) const VERSIONS: u32 = 256;

impl ForeignFeed for Feed {
    fn class(&mut self, name: &str) -> Option<u32> {
        let (id, version) = clr::by_lttng_name(name)?;
        (version < VERSIONS).then_some(id * VERSIONS + version)
    }

    fn event(&mut self, now: Now, event: &ForeignEvent<'_>) {
        self.hub.event(self.number, &self.host, now, event);
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.hub.close(self.number);
    }
}

/// A process that is read otherwise.
#[derive(Debug)]
pub struct Streamed {
    hub: Arc<Hub>,
    process: u64,
}

impl Drop for Streamed {
    fn drop(&mut self) {
        if let Entry::Occupied(mut entry) = self.hub.lock().streamed.entry(self.process) {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }
}
