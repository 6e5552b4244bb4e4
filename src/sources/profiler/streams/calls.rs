//! The stream `calls` (docs/protocols/java-profiler.md B.5): a header with version and time base,
//! then one record for each finished root call. The states of a [`CallReader`]:
//!
//! ```text
//!  Header ─▶ Head ─▶ Tail ─▶ Param ─▶ Length ─▶ Value ─▶ Param, Length or Head
//!              │      ▲ │       └▶ Param or Head
//!              ▼      │ └▶ Head
//!   NameLength ─▶ Name
//! ```
//!
//! Values of parameters are borrowed from the input. Only those of a call that is cut off by the
//! end of the payload are copied.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Output;
use super::record::{Call, Observer, Params, Piece, Pointer};
use super::scan::{DecodeError, Machine, Numbers, Scan, TextReader, Window, padded, shrink};
use crate::sources::profiler::limits;

/// Upper half of the first long since version 1. Version 0 has the time base there.
const MAGIC: u64 = 0xfffe_fdfc;
/// The newest known version.
const NEWEST: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Header,
    /// The numbers of a call up to its thread's index.
    Head,
    NameLength,
    Name,
    /// The numbers behind the thread.
    Tail,
    Param,
    Length,
    Value,
}

/// Decodes one file.
#[derive(Debug)]
pub(crate) struct CallReader {
    expect: Expect,
    version: u32,
    /// Start of the last call; the start of the next one is relative to it.
    start_ms: i64,
    /// Number of threads so far, and their names, up to a limit.
    threads: u32,
    names: Vec<Option<Arc<str>>>,
    thread_name: TextReader,
    /// Numbers of the call that is being read.
    call: Call<'static>,
    values: ParamReader,
}

crate::heap_size!(CallReader { names });

impl Default for CallReader {
    fn default() -> Self {
        Self {
            expect: Expect::Header,
            version: 0,
            start_ms: 0,
            threads: 0,
            names: Vec::new(),
            thread_name: TextReader::default(),
            call: Call::EMPTY,
            values: ParamReader::default(),
        }
    }
}

impl Machine for CallReader {
    fn step<O: Observer + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        out: &mut Output<'_, O>,
    ) -> Result<(), DecodeError> {
        let input = scan.rest();
        loop {
            while self.expect == Expect::Head && self.whole(scan, input, out) {}
            if self.token(scan, input, out)?.is_none() {
                break;
            }
        }
        self.values.copy_unfinished(input);
        Ok(())
    }

    fn at_boundary(&self) -> bool {
        matches!(self.expect, Expect::Header | Expect::Head)
    }

    fn rest(&mut self) {
        self.names.shrink_to_fit();
        self.values.rest();
    }
}

/// A 64-bit counter. Agents send differences; a negative one counts as 0.
const fn counter(pattern: u64) -> u64 {
    if pattern > i64::MAX as u64 { 0 } else { pattern }
}

/// A time that the agent converted from 32 bits: bit 31 means negative, which counts as 0.
const fn time(pattern: u64) -> u64 {
    if pattern > i32::MAX as u64 { 0 } else { pattern }
}

