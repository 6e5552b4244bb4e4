//! Where records come from.

mod counters;
mod domain;
mod lines;
mod pcp;

use std::sync::atomic::{AtomicBool, Ordering};

pub use counters::{Counters, Sampled};
pub use lines::{Lines, LinesError};
pub use pcp::{Looked, Pcp, Then};

use pmda::client::{Context, Source, TimeZone};

/// What is read.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Where it is.
    pub source: Source,
    /// -S, -T, -A, -O of an archive.
    pub times: [Option<String>; 4],
    /// -Z, -z.
    pub zone: Option<TimeZone>,
}

impl Wanted {
    /// How users call the source.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.source {
            Source::Host(host) if host == "local:" => "this host",
            Source::Host(name) | Source::Archive(name) => name,
        }
    }

    /// Connects to the host, or opens the archive.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn open(&self) -> Result<Context, String> {
        let context = Context::new(&self.source).map_err(|e| format!("{}: {e}", self.name()))?;
        if let Some(zone) = &self.zone {
            context.zone(zone).map_err(|e| format!("the time zone: {e}"))?;
        }
        Ok(context)
    }
}

static STOPPED: AtomicBool = AtomicBool::new(false);

/// What is set when all reading is to end.
#[must_use]
pub fn end_flag() -> &'static AtomicBool {
    &STOPPED
}

/// Whether the end was asked for.
#[must_use]
pub fn stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}
