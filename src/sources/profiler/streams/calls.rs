//! The stream `calls` (spec B.5): a header with version and time base, then one record for each
//! finished root call.
//!
//! ```text
//!  Header ─▶ Head ─▶ Tail ─▶ Param ─▶ Length ─▶ Value ─▶ Param, Length or Head
//!              │      ▲ │       └▶ Param or Head
//!              ▼      │ └▶ Head
//!   NameLength ─▶ Name
//! ```
//!
//! Values of parameters are borrowed from the input; only what a payload's end cuts off is copied.

use std::cmp::Ordering;

use super::call_values::{Next, Values};
use super::record::{Call, Corrupt, Params, Pointer};
use super::resume::Machine;
use super::scan::Scan;
use super::text::{Reader, Text};
use crate::sources::profiler::limits;

/// Takes calls.
pub(crate) trait Visitor {
    /// The next thread of this file; the first is 0.
    fn thread(&mut self, name: Text<'_>);
    /// One call: its numbers, without the name of its thread, and its parameters.
    fn call(&mut self, numbers: &Call<'static>, params: Params<'_>);
}

/// Upper half of the first long since version 1. Before, it was the time base.
const MAGIC: u64 = 0xfffe_fdfc;
/// The newest version.
const NEWEST: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Header,
    /// The call up to the index of its thread.
    Head,
    NameLength,
    Name,
    /// The numbers behind the thread.
    Tail,
    Param,
    Length,
    Value,
}

/// Reads one file.
#[derive(Debug)]
pub(crate) struct Calls {
    expect: Expect,
    version: u32,
    /// Start of the last call: the next one's is relative to it.
    start_ms: i64,
    /// Threads that have been introduced.
    threads: u32,
    thread_name: Reader,
    /// The numbers of the call that is being read.
    call: Call<'static>,
    values: Values,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            expect: Expect::Header,
            version: 0,
            start_ms: 0,
            threads: 0,
            thread_name: Reader::default(),
            call: Call {
                start_ms: 0,
                duration_ms: 0,
                method: 0,
                calls: 0,
                thread: 0,
                thread_name: None,
                logs_written: 0,
                logs_generated: 0,
                pointer: Pointer::default(),
                cpu_ms: 0,
                wait_ms: 0,
                memory: 0,
                file_read: 0,
                file_written: 0,
                net_read: 0,
                net_written: 0,
                transactions: 0,
                queue_wait_ms: 0,
                params: Params::default(),
            },
            values: Values::default(),
        }
    }
}

impl<V: Visitor + ?Sized> Machine<V> for Calls {
    fn step(&mut self, scan: &mut Scan<'_>, visitor: &mut V) -> Result<(), Corrupt> {
        let input = scan.rest();
        while self.token(scan, input, visitor)?.is_some() {}
        self.values.leave(input);
        Ok(())
    }

    fn at_boundary(&self) -> bool {
        matches!(self.expect, Expect::Header | Expect::Head)
    }
}

/// A 64-bit counter; agents send differences, which should not be negative.
const fn counter(pattern: u64) -> u64 {
    if pattern > i64::MAX as u64 { 0 } else { pattern }
}

/// A time that was a 32-bit number before it was written: negative ones have bit 31.
const fn time(pattern: u64) -> u64 {
    if pattern > i32::MAX as u64 { 0 } else { pattern }
}

