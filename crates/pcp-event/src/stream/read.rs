//! A client's read of a stream, in pieces, so that the stream is never locked for long. Between two
//! pieces a producer may append records and drop the oldest. If it drops records that this client
//! has not read, the delivery ends, and the next one reports them as missed.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use super::{Inner, Stream};
use crate::array::Array;
use crate::event_array::EventArray;
use crate::flags::POINT;
use crate::layout::{HighRes, LowRes, Resolution};
use crate::request::{Client, Delivery, Hold, ReadRequest};
use crate::ring::Ring;
use crate::types::stamp::Stamp;

/// Limit of the bytes copied while the stream is locked.
const PIECE: usize = 512 << 10;
/// Limit of the bytes that a filter examines, or that are packed, between two pieces.
const SCAN: usize = 64 << 10;
/// Most bytes that an array of records for a filter begins with.
const FILTERED: usize = 256 << 10;

/// A delivery under construction: the remaining limits, and the arrays so far.
struct Turn<'a> {
    request: &'a ReadRequest<'a>,
    ctx: u32,
    /// The next record.
    seq: u64,
    records: usize,
    bytes: usize,
    scan: usize,
    newest: Stamp,
    out: Delivery,
    low: Option<Array<LowRes>>,
    high: Option<Array<HighRes>>,
    /// Records for the filter, and the end offset of each.
    piece: Vec<u8>,
    ends: Vec<usize>,
}

impl Stream {
    /// Delivers the records that context `ctx` has not read, and moves its cursor. A new context
    /// starts at the oldest stored record. The order is: in high resolution a POINT record with the
    /// number of missed records in parameter [`ReadRequest::lost`]; the records; a MISSED record.
    /// The MISSED record is last, although the missed records are older than those delivered,
    /// because libpcp's one-line summary counts it again for each record after it.
    ///
    /// Records that the filter rejects are skipped: neither delivered nor missed. The stream is
    /// locked for one piece at a time, and not while a filter runs.
    pub fn read(&self, ctx: u32, request: &ReadRequest<'_>) -> Delivery {
        let mut inner = self.lock();
        let mut turn = Turn::begin(&mut inner, ctx, request);
        self.watched.store(true, Ordering::Relaxed);
        while turn.take(&mut inner) {
            drop(inner);
            if !turn.apply_filter() {
                return turn.end();
            }
            inner = self.lock();
            if inner.store.first() > turn.seq {
                break;
            }
        }
        drop(inner);
        turn.apply_filter();
        turn.end()
    }
}

