//! What records mean to tools that know spans, instants and resources.
//!
//! Names and attributes are those of OpenTelemetry's semantic conventions 1.44; what has no counterpart
//! there is `apm.NAME`. Units stay those of PCP.

mod attributes;
mod conventions;
mod database;
mod ids;
mod item;
mod logfmt;
mod names;
mod pairs;
mod resource;

pub(crate) use conventions::without_user;

pub use attributes::{Attribute, Attributes};
pub use ids::{Identity, Ids, SpanId, TraceId};
pub use item::{Item, Role};
pub use pairs::Pairs;
pub use resource::{Resource, Service};
