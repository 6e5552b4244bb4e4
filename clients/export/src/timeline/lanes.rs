//! Slices of one track must nest: readers draw those that overlap with wrong ends and do not say so.
//! Where they overlap they lie in lanes, each of which is a track.

/// Lanes of a place at one time. Of more the next ones begin anew.
const MOST_LANES: usize = 1024;

/// The lanes of a place.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    /// Lanes that were given up.
    gone: usize,
}

#[derive(Debug)]
struct Lane {
    track: u32,
    /// Whose slices these are; they lie within each other.
    group: u32,
    /// Slices that have not ended, the outermost first.
    open: Vec<Open>,
    /// The slice that began last.
    last: (i64, i64),
}

#[derive(Debug)]
struct Open {
    end: i64,
    told: bool,
}

impl Lanes {
    /// Puts a slice into a lane and says which track that is. Those that have ended before it are given to
    /// `ended`. `track` makes the track of a new lane from its number.
    ///
    /// A slice lies only within another one of its group. They should come by start, the longer ones first;
    /// one that comes late may take a lane more.
    pub(super) fn put<E>(
        &mut self,
        (start, end, group): (i64, i64, u32),
        mut ended: impl FnMut(u32, i64) -> Result<(), E>,
        track: impl FnOnce(usize) -> Result<u32, E>,
    ) -> Result<u32, E> {
        let (mut within, mut idle) = (None, None);
        for (number, lane) in self.lanes.iter().enumerate() {
            if start < lane.last.0 || (start == lane.last.0 && end > lane.last.1) {
                continue;
            }
            // Ends are told when a slice comes that lies behind them on the same track: another one may still
            // overlap them.
            match lane.open.iter().rfind(|open| open.end > start) {
                None => idle = idle.or(Some(number)),
                Some(around) if lane.group == group && end <= around.end => {
                    within = Some(number);
                    break;
                }
                Some(_) => {}
            }
        }
        let lane = match within.or(idle).and_then(|number| self.lanes.get_mut(number)) {
            Some(lane) => lane,
            None => {
                if self.lanes.len() == MOST_LANES {
                    self.told(&mut ended)?;
                    self.gone += self.lanes.len();
                    self.lanes.clear();
                }
                let track = track(self.gone + self.lanes.len())?;
                self.lanes.push(Lane { track, group, open: Vec::new(), last: (start, end) });
                let Some(lane) = self.lanes.last_mut() else { return Ok(track) };
                lane
            }
        };
        while let Some(open) = lane.open.pop_if(|open| open.end <= start) {
            if !open.told {
                ended(lane.track, open.end)?;
            }
        }
        lane.group = group;
        lane.last = (start, end);
        lane.open.push(Open { end, told: false });
        Ok(lane.track)
    }

    /// Gives the ends of all slices to `ended` that it has not got.
    pub(super) fn told<E>(
        &mut self,
        mut ended: impl FnMut(u32, i64) -> Result<(), E>,
    ) -> Result<(), E> {
        for lane in &mut self.lanes {
            for open in lane.open.iter_mut().rev().filter(|open| !open.told) {
                open.told = true;
                ended(lane.track, open.end)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    /// What a reader makes of what was written: slices of each track, as it pairs begins and ends.
    #[derive(Default)]
    struct Reader {
        /// (time, begin or end, number of the slice that begins)
        written: Vec<(u32, i64, Option<usize>)>,
    }

    impl Reader {
        fn slices(&mut self) -> Vec<(usize, i64)> {
            self.written.sort_by_key(|(_, at, _)| *at);
            let mut open: std::collections::HashMap<u32, Vec<usize>> = Default::default();
            let mut found = Vec::new();
            for (track, at, begin) in &self.written {
                let open = open.entry(*track).or_default();
                match begin {
                    Some(slice) => open.push(*slice),
                    None => found.push((open.pop().expect("an end without a begin"), *at)),
                }
            }
            assert!(open.values().all(Vec::is_empty), "a slice without an end");
            found.sort_unstable();
            found
        }
    }

    fn drawn(slices: &[(i64, i64, u32)], batch: usize) -> (Reader, usize) {
        let (mut lanes, mut reader, mut tracks) = (Lanes::default(), Reader::default(), 0);
        for (number, slice) in slices.iter().enumerate() {
            let written = std::cell::RefCell::new(&mut reader.written);
            let ended = |track, at| {
                written.borrow_mut().push((track, at, None));
                Ok::<_, Infallible>(())
            };
            let made = |lane| {
                tracks = tracks.max(lane + 1);
                Ok(u32::try_from(lane).unwrap())
            };
            let Ok(track) = lanes.put(*slice, ended, made);
            reader.written.push((track, slice.0, Some(number)));
            if number % batch == batch - 1 || number == slices.len() - 1 {
                let Ok(()) = lanes.told(|track, at| {
                    reader.written.push((track, at, None));
                    Ok::<_, Infallible>(())
                });
            }
        }
        (reader, tracks)
    }

    #[test]
    fn threads_need_one_lane_and_others_as_many_as_overlap() {
        let nested =
            [(0, 100, 0), (0, 50, 0), (10, 20, 0), (20, 20, 0), (50, 100, 0), (100, 101, 0)];
        assert_eq!(drawn(&nested, 100).1, 1);
        assert_eq!(drawn(&[(0, 20, 0), (10, 30, 0), (20, 25, 0), (30, 31, 0)], 100).1, 2);
        // One trace does not lie within another.
        assert_eq!(drawn(&[(0, 20, 1), (5, 10, 2), (6, 7, 1)], 100).1, 2);
        let many: Vec<_> = (0..3000).map(|n| (n, n + 10_000, 0)).collect();
        assert_eq!(drawn(&many, 5000).1, 3000);
    }

    proptest! {
        /// However they overlap, and also if they are late, each slice keeps its end.
        #[test]
        fn slices_keep_their_ends(
            slices in proptest::collection::vec((0_i64..40, 0_i64..20, 0_u32..3), 1..60),
            batch in 1_usize..20,
        ) {
            let mut slices: Vec<_> =
                slices.into_iter().map(|(start, length, group)| (start, start + length, group)).collect();
            for part in slices.chunks_mut(batch) {
                part.sort_by_key(|(start, end, _)| (*start, -end));
            }
            let expected: Vec<_> = slices.iter().map(|slice| slice.1).enumerate().collect();
            prop_assert_eq!(drawn(&slices, batch).0.slices(), expected);
        }
    }
}
