//! What a session asks of the runtime's own provider.

use super::provider::Provider;
use super::version::Version;
use crate::sources::dotnet::Config;

/// The runtime's provider.
pub(super) const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";

/// Keywords of docs/protocols/dotnet.md 5.
mod keyword {
    pub(super) const GC: u64 = 0x1;
    pub(super) const LOADER: u64 = 0x8;
    pub(super) const JIT: u64 = 0x10;
    pub(super) const CONTENTION: u64 = 0x4000;
    pub(super) const EXCEPTION: u64 = 0x8000;
    pub(super) const THREADING: u64 = 0x1_0000;
    pub(super) const COMPILATION: u64 = 0x10_0000_0000;
    pub(super) const WAIT: u64 = 0x400_0000_0000;
    pub(super) const ALLOCATION_SAMPLING: u64 = 0x800_0000_0000;
}

/// Events of collections, pauses, heaps, exceptions, locks, pool and threads that make metrics: a
/// third of what the keywords bring (docs/protocols/dotnet.md 9). 13, 85, 205 and 250 beside the
/// list there: they are as rare as collections, threads and exceptions.
const ALWAYS: [u32; 20] =
    [1, 2, 3, 4, 7, 8, 9, 13, 50, 51, 54, 55, 57, 59, 80, 81, 85, 91, 205, 250];
/// Compiled methods and the background compiler.
const METHODS: [u32; 6] = [143, 145, 281, 282, 283, 284];
/// Assemblies.
const ASSEMBLIES: [u32; 1] = [154];
/// Waits.
const WAITS: [u32; 2] = [301, 302];
/// Samples of allocations.
const SAMPLES: [u32; 1] = [303];

/// The provider's entry.
pub(super) fn runtime(config: &Config, version: Version) -> Provider {
    use keyword::{
        ALLOCATION_SAMPLING, COMPILATION, CONTENTION, EXCEPTION, GC, JIT, LOADER, THREADING, WAIT,
    };
    let records = |kind: &str| config.records.iter().any(|name| name == kind);
    let mut entry = Provider::new(RUNTIME, GC | CONTENTION | EXCEPTION | THREADING, 4);
    let mut only = ALWAYS.to_vec();
    let mut ask = |keywords: u64, level: u32, ids: &[u32]| {
        entry.keywords |= keywords;
        entry.level = entry.level.max(level);
        only.extend(ids);
    };
    if config.allocations || records("allocation") {
        // .NET 10 samples by chance and by byte, at level 4; before, there are ticks at level 5.
        if version.major >= 10 {
            ask(ALLOCATION_SAMPLING, 4, &SAMPLES);
        } else {
            ask(GC, 5, &[]);
        }
    }
    // Live on 3.1, 9 and 10: methods come at level 5 only.
    if config.jit || config.locks || config.stacks || records("method") {
        ask(JIT | COMPILATION, 5, &METHODS);
    }
    if records("assembly") {
        ask(LOADER, 4, &ASSEMBLIES);
    }
    if config.waits && version.major >= 9 {
        ask(WAIT, 5, &WAITS);
    }
    if version.major >= 10 {
        only.sort_unstable();
        entry.only = only;
    }
    entry
}
