//! Names of the events of the LTTng provider `DotNETRuntime`.

use super::layouts::LAYOUTS;

/// Id and version of an event of the LTTng provider `DotNETRuntime`: `GCStart_V2` is (1, 2), and a
/// name without version has version 0. `None`: no event of the table has this name.
///
/// The event's fields in their order, packed without padding (texts as UTF-16 with a NUL), are the
/// payload that [`decode`](super::decode) reads. An event that has `__data__` has the payload there
/// (docs/protocols/dotnet.md 5).
#[must_use]
pub fn by_lttng_name(name: &str) -> Option<(u32, u32)> {
    let (name, version) = match name.rsplit_once("_V") {
        Some((name, version)) => (name, version.parse().ok()?),
        None => (name, 0),
    };
    let layout = LAYOUTS.iter().find(|layout| layout.name == name)?;
    Some((layout.id, version))
}