impl CallReader {
    /// Reads one token; `None` when it is not whole. `input`: the bytes with which `scan` began.
    #[inline]
    fn token<O: Observer + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        input: &[u8],
        out: &mut Output<'_, O>,
    ) -> Result<Option<()>, DecodeError> {
        match self.expect {
            Expect::Header => {
                let Some(base) = self.header(scan)? else { return Ok(None) };
                self.start_ms = base.cast_signed();
                self.expect = Expect::Head;
            }
            Expect::Head => {
                let Some(start_ms) = head(&mut self.call, self.start_ms, scan) else {
                    return Ok(None);
                };
                self.start_ms = start_ms;
                let (index, count) = (self.call.thread, self.threads);
                self.expect = match index.cmp(&count) {
                    Ordering::Less => Expect::Tail,
                    Ordering::Equal => Expect::NameLength,
                    Ordering::Greater => return Err(DecodeError::Thread { index, count }),
                };
            }
            Expect::NameLength => {
                let Some(units) = scan.varint() else { return Ok(None) };
                self.thread_name.begin(units, limits::THREAD_NAME)?;
                self.expect = Expect::Name;
            }
            Expect::Name => {
                let Some(name) = self.thread_name.take(scan) else { return Ok(None) };
                if self.names.len() < limits::THREADS {
                    self.names.push(out.words.share(name));
                }
                self.thread_name.end();
                self.threads = self.threads.saturating_add(1);
                self.expect = Expect::Tail;
            }
            Expect::Tail => {
                let Some(params) = tail(&mut self.call, self.version, scan) else {
                    return Ok(None);
                };
                let next = self.values.begin(params)?;
                self.follow(next, input, out);
            }
            Expect::Param => {
                let Some(next) = self.values.param(scan)? else { return Ok(None) };
                self.follow(next, input, out);
            }
            Expect::Length => {
                let Some(()) = self.values.length(scan)? else { return Ok(None) };
                self.expect = Expect::Value;
            }
            Expect::Value => {
                let Some(next) = self.values.value(scan, input) else { return Ok(None) };
                self.follow(next, input, out);
            }
        }
        Ok(Some(()))
    }

    fn header(&mut self, scan: &mut Scan<'_>) -> Result<Option<u64>, DecodeError> {
        let mut token = *scan;
        let Some(first) = token.u64() else { return Ok(None) };
        let base = if first >> 32 == MAGIC {
            #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
            let version = first as u32;
            if version > NEWEST {
                return Err(DecodeError::CallsVersion(version));
            }
            self.version = version;
            token.u64()
        } else {
            Some(first)
        };
        if base.is_some() {
            *scan = token;
        }
        Ok(base)
    }

    /// Reads a call that is whole in the input, as most are. `false`: nothing has happened, and its
    /// tokens are read one by one.
    #[inline(always)]
    fn whole<O: Observer + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        input: &[u8],
        out: &mut Output<'_, O>,
    ) -> bool {
        let (mut token, mut call) = (*scan, Call::EMPTY);
        let short;
        let mut window = Window::new(match token.rest().first_chunk() {
            Some(bytes) => bytes,
            None => {
                short = padded(token.rest());
                &short
            }
        });
        if let Some(start_ms) = head(&mut call, self.start_ms, &mut window)
            && call.thread < self.threads
            && let Some(params) = tail(&mut call, self.version, &mut window)
            && let Some(read) = window.read()
            && token.up_to(read).len() == read
            && self.values.whole(params, &mut token, input).is_some()
        {
            (*scan, self.start_ms) = (token, start_ms);
            call.thread_name = self.names.get(call.thread as usize).and_then(Option::as_ref);
            call.params = self.values.params(input);
            out.observer.call(&call, out.words);
            self.values.end();
            return true;
        }
        self.values.end();
        false
    }

    /// Goes on with what follows in the parameters. [`Expect::Head`]: the call is whole.
    #[inline]
    fn follow<O: Observer + ?Sized>(
        &mut self,
        next: Expect,
        input: &[u8],
        out: &mut Output<'_, O>,
    ) {
        if next == Expect::Head {
            let thread_name = self.names.get(self.call.thread as usize).and_then(Option::as_ref);
            let params = self.values.params(input);
            let call = Call { thread_name, params, ..self.call };
            out.observer.call(&call, out.words);
            self.values.end();
        }
        self.expect = next;
    }
}

/// Reads the numbers of a call up to its thread; returns its start, to which the next one is
/// relative. `before`: the start of the call before.
#[inline(always)]
fn head(call: &mut Call<'_>, before: i64, scan: &mut impl Numbers) -> Option<i64> {
    let mut token = *scan;
    let distance = token.zigzag()?;
    call.method = token.varint()?;
    // The encoding has 64 bits, and setting the clock back makes the value negative.
    call.duration_ms = counter(token.varlong()?);
    call.calls = token.varint()?;
    call.thread = token.varint()?;
    call.start_ms = before.wrapping_add(distance.into());
    *scan = token;
    Some(call.start_ms)
}

