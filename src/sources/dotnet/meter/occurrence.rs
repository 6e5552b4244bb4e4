//! What event records are made of.

use crate::model::Stamp;
use crate::sources::dotnet::clr::Utf16;

/// Time and place of an event.
#[derive(Clone, Copy, Debug, Default)]
pub struct At<'a> {
    /// Time in ns since an arbitrary start: only differences within a stream count.
    pub time: u64,
    /// Wall clock.
    pub stamp: Stamp,
    /// Thread, as the process sees it.
    pub thread: u64,
    /// The thread that wrote the event: pairs of events are of the same one.
    pub capture_thread: u64,
    /// Method that waits, if stacks and methods are known: it names the lock.
    pub method: Option<&'a str>,
}

/// A finished garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gc {
    /// Number, as the runtime counts.
    pub number: u32,
    /// Generation that was collected.
    pub generation: u32,
    /// See [`gc_reason`](crate::sources::dotnet::clr::gc_reason).
    pub reason: u32,
    /// See [`gc_type`](crate::sources::dotnet::clr::gc_type).
    pub kind: u32,
    /// Sum of its pauses in ns; `None`: no pause counts for it.
    pub pause: Option<u64>,
    /// Time from start to end in ns.
    pub duration: u64,
    /// Sizes in bytes, if the stream has them.
    pub heap: Option<HeapChange>,
}

/// Sizes of the heap around a collection in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapChange {
    /// After the collection before; `None`: it was not seen.
    pub before: Option<u64>,
    /// After the collection.
    pub after: u64,
    /// Survivors of the generations that were collected.
    pub promoted: u64,
}

/// An event, or the end of a pair of events, of which a record can be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Occurrence<'a> {
    /// The end of a garbage collection.
    Gc(Gc),
    /// An exception.
    Exception {
        /// Type with namespace.
        kind: Utf16<'a>,
        /// Message: personal data.
        message: Utf16<'a>,
        /// HRESULT.
        hresult: u32,
        /// 1 inner, 2 nested, 4 rethrown, 8 corrupted state, 16 CLS compliant.
        flags: u16,
    },
    /// The end of a wait for a lock.
    Contention {
        /// Time of the wait in ns.
        duration: u64,
        /// The lock's number; 0: unknown.
        lock: u64,
        /// Thread that held the lock when the wait began; 0: unknown.
        owner: u64,
    },
    /// An adjustment of the thread pool.
    Adjustment {
        /// Threads that the pool wants.
        target: u32,
        /// Work items completed a second.
        throughput: f64,
        /// See [`pool_reason`](crate::sources::dotnet::clr::pool_reason).
        reason: u32,
    },
    /// An assembly was loaded.
    Assembly {
        /// Full name.
        name: Utf16<'a>,
    },
    /// A method was compiled.
    Method {
        /// Type with namespace.
        namespace: Utf16<'a>,
        /// Name without type.
        name: Utf16<'a>,
        /// Signature.
        signature: Utf16<'a>,
        /// Bytes of IL, if its start was seen.
        il_bytes: Option<u32>,
        /// Time to compile in ns, if its start was seen.
        duration: Option<u64>,
        /// Its flags: see [`tier`](crate::sources::dotnet::clr::tier).
        flags: u32,
    },
    /// A sample of allocations.
    Allocation {
        /// Type of the object with namespace.
        kind: Utf16<'a>,
        /// Bytes that the sample stands for.
        bytes: u64,
    },
}
