//! Payloads of the runtime's own events, which come without a list of fields
//! (docs/protocols/dotnet.md 5). One table of layouts serves EventPipe and LTTng.

mod cursor;
mod layout;
mod layouts;
mod lttng;
mod names;

pub use super::utf16::Utf16;
pub use cursor::Short;
pub use layout::{Field, FieldType, Layout};
pub use layouts::{Decoded, decode, layout};
pub use lttng::by_lttng_name;
pub use names::{gc_reason, gc_type, pause_mode, pool_reason, tier};

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

#[cfg(test)]
mod tests;
