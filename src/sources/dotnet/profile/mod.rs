//! The CPU profile: bursts of stack samples, weighted with the processor time that the sampled
//! thread used (docs/protocols/dotnet.md 8).
//!
//! ```text
//!  bytes ─▶ Profile ─┬─▶ Methods (143, 144 live and of the rundown; kept between bursts)
//!                    └─▶ Samples (stacks, counts by thread and batch, time by Clock)
//!  end of the burst ─▶ weigh ─▶ rows of STACKS and METHODS, answer of profile.run
//! ```

mod burst;
mod methods;
mod report;
mod samples;
mod waits;
mod weigh;

pub use burst::{Clock, Profile};
pub(super) use methods::Methods;
pub use report::forget_rows;

#[cfg(test)]
mod tests;
