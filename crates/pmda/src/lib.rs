#![doc = include_str!("../README.md")]
#![allow(
    unsafe_code,
    reason = "the C boundary of libpcp_pmda; each block names the contract it relies on"
)]

mod agent;
mod callbacks;
#[cfg(feature = "client")]
pub mod client;
mod cstring;
mod error;
mod fetch;
mod handler;
mod hosted;
mod ids;
mod labels;
mod logger;
mod main_loop;
mod options;
pub mod process;
mod store;
mod tables;
mod trial;
mod wake;

pub use agent::{Agent, Pmda, PmdaInfo, StartError};
pub use error::Error;
pub use fetch::{
    Budget, FetchLimits, FetchRequest, Profile, Results, TextValue, Wanted, block_bytes,
    fetch_values,
};
pub use handler::{Answered, Handler};
pub use ids::{Attribute, ContextId, IN_NULL, InDom, LabelTarget, TextTarget};
pub use labels::LabelSet;
pub use logger::Log;
pub use options::{Arguments, OptionDef};
pub use pcp_event::{Pmid, Semantics, UnitFields, Units, Value, ValueType};
/// The version of the PCP that this was built with: `6.3.8`.
pub use pcp_sys::PCP_VERSION;
pub use store::{StoreRequest, StoreValue};
pub use tables::{InstanceCache, Metric, TableError, Tables};
pub use trial::Trial;
pub use wake::Wake;
