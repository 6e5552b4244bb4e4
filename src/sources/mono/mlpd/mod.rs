//! Streams of Mono's log profiler, data versions 13 to 17 (docs/protocols/mono-mlpd.md).
//!
//! ```text
//!  bytes ─▶ file (gzip, holes) ─▶ decoder (header, buffers) ─▶ decode (events, items of long ones) ─▶ Visitor
//! ```
//!
//! The decoder knows neither names nor threads: it makes values absolute and hands them over in the
//! order of the stream. It retains nothing but the header; the incomplete item at the end of the
//! input stays there.

mod cursor;
mod decode;
mod decoder;
mod file;
#[cfg(test)]
mod tests;

pub use decoder::{Decoder, Header, MAGIC};
pub use file::FileDecoder;

/// First bytes of a gzip stream: the log profiler with its option `zip`.
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Events of a collection ([`Event::Gc`]).
pub mod gc {
    #![expect(missing_docs, reason = "Mono's own words")]
    pub const START: u8 = 0;
    pub const END: u8 = 5;
    pub const PRE_STOP_WORLD: u8 = 6;
    pub const POST_STOP_WORLD: u8 = 7;
    pub const PRE_START_WORLD: u8 = 8;
    pub const POST_START_WORLD: u8 = 9;
    pub const PRE_STOP_WORLD_LOCKED: u8 = 10;
    pub const POST_START_WORLD_UNLOCKED: u8 = 11;
}

/// Events of a lock ([`Event::Monitor`]).
pub mod monitor {
    /// A thread begins to wait.
    pub const CONTENTION: u8 = 1;
    /// It has the lock.
    pub const DONE: u8 = 2;
    /// It has given up.
    pub const FAIL: u8 = 3;
}

/// Kinds of clauses ([`Event::Clause`]).
pub mod clause {
    #![expect(missing_docs, reason = "Mono's own words")]
    pub const CATCH: u8 = 0;
    pub const FILTER: u8 = 1;
    pub const FINALLY: u8 = 2;
    pub const FAULT: u8 = 4;
}

/// Kinds of synchronisation points ([`Event::Sync`]).
pub mod sync {
    /// Each second: all threads' buffers have been written.
    pub const PERIODIC: u8 = 0;
    /// The world is stopped.
    pub const WORLD_STOP: u8 = 1;
    /// The world will be started.
    pub const WORLD_START: u8 = 2;
}

/// The start of a buffer: events of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    /// The thread that wrote it (an id of the thread library, as in [`Event::Thread`]).
    pub thread: u64,
    /// Time base, in ns of `CLOCK_MONOTONIC`. Events may be older.
    pub time: u64,
    /// Pointer base.
    pub pointer: u64,
    /// Object base, already shifted.
    pub object: u64,
    /// Method base.
    pub method: u64,
    /// Bytes of events.
    pub length: u32,
}

/// What happened to a thing of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// It was loaded.
    Load,
    /// It was unloaded.
    Unload,
    /// It was named.
    Name,
}

/// The description of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter<'a> {
    /// Section, a bit of Mono's; 0x8000: user counters.
    pub section: u64,
    /// Category; empty except for user counters.
    pub category: &'a [u8],
    /// Name.
    pub name: &'a [u8],
    /// Mono's number of the type.
    pub kind: u64,
    /// Mono's number of the unit; versions 13 and 14 do not have it.
    pub unit: Option<u64>,
    /// Mono's number of the variance; versions 13 and 14 do not have it.
    pub variance: Option<u64>,
    /// Index in samples, never 0.
    pub index: u64,
}

/// A sampled value. Integers are differences to the sample before, except for user counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// int, word, long, time interval
    Signed(i64),
    /// uint, ulong
    Unsigned(u64),
    /// Absolute.
    Double(f64),
    /// Absolute; `None`: null.
    Text(Option<&'a [u8]>),
}