impl Calls {
    /// Reads one token; `None` when it is not whole. `input` is what `scan` began with.
    #[inline]
    fn token<V: Visitor + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        input: &[u8],
        visitor: &mut V,
    ) -> Result<Option<()>, Corrupt> {
        match self.expect {
            Expect::Header => {
                let Some(base) = self.header(scan)? else { return Ok(None) };
                self.start_ms = base.cast_signed();
                self.expect = Expect::Head;
            }
            Expect::Head => {
                if self.head(scan).is_none() {
                    return Ok(None);
                }
                let (index, count) = (self.call.thread, self.threads);
                self.expect = match index.cmp(&count) {
                    Ordering::Less => Expect::Tail,
                    Ordering::Equal => Expect::NameLength,
                    Ordering::Greater => return Err(Corrupt::Thread { index, count }),
                };
            }
            Expect::NameLength => {
                let Some(units) = scan.varint() else { return Ok(None) };
                self.thread_name.begin(units, limits::THREAD_NAME)?;
                self.expect = Expect::Name;
            }
            Expect::Name => {
                let Some(name) = self.thread_name.take(scan) else { return Ok(None) };
                visitor.thread(name);
                self.thread_name.end();
                self.threads = self.threads.saturating_add(1);
                self.expect = Expect::Tail;
            }
            Expect::Tail => {
                let Some(params) = self.tail(scan) else { return Ok(None) };
                let next = self.values.begin(params)?;
                self.follow(next, input, visitor);
            }
            Expect::Param => {
                let Some(next) = self.values.param(scan)? else { return Ok(None) };
                self.follow(next, input, visitor);
            }
            Expect::Length => {
                if self.values.length(scan)?.is_none() {
                    return Ok(None);
                }
                self.expect = Expect::Value;
            }
            Expect::Value => {
                let Some(next) = self.values.value(scan, input) else { return Ok(None) };
                self.follow(next, input, visitor);
            }
        }
        Ok(Some(()))
    }

    fn header(&mut self, scan: &mut Scan<'_>) -> Result<Option<u64>, Corrupt> {
        let mut token = *scan;
        let Some(first) = token.u64() else { return Ok(None) };
        let base = if first >> 32 == MAGIC {
            #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
            let version = first as u32;
            if version > NEWEST {
                return Err(Corrupt::CallsVersion(version));
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

    #[inline]
    fn head(&mut self, scan: &mut Scan<'_>) -> Option<()> {
        let mut token = *scan;
        let (call, distance) = (&mut self.call, token.zigzag()?);
        call.method = token.varint()?;
        // Agents write it with the 64-bit encoder, and a clock that is set back makes it negative.
        call.duration_ms = counter(token.varlong()?);
        call.calls = token.varint()?;
        call.thread = token.varint()?;
        self.start_ms = self.start_ms.wrapping_add(distance.into());
        call.start_ms = self.start_ms;
        *scan = token;
        Some(())
    }

    /// The number of parameters is the last of it.
    #[inline]
    fn tail(&mut self, scan: &mut Scan<'_>) -> Option<u32> {
        let mut token = *scan;
        let call = &mut self.call;
        call.logs_written = token.varint()?;
        call.logs_generated = u64::from(call.logs_written) + u64::from(token.varint()?);
        call.pointer =
            Pointer { file: token.varint()?, offset: token.varint()?, index: token.varint()? };
        if self.version >= 4
            && let Some(
                [cpu, wait, memory, file_read, file_written, net_read, net_written, transactions],
            ) = token.eight_small()
        {
            // Most calls are short: they have nothing but zeros here.
            (call.cpu_ms, call.wait_ms, call.memory) = (cpu.into(), wait.into(), memory.into());
            (call.file_read, call.file_written) = (file_read.into(), file_written.into());
            (call.net_read, call.net_written) = (net_read.into(), net_written.into());
            call.transactions = transactions.into();
            call.queue_wait_ms = token.varint()?;
        } else {
            resources(call, &mut token, self.version)?;
        }
        let params = token.varint()?;
        *scan = token;
        Some(params)
    }

    #[inline]
    fn follow<V: Visitor + ?Sized>(&mut self, next: Next, input: &[u8], visitor: &mut V) {
        self.expect = match next {
            Next::Param => Expect::Param,
            Next::Length => Expect::Length,
            Next::End => {
                visitor.call(&self.call, self.values.params(input));
                self.values.end();
                Expect::Head
            }
        };
    }
}

/// The numbers that came with versions 2, 3 and 4.
#[inline]
fn resources(call: &mut Call<'_>, token: &mut Scan<'_>, version: u32) -> Option<()> {
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
