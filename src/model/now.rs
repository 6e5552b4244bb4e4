//! The two clocks at one moment. The time is always an argument, except in `net`, `callbacks`, the
//! daemon and the `io` of sources, which read the clocks.

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