/// An event, or an item of a long one ([`is_item`](Event::is_item)). Ids and addresses are
/// absolute; texts are UTF-8 as the process wrote them, unchecked. `frames`: ids of methods, the
/// outermost first, the innermost 32 at most; of samples the innermost first.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields have the names of the format's table")]
pub enum Event<'a> {
    /// An object was allocated. `vtable`: a class in versions 13 and 14.
    Alloc { vtable: u64, object: u64, size: u64, frames: &'a [u64] },
    /// A step of a collection, [`gc`].
    Gc { event: u8, generation: u8 },
    /// The heap's size is now this, in bytes.
    HeapResize { size: u64 },
    /// Objects moved: so many [`Event::Move`] follow.
    Moves { count: u64 },
    /// Item: an object moved.
    Move { from: u64, to: u64 },
    /// A handle was created: weak, weak track, normal, pinned.
    HandleCreated { kind: u64, handle: u64, object: u64, frames: &'a [u64] },
    /// A handle was destroyed.
    HandleDestroyed { kind: u64, handle: u64, frames: &'a [u64] },
    /// The finalizer thread begins with its queue.
    FinalizersStart,
    /// The queue is empty.
    FinalizersEnd,
    /// The finalizer of an object begins.
    FinalizeStart { object: u64 },
    /// It has ended.
    FinalizeEnd { object: u64 },
    /// A class.
    Class { act: Act, id: u64, image: u64, name: &'a [u8] },
    /// An image. `mvid` is empty except for loads of versions 16 and 17.
    Image { act: Act, id: u64, name: &'a [u8], mvid: &'a [u8] },
    /// An assembly. `image` is 0 in version 13.
    Assembly { act: Act, id: u64, image: u64, name: &'a [u8] },
    /// An application domain. `name` is empty unless it is named.
    Domain { act: Act, id: u64, name: &'a [u8] },
    /// A thread. `name` is empty unless it is named.
    Thread { act: Act, id: u64, name: &'a [u8] },
    /// A context.
    Context { act: Act, id: u64, domain: u64 },
    /// A vtable.
    Vtable { act: Act, id: u64, domain: u64, class: u64 },
    /// A method was entered.
    Enter { method: u64 },
    /// A method was left.
    Leave { method: u64 },
    /// A method was left by an exception.
    ExceptionLeave { method: u64 },
    /// The full name of a method with code. `size`: bytes of code; `None` if it is outside 0 to 16
    /// MiB, because the code had been freed.
    Method { method: u64, code: u64, size: Option<u32>, name: &'a [u8] },
    /// An exception was thrown, or thrown again.
    Throw { object: u64, frames: &'a [u64] },
    /// A clause runs, [`clause`]. `object` is 0 in version 13.
    Clause { kind: u8, index: u64, method: u64, object: u64 },
    /// A step of a contended lock, [`monitor`].
    Monitor { event: u8, object: u64, frames: &'a [u64] },
    /// A heap shot begins.
    HeapStart,
    /// It ends.
    HeapEnd,
    /// A live object. `size` 0: more references of the object before. `references` are skipped.
    /// `vtable`: a class in versions 13 and 14.
    HeapObject { object: u64, vtable: u64, size: u64, generation: u8, references: u64 },
    /// Roots of the heap: so many [`Event::Root`] follow.
    Roots { count: u64 },
    /// Item: a root. `address` is 0 in versions 13 and 14.
    Root { address: u64, object: u64 },
    /// Memory with roots was registered.
    RootRegister { start: u64, size: u64, source: u8, key: u64, name: &'a [u8] },
    /// And is no longer.
    RootUnregister { start: u64 },
    /// A sample of a thread. `ips`: native addresses, the innermost first, as `frames`.
    Hit { thread: u64, ips: &'a [u64], frames: &'a [u64] },
    /// The name of native code.
    NativeSymbol { address: u64, size: u64, name: &'a [u8] },
    /// A native library.
    NativeBinary { address: u64, offset: u64, size: u64, name: &'a [u8] },
    /// Counters are described: so many [`Event::Counter`] follow.
    Counters { count: u64 },
    /// Item: a counter.
    Counter(Counter<'a>),
    /// Counters are sampled: [`Event::Value`]s follow, and [`Event::SampleEnd`].
    Sample,
    /// Item: a value. `kind`: Mono's number of the type.
    Value { index: u64, kind: u64, value: Value<'a> },
    /// Item: the sample is whole.
    SampleEnd,
    /// Code that is no method; `name` may be empty. `kind` as from version 14 on.
    CodeBuffer { kind: u8, address: u64, size: u64, name: &'a [u8] },
    /// Code coverage, skipped.
    Coverage,
    /// A synchronisation point, [`sync`].
    Sync { kind: u8 },
    /// The id of the process's code compiled ahead of time.
    AotId { id: &'a [u8] },
}

impl Event<'_> {
    /// Not an event of its own, but an item of the event before it.
    #[must_use]
    pub const fn is_item(&self) -> bool {
        matches!(
            self,
            Self::Move { .. }
                | Self::Root { .. }
                | Self::Counter(_)
                | Self::Value { .. }
                | Self::SampleEnd
        )
    }
}

/// What a stream brings, in its order.
pub trait Visitor {
    /// The header: once, before all else.
    fn header(&mut self, header: &Header) {
        let _ = header;
    }

    /// A buffer begins.
    fn buffer(&mut self, buffer: &Buffer) {
        let _ = buffer;
    }

    /// An event, or an item of one. `time`: ns of `CLOCK_MONOTONIC`, wrapping; not in order, neither
    /// between threads nor always within one. An item has its event's.
    fn event(&mut self, time: u64, event: Event<'_>);

    /// The rest of the buffer cannot be decoded: so many bytes with an unknown number of events are
    /// lost, and with them differences of counters. The last event may lack items.
    fn bad(&mut self, reason: BadBuffer, lost: u64) {
        let _ = (reason, lost);
    }

    /// The buffer has ended.
    fn buffer_end(&mut self) {}

    /// Bytes between two buffers are missing or none of the log profiler's (files only): buffers
    /// are lost, and with them differences of counters.
    fn hole(&mut self, bytes: u64) {
        let _ = bytes;
    }
}

/// Why the rest of a stream cannot be decoded. What came before counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MlpdError {
    /// The stream does not begin as one of the log profiler.
    #[error("no log profiler stream")]
    Signature,
    /// A data version other than 13 to 17.
    #[error("data version {0}, not 13 to 17")]
    Version(u8),
    /// Flags of the header that are not defined.
    #[error("header with flags {0:#x}")]
    Flags(u32),
    /// A text of the header over its limit, in bytes.
    #[error("header text of {0} bytes")]
    HeaderText(u32),
    /// No buffer where one must begin, at this byte of the stream.
    #[error("no buffer at byte {0} of the stream")]
    NoBuffer(u64),
    /// A second header where a buffer must begin, at this byte: another process wrote there.
    #[error("another header at byte {0} of the stream")]
    SecondHeader(u64),
    /// A broken gzip stream.
    #[error("broken gzip stream")]
    Gzip,
    /// A buffer over its limit, in bytes.
    #[error("buffer of {0} bytes")]
    BufferLength(u32),
}

/// Why the rest of one buffer cannot be decoded. The next buffer can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBuffer {
    /// An event ends behind the buffer.
    #[error("an event ends behind its buffer")]
    Truncated,
    /// This first byte of an event means none in this data version.
    #[error("unknown event {0:#04x}")]
    UnknownEvent(u8),
    /// This kind of metadata means none in this data version.
    #[error("unknown metadata {0}")]
    UnknownMetadata(u8),
    /// A value of a counter of this unknown type, whose length is unknown.
    #[error("counter of type {0}")]
    UnknownCounterType(u64),
    /// A number of more than ten bytes.
    #[error("number without end")]
    Number,
    /// A text that does not end in the buffer, or is over its limit.
    #[error("text without end")]
    Text,
    /// A backtrace over its limit.
    #[error("backtrace of {0} frames")]
    Frames(u64),
}

/// Why an item cannot be decoded now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The item is not whole.
    Short,
    Bad(BadBuffer),
}

impl From<BadBuffer> for Stop {
    fn from(bad: BadBuffer) -> Self {
        Self::Bad(bad)
    }
}
