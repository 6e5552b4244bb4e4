//! What a peer says of itself, and what is logged of it.

use std::borrow::Cow;

use super::Connection;
use crate::catalogue::{AgentCell, Stat};
use crate::contract::Identity;
use crate::model::{ControlId, visible};
use crate::store::log_throttle::LogThrottle;

impl Connection {
    pub(super) fn introduce(&mut self, mut id: Identity) {
        if let Cow::Owned(name) = visible(&id.name) {
            id.name = name;
        }
        id.labels = self.store.limits().shown_labels(id.labels.into_iter()).collect();
        let id = &id;
        self.deliver_service(true);
        self.served = None;
        // A peer that tries again and again is one line.
        let level = if self.refused || self.full { log::Level::Debug } else { log::Level::Warn };
        let refused = |limit| {
            log::log!(level, "{} from {} refused: {limit} is reached", id.name, id.peer);
        };
        self.full = !self.table.always_admitted && self.store.memory.is_full();
        if self.full {
            return refused("limits.memory");
        }
        self.peer = self.store.attach(self.source, id, &self.requests, self.now);
        self.refused = self.peer.is_none();
        match &self.peer {
            Some(peer) => {
                peer.names().take_over(std::mem::take(&mut self.names));
                log::info!("{} connected from {}", peer.agent_name(), id.peer);
                if let Some(service) = &id.service {
                    self.serve(&id.name, service);
                }
            }
            None => refused("limits.instances"),
        }
    }

    pub(super) fn message(&self) {
        self.store.stats.add(Stat::IngestMessages, 1);
        if let Some(peer) = &self.peer {
            peer.liveness.message(self.now.monotonic);
            peer.count(AgentCell::Messages, 1);
        }
    }

    pub(super) fn report_error(&mut self, what: &str) {
        self.error();
        if let Some(n) = self.throttle.allow(self.now.monotonic) {
            log::warn!("{}: {what}{}", self.name(), LogThrottle::more(n));
        }
    }

    pub(super) fn answer(&self, control: ControlId, text: &str) {
        // The text may be a long list; the metric has all of it.
        let shown: String = text.chars().take(300).collect();
        let more = if shown.len() < text.len() { "…" } else { "" };
        let name = self.table.controls.get(control.index()).map_or("", |c| c.name);
        // Who reads the log may fetch it at once.
        if let Some(peer) = &self.peer {
            peer.set_answer(control, text);
        }
        log::info!("{}: {name}: {shown}{more}", self.name());
    }

    pub(super) fn error(&self) {
        self.store.stats.add(Stat::IngestErrors, 1);
        if let Some(peer) = &self.peer {
            peer.count(AgentCell::Errors, 1);
        }
    }

    pub(super) fn name(&self) -> String {
        let peer = self.peer.as_ref();
        peer.map_or_else(|| format!("{} peer", self.table.name), |p| p.agent_name())
    }
}