impl<'a> Turn<'a> {
    fn begin(inner: &mut Inner, ctx: u32, request: &'a ReadRequest<'a>) -> Self {
        let store = &inner.store;
        let client = inner.clients.get(&ctx).copied();
        let cursor = client.map_or(store.first(), |c| c.cursor);
        let seq = cursor.max(store.first());
        let (records, bytes) =
            request.limits.after(request.now.saturating_sub(client.map_or(request.now, |c| c.at)));
        let out = Delivery { missed: seq - cursor, ..Delivery::default() };
        let expected = match store.at(seq, 0, 0) {
            Cow::Owned(_) => bytes.min(FILTERED),
            Cow::Borrowed(ring) => length(
                ring.slices(seq, ring.within(seq, records, bytes, request.limits.single_record)),
            ),
        };
        // Memory that is not written costs nothing, but who keeps few records keeps it for them.
        let expected = expected.min(request.filter.map_or(usize::MAX, |_| FILTERED));
        let low = request.resolutions.low.then(|| Array::<LowRes>::with_capacity(expected + 128));
        let mut high =
            request.resolutions.high.then(|| Array::<HighRes>::with_capacity(expected + 128));
        if let Some(high) = &mut high
            && out.missed > 0
        {
            let added = high
                .add_record(inner.newest, POINT)
                .and_then(|()| high.add_u64(request.lost, out.missed));
            debug_assert_eq!(added, Ok(()), "an empty array has room");
        }
        let now = request.now;
        let client = client.map_or(Client::new(seq, now), |client| client.again(seq, now));
        inner.clients.insert(ctx, client);
        let (newest, scan) = (inner.newest, request.limits.filter_bytes);
        Self {
            request,
            ctx,
            seq,
            records,
            bytes,
            scan,
            newest,
            out,
            low,
            high,
            piece: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Takes the next piece and moves the client's cursor after it. `true`: there are more.
    fn take(&mut self, inner: &mut Inner) -> bool {
        let store = &inner.store;
        let one = if self.out.records == 0 {
            self.request.limits.single_record.max(self.bytes)
        } else {
            self.bytes
        };
        let filtered = self.request.filter.is_some();
        let piece = if filtered { SCAN.min(self.scan) } else { PIECE };
        if piece == 0 {
            return false;
        }
        let ring = store.at(self.seq, self.records, self.bytes.min(piece).min(SCAN));
        let to = ring.within(self.seq, self.records, self.bytes.min(piece), one);
        let to = self.request.hold.map_or(to, |hold| free(&ring, self.seq, to, hold));
        if to == self.seq {
            return false;
        }
        let taken = ring.slices(self.seq, to);
        if filtered {
            match self.in_place() {
                Some(high) => {
                    let put = high.stage(taken);
                    debug_assert_eq!(put, Ok(()), "the limits are far below ARRAY_MAX");
                }
                None => taken.iter().for_each(|part| self.piece.extend_from_slice(part)),
            }
            self.ends.extend(ring.ends(self.seq, to));
            self.scan = self.scan.saturating_sub(length(taken));
        } else {
            let count = copy(&ring, self.seq, to, self.low.as_mut(), self.high.as_mut());
            self.account(count, length(taken));
        }
        self.seq = to;
        if let Some(client) = inner.clients.get_mut(&self.ctx) {
            client.cursor = to;
        }
        to < store.next()
    }

    /// The array in which the filter is applied to records: the only one, since its records are not
    /// converted.
    fn in_place(&mut self) -> Option<&mut Array<HighRes>> {
        self.high.as_mut().filter(|_| self.low.is_none())
    }

    fn account(&mut self, records: usize, bytes: usize) {
        self.out.records += records;
        self.records = self.records.saturating_sub(records);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Appends the accepted records of a piece to the arrays, whole runs at once. `false`: the
    /// delivery ends here.
    fn apply_filter(&mut self) -> bool {
        let Some(accepts) = self.request.filter else { return true };
        if self.ends.is_empty() {
            return true;
        }
        let (piece, ends) = (std::mem::take(&mut self.piece), std::mem::take(&mut self.ends));
        if let Some(high) = self.in_place() {
            let (records, bytes) = high.retain(&ends, accepts);
            self.account(records, bytes);
            self.out.scanned += ends.last().copied().unwrap_or_default();
            return self.next_piece(piece, ends);
        }
        // The current run of accepted records: its first byte and its first record.
        let (mut run, mut at) = (None, 0);
        for (n, end) in ends.iter().enumerate() {
            if accepts(piece.get(at..*end).unwrap_or_default()) {
                run = run.or(Some((at, n)));
            } else if let Some((start, first)) = run.take() {
                self.put(&piece, start, ends.get(first..n).unwrap_or_default());
            }
            at = *end;
        }
        if let Some((start, first)) = run {
            self.put(&piece, start, ends.get(first..).unwrap_or_default());
        }
        self.out.scanned += at;
        self.next_piece(piece, ends)
    }

    /// Keeps the memory for the next piece. `false`: the delivery ends here.
    fn next_piece(&mut self, piece: Vec<u8>, ends: Vec<usize>) -> bool {
        (self.piece, self.ends) = (piece, ends);
        self.piece.clear();
        self.ends.clear();
        self.request.may_continue.is_none_or(|may_continue| may_continue())
    }

    /// Appends a run of accepted records of a piece, from offset `start` on, with these ends.
    fn put(&mut self, piece: &[u8], start: usize, ends: &[usize]) {
        let end = ends.last().copied().unwrap_or(start);
        let parts = [piece.get(start..end).unwrap_or_default(), &[]];
        let count = i32::try_from(ends.len()).unwrap_or(i32::MAX);
        let relative = ends.iter().map(|end| end - start);
        let low = |low: &mut Array<LowRes>| low.add_converted(parts, ends.len(), relative);
        let put = self.low.as_mut().map_or(Ok(()), low);
        debug_assert_eq!(put, Ok(()), "the limits are far below ARRAY_MAX");
        let put = self.high.as_mut().map_or(Ok(()), |high| high.add_packed(parts, count));
        debug_assert_eq!(put, Ok(()), "the limits are far below ARRAY_MAX");
        self.account(ends.len(), end - start);
    }

    fn end(mut self) -> Delivery {
        self.out.low = self.low.map(|a| finish(a, self.newest, self.out.missed));
        self.out.high = self.high.map(|a| finish(a, self.newest, self.out.missed));
        self.out
    }
}

fn length(parts: [&[u8]; 2]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}

/// The end of the records [from, to) before the first that is held back.
fn free(ring: &Ring, from: u64, to: u64, hold: Hold<'_>) -> u64 {
    if to == from || !(hold.any)() {
        return to;
    }
    let (bytes, mut start) = (ring.slices(from, to).concat(), 0);
    let free = ring.ends(from, to).take_while(|end| {
        let record = bytes.get(start..*end).unwrap_or_default();
        start = *end;
        !(hold.record)(record)
    });
    from + free.count() as u64
}

/// Copies the records [from, to) into the requested arrays. Returns their number.
fn copy(
    ring: &Ring,
    from: u64,
    to: u64,
    low: Option<&mut Array<LowRes>>,
    high: Option<&mut Array<HighRes>>,
) -> usize {
    let records = usize::try_from(to - from).unwrap_or(usize::MAX);
    let count = i32::try_from(records).unwrap_or(i32::MAX);
    if let Some(low) = low {
        ring.copy_low(from, to, low);
    }
    let put = high.map_or(Ok(()), |a| a.add_packed(ring.slices(from, to), count));
    debug_assert_eq!(put, Ok(()), "the limits are far below ARRAY_MAX");
    records
}

/// The array with MISSED records appended.
fn finish<R: Resolution>(mut array: Array<R>, stamp: Stamp, missed: u64) -> EventArray {
    let mut left = missed;
    while left > 0 {
        let count = i32::try_from(left).unwrap_or(i32::MAX);
        if array.add_missed(stamp, count).is_err() {
            break;
        }
        left -= u64::from(count.unsigned_abs());
    }
    EventArray::packed(array.into_bytes())
}
