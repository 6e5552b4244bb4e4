//! The stream `suspend` (spec B.4): the first phrase of a file begins with the time base, then come
//! pairs of varints, the distance between two ends and the duration.

use super::record::{Corrupt, Pause};
use super::resume::Machine;
use super::scan::Scan;

/// Takes pauses.
pub(crate) trait Visitor {
    /// One pause.
    fn pause(&mut self, pause: Pause);
}

/// Reads one file.
#[derive(Debug, Default)]
pub(crate) struct Suspend {
    /// End of the last pause, once the base is known.
    end_ms: Option<i64>,
}

impl<V: Visitor + ?Sized> Machine<V> for Suspend {
    fn step(&mut self, scan: &mut Scan<'_>, visitor: &mut V) -> Result<(), Corrupt> {
        let mut end_ms = match self.end_ms {
            Some(end_ms) => end_ms,
            None => match scan.u64() {
                Some(base) => base.cast_signed(),
                None => return Ok(()),
            },
        };
        let mut token = *scan;
        while let (Some(distance), Some(duration_ms)) = (token.varint(), token.varint()) {
            end_ms = end_ms.wrapping_add(distance.into());
            visitor.pause(Pause { end_ms, duration_ms });
            *scan = token;
        }
        self.end_ms = Some(end_ms);
        Ok(())
    }

    fn at_boundary(&self) -> bool {
        true
    }
}
