//! Peers: attach, detach, restore and forget.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Change, Store, Table};
use crate::catalogue::{AgentCell, Stat};
use crate::contract::Identity;
use crate::model::{Departure, Manner, Now, SourceId, TableId};
use crate::store::peer::{Beside, HOST, Liveness, Origin, Peer, RequestQueue};

/// Time after the start in which peers connect that were there before: agents try again each few
/// seconds.
const EARLY: Duration = Duration::from_secs(5);

impl Store {
    /// Attaches a connection to the peer of its name. If another connected, live peer has the name,
    /// the newcomer's name gets a number appended. `None` when `limits.instances` is reached with
    /// all peers connected; this is counted.
    pub fn attach(
        &self,
        source: SourceId,
        id: &Identity,
        requests: &Arc<RequestQueue>,
        now: Now,
    ) -> Option<Arc<Peer>> {
        let limits = self.limits();
        let mut table = self.table(source)?;
        let mut name = id.name.clone();
        let mut n = 1;
        let another = |p: &Arc<Peer>| {
            let same_process =
                id.process.as_ref().is_some_and(|process| p.process().as_ref() == Some(process));
            !same_process && p.liveness.up() && p.liveness.fresh(now.monotonic, Duration::ZERO)
        };
        while table.peers.get(&name).is_some_and(another) {
            n += 1;
            name = format!("{}#{n}", id.name);
        }
        let peer = match table.peers.get(&name) {
            Some(peer) => Arc::clone(peer),
            None => {
                if table.peers.len() >= limits.instances && !self.evict(&mut table, now.monotonic) {
                    self.stats.add(Stat::InstancesRejected, 1);
                    return None;
                }
                let liveness = Liveness::absent(now.monotonic, Duration::ZERO);
                let origin = match now.monotonic < EARLY {
                    true => Origin::Early,
                    false => Origin::New,
                };
                self.join(&mut table, Peer::new(&self.catalogue, source, name, origin, liveness))
            }
        };
        self.comings.fetch_add(1, Ordering::Relaxed);
        let beside = peer.beside(id.process.as_ref(), id.way);
        // Still under the lock, so that an eviction or a sweep sees a connected peer.
        peer.liveness.attach(&mut table.turn, now.monotonic);
        if !id.resumes {
            peer.forget_values();
        }
        let host = id.host.iter().map(|host| (HOST, host.clone()));
        peer.introduce(id.peer.clone(), id.labels.iter().cloned().chain(host).collect(), beside);
        let before = peer.set_process(id.process.clone());
        let is_another = before.is_some() && before != id.process;
        if is_another && beside == Beside::Alone {
            let of_source = self.catalogue.source(source).map_or(&[][..], |source| source.metrics);
            peer.forget_present(of_source);
        }
        let awaited = id.ends.is_some() && self.has_twins(source);
        peer.came(id.ends.as_deref().copied(), awaited, is_another);
        if let Some(item) = self.catalogue.source(source).and_then(|s| s.restarts) {
            peer.cells.add(item.get(), is_another.into());
        }
        peer.set_requests(id.way, beside == Beside::Alone, requests);
        peer.agent.set(AgentCell::Up as u16, 1);
        peer.attached(now);
        peer.count(AgentCell::Connects, 1);
        peer.agent.set(AgentCell::ConnectTime as u16, now.wall.as_millis().cast_unsigned());
        Some(peer)
    }

    /// Restores a peer of an earlier run: not connected for the time `gone`. `None` when
    /// `limits.instances` is reached.
    pub fn restore_peer(
        &self,
        source: SourceId,
        name: &str,
        now: Duration,
        gone: Duration,
    ) -> Option<Arc<Peer>> {
        let limits = self.limits();
        let mut table = self.table(source)?;
        if table.peers.contains_key(name) || table.peers.len() >= limits.instances {
            return None;
        }
        Some(self.join(
            &mut table,
            Peer::new(
                &self.catalogue,
                source,
                name.to_owned(),
                Origin::Restored,
                Liveness::absent(now, gone),
            ),
        ))
    }

    /// A number that changes with every attach and detach, and so with the times of leaving.
    #[must_use]
    pub fn comings(&self) -> u64 {
        self.comings.load(Ordering::Relaxed)
    }

    pub(super) fn join(&self, table: &mut Table, peer: Peer) -> Arc<Peer> {
        let peer = Arc::new(peer);
        table.peers.insert(peer.name.clone(), Arc::clone(&peer));
        self.stats.add(Stat::InstancesRegistered, 1);
        self.queue(Change::Join(Arc::clone(&peer)));
        peer
    }

    /// Detaches a connection, which ended so.
    pub fn detach(
        &self,
        peer: &Peer,
        requests: &Arc<RequestQueue>,
        departure: Departure,
        now: Now,
    ) {
        let Some(mut table) = self.table(peer.source) else { return };
        self.comings.fetch_add(1, Ordering::Relaxed);
        peer.clear_requests(requests);
        peer.liveness.detach(&mut table.turn, now.monotonic);
        if !peer.liveness.up() {
            peer.agent.set(AgentCell::Up as u16, 0);
            peer.count(AgentCell::Lost, u64::from(departure.manner == Manner::Lost));
            peer.departed(departure, now);
            self.end_memberships(&mut table, peer, now.monotonic);
        }
    }

    /// Forgets the peer that has been disconnected longest; `false` if all are connected.
    pub(super) fn evict(&self, table: &mut Table, now: Duration) -> bool {
        let gone = table.peers.values().filter_map(|p| Some((p.liveness.gone_for(now)?, p)));
        let longest = gone.max_by(|(a, p), (b, q)| a.cmp(b).then_with(|| p.name.cmp(&q.name)));
        let Some(name) = longest.map(|(_, p)| p.name.clone()) else { return false };
        self.leave(table, &name);
        true
    }

    pub(super) fn leave(&self, table: &mut Table, name: &str) {
        if let Some(peer) = table.peers.remove(name) {
            self.stats.sub(Stat::InstancesRegistered, 1);
            peer.forget();
            for n in (0..).take(self.rows.get(peer.source.index()).map_or(0, Vec::len)) {
                self.forget_rows(&peer, TableId::new(n));
            }
            self.queue(Change::Leave(peer));
        }
    }
}