/// Reads the numbers behind the thread; returns the last one, the number of parameters.
#[inline(always)]
fn tail(call: &mut Call<'_>, version: u32, scan: &mut impl Numbers) -> Option<u32> {
    let mut token = *scan;
    call.logs_written = token.varint()?;
    call.logs_generated = u64::from(call.logs_written) + u64::from(token.varint()?);
    call.pointer =
        Pointer { file: token.varint()?, offset: token.varint()?, index: token.varint()? };
    if version >= 4
        && let Some(
            [cpu, wait, memory, file_read, file_written, net_read, net_written, transactions],
        ) = token.eight_small()
    {
        // Most calls are short and have only zeros here.
        (call.cpu_ms, call.wait_ms, call.memory) = (cpu.into(), wait.into(), memory.into());
        (call.file_read, call.file_written) = (file_read.into(), file_written.into());
        (call.net_read, call.net_written) = (net_read.into(), net_written.into());
        call.transactions = transactions.into();
        call.queue_wait_ms = token.varint()?;
    } else {
        resources(call, &mut token, version)?;
    }
    let params = token.varint()?;
    *scan = token;
    Some(params)
}

/// Reads the numbers that versions 2, 3 and 4 added.
#[inline(never)]
fn resources(call: &mut Call<'_>, token: &mut impl Numbers, version: u32) -> Option<()> {
    if version >= 2 {
        call.cpu_ms = time(token.varlong()?);
        call.wait_ms = time(token.varlong()?);
        call.memory = counter(token.varlong()?);
    }
    if version >= 3 {
        call.file_read = counter(token.varlong()?);
        call.file_written = counter(token.varlong()?);
        call.net_read = counter(token.varlong()?);
        call.net_written = counter(token.varlong()?);
    }
    if version >= 4 {
        call.transactions = counter(token.varlong()?);
        call.queue_wait_ms = token.varint()?;
    }
    Some(())
}

/// Decodes the parameters of one call.
#[derive(Debug, Default)]
struct ParamReader {
    params: u32,
    params_left: u32,
    values: u32,
    values_left: u32,
    /// Id of the parameter that is being read.
    id: u32,
    /// Positions of the values: in the input, or in `copies` if `copied`.
    pieces: Vec<Piece>,
    copied: bool,
    copies: Vec<u8>,
    /// Bytes of values left within [`limits::CALL_TEXT`].
    budget: usize,
    /// The value that is being read: its units, bytes left to read, bytes left to keep, and its
    /// start in `copies`.
    units: u32,
    left: usize,
    keep: usize,
    from: usize,
}

impl ParamReader {
    /// Begins a call with `params` parameters.
    #[inline(always)]
    fn begin(&mut self, params: u32) -> Result<Expect, DecodeError> {
        if params > limits::CLAIMED {
            return Err(DecodeError::Claims(params));
        }
        (self.params, self.params_left, self.values, self.values_left) = (params, params, 0, 0);
        self.pieces.clear();
        self.copied = false;
        self.budget = limits::CALL_TEXT;
        Ok(self.next())
    }

    #[inline(always)]
    const fn next(&self) -> Expect {
        match (self.values_left, self.params_left) {
            (0, 0) => Expect::Head,
            (0, _) => Expect::Param,
            _ => Expect::Length,
        }
    }

    /// Reads all parameters of a call; `None` if they are not whole in the input or exceed a limit.
    #[inline(always)]
    fn whole(&mut self, params: u32, token: &mut Scan<'_>, input: &[u8]) -> Option<()> {
        self.begin(params).ok()?;
        for _ in 0..params {
            let (id, values) = (token.varint()?, token.varint()?);
            if values > limits::CLAIMED {
                return None;
            }
            (self.id, self.units) = (id, 0);
            self.values += values;
            if values == 0 {
                self.put(0, 0);
            }
            for _ in 0..values {
                self.units = token.varint()?;
                if self.units > limits::TEXT || self.pieces.len() >= limits::CALL_VALUES {
                    return None;
                }
                let (from, length) = (input.len() - token.rest().len(), 2 * self.units as usize);
                self.budget = self.budget.checked_sub(length)?;
                if token.up_to(length).len() < length {
                    return None;
                }
                self.put(from, from + length);
            }
        }
        (self.params_left, self.values_left) = (0, 0);
        Some(())
    }

