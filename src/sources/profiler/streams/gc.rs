//! The stream `gc` (docs/protocols/java-profiler.md B.8): text of the JVM's unified log (JEP 158,
//! JEP 271), cut anywhere. Only lines with pauses are decoded:
//! `[2023-07-24T12:26:25.553+0000][9.385s][info ][gc] GC(0) Pause Young (Allocation Failure)
//! 68M->11M(247M) 105.563ms`.

use super::scan::shrink;
use crate::sources::profiler::limits;

/// Cuts one file into lines.
#[derive(Debug, Default)]
pub(crate) struct LogLines {
    /// The start of an unfinished line.
    begun: Vec<u8>,
    /// The line is too long: it is skipped.
    skip: bool,
}

impl LogLines {
    /// Decodes the next piece of the file.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], tell: &mut impl FnMut(&GcPause<'_>)) {
        while let Some(at) = bytes.iter().position(|b| *b == b'\n') {
            let (line, rest) = bytes.split_at(at);
            (_, bytes) = rest.split_at(1);
            if self.begun.is_empty() && !self.skip {
                if line.len() <= limits::GC_LINE {
                    emit(line, tell);
                }
            } else {
                self.begin(line);
                self.end(tell);
            }
        }
        self.begin(bytes);
    }

    /// The file ends.
    pub(crate) fn end(&mut self, tell: &mut impl FnMut(&GcPause<'_>)) {
        if !self.skip {
            emit(&self.begun, tell);
        }
        shrink(&mut self.begun);
        self.skip = false;
    }

    fn begin(&mut self, piece: &[u8]) {
        self.skip |= self.begun.len() + piece.len() > limits::GC_LINE;
        if self.skip {
            self.begun.clear();
        } else {
            self.begun.extend_from_slice(piece);
        }
    }
}

fn emit(line: &[u8], tell: &mut impl FnMut(&GcPause<'_>)) {
    if let Some(pause) = std::str::from_utf8(line).ok().and_then(parse) {
        tell(&pause);
    }
}

/// Bytes of heap before and after a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heap {
    /// In use before the collection.
    pub before: u64,
    /// In use after it.
    pub after: u64,
    /// Committed size.
    pub total: u64,
}

/// A stop of the world by the garbage collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcPause<'a> {
    /// Number of the collection; one collection can have several pauses.
    pub number: u32,
    /// `Young (Allocation Failure)`, `Full (System.gc())`, `Remark`.
    pub kind: &'a str,
    /// Duration.
    pub duration_ns: u64,
    /// Heap sizes, if the line has them.
    pub heap: Option<Heap>,
    /// Wall-clock time of the line, in milliseconds since 1970, if present: the end of the pause.
    pub end_ms: Option<i64>,
    /// Uptime of the JVM at that time, if present.
    pub uptime_ms: Option<u64>,
}

/// The pause of a line, if it has one.
pub(crate) fn parse(line: &str) -> Option<GcPause<'_>> {
    let mut rest = line.trim_ascii_end();
    let (mut end_ms, mut uptime_ms) = (None, None);
    while let Some((decoration, behind)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
        match clock(decoration.trim_ascii()) {
            Some(Clock::Wall(ms)) => end_ms = end_ms.or(Some(ms)),
            Some(Clock::Uptime(ms)) => uptime_ms = uptime_ms.or(Some(ms)),
            None => {}
        }
        rest = behind;
    }
    let (number, rest) = rest.trim_ascii_start().strip_prefix("GC(")?.split_once(") ")?;
    // Generational collectors name the generation: `Y: Pause Mark Start`.
    let rest = rest
        .split_once(": ")
        .filter(|(generation, _)| generation.len() == 1)
        .map_or(rest, |(_, behind)| behind);
    let (rest, duration) = rest.strip_prefix("Pause ")?.rsplit_once(' ')?;
    let duration_ns = scaled(duration.strip_suffix("ms")?, 6)?;
    let (kind, heap) =
        match rest.rsplit_once(' ').and_then(|(kind, sizes)| Some((kind, heap(sizes)?))) {
            Some((kind, heap)) => (kind, Some(heap)),
            None => (rest, None),
        };
    Some(GcPause { number: number.parse().ok()?, kind, duration_ns, heap, end_ms, uptime_ms })
}

enum Clock {
    Wall(i64),
    Uptime(u64),
}

/// Parses the decorations time, utctime, uptime, timemillis, uptimemillis, timenanos, uptimenanos.
fn clock(decoration: &str) -> Option<Clock> {
    /// Largest uptime: 1973 as wall-clock time; no JVM runs for three years.
    const EPOCH: u64 = 100_000_000_000;
    if let Some(ns) = decoration.strip_suffix("ns") {
        return Some(Clock::Uptime(scaled(ns, 0)? / 1_000_000));
    }
    if let Some(ms) = decoration.strip_suffix("ms") {
        let ms = scaled(ms, 0)?;
        return Some(if ms > EPOCH { Clock::Wall(ms.cast_signed()) } else { Clock::Uptime(ms) });
    }
    if let Some(s) = decoration.strip_suffix('s') {
        return Some(Clock::Uptime(scaled(s, 3)?));
    }
    wall(decoration).map(Clock::Wall)
}

/// Milliseconds since 1970 of `2023-07-24T12:26:25.553+0000`.
fn wall(iso: &str) -> Option<i64> {
    let field = |from: usize, to: usize| {
        iso.get(from..to).filter(|s| s.bytes().all(|b| b.is_ascii_digit()))?.parse::<i64>().ok()
    };
    let is = |at: usize, what: &str| iso.get(at..at + 1).filter(|s| what.contains(s));
    (iso.len() == 28).then_some(())?;
    for (at, what) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"), (19, ".,")] {
        is(at, what)?;
    }
    let west = is(23, "+-")? == "-";
    let (year, month, day) = (field(0, 4)?, field(5, 7)?, field(8, 10)?);
    let minutes = field(24, 26)? * 60 + field(26, 28)?;
    // Days of the civil calendar, with years that begin in March so that the leap day is the last
    // of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 153 + 2) / 5
        + day
        - 719_469;
    let seconds = days * 86_400 + field(11, 13)? * 3600 + field(14, 16)? * 60 + field(17, 19)?;
    Some((seconds - if west { -minutes } else { minutes } * 60) * 1000 + field(20, 23)?)
}

/// A decimal number times 10^`digits`; further digits are dropped.
fn scaled(number: &str, digits: usize) -> Option<u64> {
    let (whole, fraction) = number.split_once(['.', ',']).unwrap_or((number, ""));
    let whole = Some(whole).filter(|w| !w.is_empty())?;
    let kept = fraction.bytes().chain(std::iter::repeat(b'0')).take(digits);
    whole.bytes().chain(kept).try_fold(0u64, |n, b| {
        let digit = b.is_ascii_digit().then(|| b - b'0')?;
        n.checked_mul(10)?.checked_add(digit.into())
    })
}

/// `68M->11M(247M)`.
fn heap(sizes: &str) -> Option<Heap> {
    let (before, rest) = sizes.split_once("->")?;
    let (after, total) = rest.strip_suffix(')')?.split_once('(')?;
    Some(Heap { before: size(before)?, after: size(after)?, total: size(total)? })
}

fn size(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let shift = match unit {
        "B" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
#[path = "tests/gc.rs"]
mod tests;
