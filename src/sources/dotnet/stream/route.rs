//! Who reads events of a type.

use crate::sources::dotnet::clr::{self, Decoded};
use crate::sources::dotnet::nettrace::EventType;
use crate::sources::dotnet::wanted::METERS;

/// The provider of events about sessions.
const EVENTPIPE: &str = "Microsoft-DotNETCore-EventPipe";

/// Who reads events of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Route {
    /// Nobody.
    #[default]
    Nowhere,
    /// An event of the runtime.
    Runtime,
    /// An event of the runtime that is not in the table of layouts.
    Unknown,
    /// EventCounters of a provider.
    Counters,
    /// Values of meters.
    Meters,
    /// An event source reports that it is broken.
    Message,
    /// An event of a configured provider.
    Application,
}

impl Route {
    pub(super) fn of(event_type: &EventType) -> Self {
        match (&*event_type.provider, &*event_type.name, event_type.id) {
            (clr::RUNTIME, _, id) => match clr::decode(id, event_type.version, 8, &[]) {
                // These do not depend on the payload.
                Ok(Decoded::Known) => Self::Nowhere,
                Ok(Decoded::Unknown) => Self::Unknown,
                _ => Self::Runtime,
            },
            (clr::RUNDOWN | EVENTPIPE, ..) => Self::Nowhere,
            (_, "EventCounters", _) => Self::Counters,
            (METERS, _, 1..) => Self::Meters,
            (_, "EventSourceMessage", 0) => Self::Message,
            _ => Self::Application,
        }
    }
}