    /// Reads the id of a parameter and the number of its values.
    fn param(&mut self, scan: &mut Scan<'_>) -> Result<Option<Expect>, DecodeError> {
        let mut token = *scan;
        let (Some(id), Some(values)) = (token.varint(), token.varint()) else { return Ok(None) };
        *scan = token;
        if values > limits::CLAIMED {
            return Err(DecodeError::Claims(values));
        }
        self.id = id;
        self.params_left -= 1;
        self.values_left = values;
        self.values += values;
        if values == 0 {
            // A parameter without a value counts as present: call.red may have none.
            self.units = 0;
            self.put(0, 0);
        }
        Ok(Some(self.next()))
    }

    /// Reads the length of a value.
    fn length(&mut self, scan: &mut Scan<'_>) -> Result<Option<()>, DecodeError> {
        let Some(units) = scan.varint() else { return Ok(None) };
        if units > limits::UNITS {
            return Err(DecodeError::Units(units));
        }
        self.units = units;
        self.left = 2 * units as usize;
        let full = self.pieces.len() >= limits::CALL_VALUES;
        // Whole units only.
        self.keep =
            if full { 0 } else { self.left.min(2 * limits::TEXT as usize).min(self.budget & !1) };
        self.budget -= self.keep;
        self.from = self.copies.len();
        Ok(Some(()))
    }

    /// Reads a value; `None` until it is whole. `input`: the bytes with which `scan` began.
    fn value(&mut self, scan: &mut Scan<'_>, input: &[u8]) -> Option<Expect> {
        if !self.copied && scan.rest().len() < self.left {
            self.copy(input);
        }
        let from = input.len() - scan.rest().len();
        let piece = scan.up_to(self.left);
        self.left -= piece.len();
        let (keep, _) = piece.split_at(self.keep.min(piece.len()));
        if self.copied {
            self.copies.extend_from_slice(keep);
            self.keep -= keep.len();
            if self.left > 0 {
                return None;
            }
            self.put(self.from, self.copies.len());
        } else {
            self.put(from, from + keep.len());
        }
        self.values_left -= 1;
        Some(self.next())
    }

    #[inline(always)]
    fn put(&mut self, from: usize, to: usize) {
        if self.pieces.len() < limits::CALL_VALUES {
            self.pieces.push(Piece { id: self.id, from, to, units: self.units });
        }
    }

    /// Copies the values of an unfinished call out of `input`, which is gone at the next `step`.
    fn copy_unfinished(&mut self, input: &[u8]) {
        if !self.copied && !self.pieces.is_empty() {
            self.copy(input);
        }
    }

    fn copy(&mut self, input: &[u8]) {
        self.copied = true;
        self.copies.clear();
        for piece in &mut self.pieces {
            let from = self.copies.len();
            self.copies.extend_from_slice(input.get(piece.from..piece.to).unwrap_or_default());
            (piece.from, piece.to) = (from, self.copies.len());
        }
        self.from = self.copies.len();
    }

    /// All parameters, after [`Expect::Head`].
    #[inline(always)]
    fn params<'a>(&'a self, input: &'a [u8]) -> Params<'a> {
        let text = if self.copied { &self.copies } else { input };
        Params { pieces: &self.pieces, text, count: self.params, values: self.values }
    }

    /// Frees memory that an idle connection does not need.
    fn rest(&mut self) {
        self.pieces.shrink_to_fit();
        self.copies.shrink_to_fit();
    }

    /// Clears the values after a call was reported.
    #[inline(always)]
    fn end(&mut self) {
        self.pieces.clear();
        if self.copied {
            shrink(&mut self.copies);
            self.copied = false;
        }
    }
}
