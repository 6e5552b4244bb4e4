//! Compiled methods.

use super::occurrence::{At, Occurrence};
use super::system::Deferred;
use crate::contract::{Counters, Peer};
use crate::runtimes::{Layout, Open, Rows};
use crate::sources::dotnet::clr::{Decoded, tier};
use crate::sources::dotnet::metrics as m;

/// Flag of methods that were compiled, not loaded.
const JITTED: u32 = 8;

const LAYOUT: Layout<1> = Layout { table: m::TIERS, items: [m::JIT_TIER], label: "tier" };

/// A method that is being compiled.
#[derive(Clone, Copy, Debug)]
struct Started {
    at: u64,
    il_bytes: u32,
}

/// Compiled methods of one process.
#[derive(Debug)]
pub(super) struct Jit {
    /// By thread and method.
    open: Open<(u64, u64), Started>,
    tiers: Rows<1>,
}

impl Default for Jit {
    fn default() -> Self {
        Self { open: Open::default(), tiers: Rows::new(LAYOUT) }
    }
}

impl Jit {
    /// The compilation of a method begins.
    pub(super) fn begin(
        &mut self,
        at: &At<'_>,
        method: u64,
        il_bytes: u32,
        deferred: &mut Deferred,
    ) {
        deferred.il_bytes += u64::from(il_bytes);
        self.open.begin((at.capture_thread, method), Started { at: at.time, il_bytes });
    }

    /// A method was loaded.
    pub(super) fn end<'a>(
        &mut self,
        owner: &str,
        at: &At<'_>,
        loaded: &Decoded<'a>,
        figures: &mut Counters,
        deferred: &mut Deferred,
        peer: &mut Peer,
    ) -> Option<Occurrence<'a>> {
        let Decoded::MethodLoad { method, size, flags, namespace, name, signature, .. } = *loaded
        else {
            return None;
        };
        let started = self.open.end(&(at.capture_thread, method));
        if flags & JITTED == 0 {
            return None;
        }
        figures.add(m::JIT_CODE, size.into());
        deferred.methods += 1;
        let duration = started.map(|started| at.time.saturating_sub(started.at));
        deferred.jit_time += duration.unwrap_or_default();
        let hash = u64::from(flags >> 7 & 7);
        self.tiers.add(owner, hash, [1], peer, |key| key.push_str(tier(flags)));
        let il_bytes = started.map(|started| started.il_bytes);
        Some(Occurrence::Method { namespace, name, signature, il_bytes, duration, flags })
    }

    /// Another stream begins.
    pub(super) fn reset(&mut self) {
        self.open = Open::default();
    }

    /// Reports the sums since the last report.
    pub(super) fn report(&mut self, peer: &mut Peer) {
        self.tiers.report(peer);
    }

    /// Frees what an idle process does not need.
    pub(super) fn clear(&mut self, peer: &mut Peer) {
        self.open.shrink();
        self.tiers.clear(peer);
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.open.memory() + self.tiers.memory()
    }
}
