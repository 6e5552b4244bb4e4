//! The two clocks at one moment: always handed in, never read from a clock below `listen` and
//! `callbacks`.

use std::time::Duration;

use pcp_event::Stamp;

/// The two clocks at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Now {
    /// Wall clock: goes into records, may step.
    pub wall: Stamp,
    /// Monotonic clock since an arbitrary start: ages and deadlines.
    pub monotonic: Duration,
}
