//! Payloads of the runtime's own events, which come without a list of fields
//! (docs/protocols/dotnet.md 5). One table of layouts serves EventPipe and LTTng.

mod layouts;
#[cfg(test)]
mod tests;

pub use super::Utf16;
#[cfg(test)]
pub(crate) use layouts::NAMES;
pub use layouts::{Decoded, Short, by_lttng_name, decode};

/// Provider of the runtime's events.
pub const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
/// Provider of the events at the end of a session that list methods and modules.
pub const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";

/// Decodes an event of the provider [`RUNDOWN`]: methods have the layouts of the runtime's events.
///
/// # Errors
/// The payload is shorter than its layout.
pub fn decode_rundown(
    id: u32,
    version: u32,
    pointer_size: u32,
    payload: &[u8],
) -> Result<Decoded<'_>, Short> {
    match id {
        143 | 144 => decode(143, version, pointer_size, payload),
        10 | 141 | 142 | 145..=148 | 150 | 152 | 154 | 156 | 158 | 187 | 280 | 300 => {
            Ok(Decoded::Known)
        }
        _ => Ok(Decoded::Unknown),
    }
}

// Numbers of payloads in words (docs/protocols/dotnet.md 5). Words are names of instances and values
// of parameters: without blanks.

/// The reason of a garbage collection.
#[must_use]
pub const fn gc_reason(reason: u32) -> &'static str {
    match reason {
        0 => "small",
        1 => "induced",
        2 => "low_memory",
        3 => "empty",
        4 => "large",
        5 => "out_of_space_small",
        6 => "out_of_space_large",
        7 => "induced_not_forced",
        8 => "internal",
        9 => "induced_low_memory",
        10 => "induced_compacting",
        11 => "host_low_memory",
        12 => "full_notification",
        13 => "host_low_memory_blocking",
        _ => "other",
    }
}

/// The type of a garbage collection.
#[must_use]
pub const fn gc_type(kind: u32) -> &'static str {
    match kind {
        0 => "blocking",
        1 => "background",
        2 => "foreground",
        _ => "other",
    }
}

/// The pause mode of the collector.
#[must_use]
pub const fn pause_mode(mode: u32) -> &'static str {
    match mode {
        0 => "batch",
        1 => "interactive",
        2 => "low_latency",
        3 => "sustained_low_latency",
        4 => "no_gc",
        _ => "other",
    }
}

/// The reason of an adjustment of the thread pool.
#[must_use]
pub const fn pool_reason(reason: u32) -> &'static str {
    match reason {
        0 => "warmup",
        1 => "initializing",
        2 => "random_move",
        3 => "climbing_move",
        4 => "change_point",
        5 => "stabilizing",
        6 => "starvation",
        7 => "timed_out",
        8 => "cooperative_blocking",
        _ => "other",
    }
}

/// The tier of a compiled method, from its flags.
#[must_use]
pub const fn tier(flags: u32) -> &'static str {
    match flags >> 7 & 7 {
        1 => "min_opt",
        2 => "optimized",
        3 => "quick",
        4 => "tier1",
        5 => "tier1_osr",
        6 => "instrumented",
        7 => "optimized_instrumented",
        _ => "unknown",
    }
}
