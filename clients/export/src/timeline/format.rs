//! What a file of a time line has.

use std::io;

use crate::meaning::{Attributes, TraceId};

/// What is said of a slice or instant.
#[derive(Debug)]
pub struct Said<'a> {
    /// Its name, of which there are few.
    pub name: &'a str,
    /// `zorka.span`.
    pub category: &'a str,
    /// Its attributes.
    pub attributes: &'a Attributes<'a>,
    /// The trace that it is of, if the record says so.
    pub trace: Option<TraceId>,
}

/// A place where something is drawn.
#[derive(Debug)]
pub enum Track<'a> {
    /// An instance of PCP.
    Process {
        /// From 1.
        pid: u32,
        /// `shop.exe:4711 (mono)`.
        name: &'a str,
    },
    /// What happens in order: a thread, or a lane of it. Lanes of one thread have one name.
    Thread {
        /// The process.
        pid: u32,
        /// The track of the process.
        process: u32,
        /// The thread.
        name: &'a str,
        /// Threads of a low rank come first.
        rank: u32,
    },
    /// A number over time.
    Counter {
        /// The process.
        pid: u32,
        /// The track of the process.
        process: u32,
        /// What is counted.
        name: &'a str,
        /// Its unit as PCP writes it; may be empty.
        unit: &'a str,
    },
}

/// A file of a time line.
pub trait Format {
    /// Before all others: the time of the first of all, ns since 1970.
    ///
    /// # Errors
    /// The file cannot be written; so all others.
    fn start(&mut self, first: i64) -> io::Result<()>;

    /// A track, once, before what is on it. Tracks have the numbers 0, 1, 2, …; `id` is the same in each
    /// export.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    fn track(&mut self, number: u32, id: u64, track: &Track<'_>) -> io::Result<()>;

    /// Appends what is said of a slice or instant, as [`begin`](Self::begin) and
    /// [`instant`](Self::instant) get it, maybe later.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    fn encode(&mut self, said: &Said<'_>, out: &mut Vec<u8>) -> io::Result<()>;

    /// A slice. Its [`end`](Self::end) comes before the next one that begins no earlier than that.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    fn begin(&mut self, track: u32, span: (i64, i64), said: &[u8], flows: &[u64])
    -> io::Result<()>;

    /// The end of the slice of a track that began last.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    fn end(&mut self, track: u32, at: i64) -> io::Result<()>;

    /// Something without a length.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    fn instant(&mut self, track: u32, at: i64, said: &[u8], flows: &[u64]) -> io::Result<()>;

    /// The value of a counter.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    fn counter(&mut self, track: u32, at: i64, value: Number) -> io::Result<()>;

    /// All so far is to be in the file.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    fn flush(&mut self) -> io::Result<()>;

    /// No more comes.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    fn finish(&mut self) -> io::Result<()>;
}

/// A value of a counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A whole one.
    Int(i64),
    /// Another one, which is finite.
    Float(f64),
}
