//! The bytes of the packets of one stream, read from its files one after the other.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::files::StreamFiles;
use crate::error::{PacketError, Violation};
use crate::packet::{DiscardTracker, Discarded, Packet};
use crate::trace::Trace;

/// Bytes read to find the size of a packet; more only if its header is longer.
const PREFIX: u64 = 4096;

/// A stream with the bytes of one packet in memory. The packet is with the [reader](super::Reader).
#[derive(Debug)]
pub(super) struct StreamReader<'t> {
    trace: &'t Trace,
    /// The first file.
    name: &'t Path,
    /// Files that are not open yet.
    paths: &'t [PathBuf],
    /// The current file, and the number of its unread bytes.
    file: Option<(File, u64)>,
    /// The current packet, and possibly the beginning of the next one.
    bytes: Vec<u8>,
    /// Bytes of the current packet.
    size: usize,
    clock: u64,
    tracker: DiscardTracker,
}

impl<'t> StreamReader<'t> {
    pub(super) fn new(trace: &'t Trace, files: &'t StreamFiles) -> Self {
        Self {
            trace,
            name: files.name(),
            paths: &files.paths,
            file: None,
            bytes: Vec::new(),
            size: 0,
            clock: 0,
            tracker: DiscardTracker::default(),
        }
    }

    /// The first file of the stream.
    pub(super) const fn name(&self) -> &'t Path {
        self.name
    }

    /// Reads the packet after this one. `None`: the end of the stream.
    pub(super) fn next_packet(
        &mut self,
        before: Option<Packet<'t, 'static>>,
    ) -> Result<Option<(Packet<'t, 'static>, Discarded)>, Error> {
        if let Some(packet) = before {
            self.clock = packet.clock();
        }
        self.bytes.drain(..self.size.min(self.bytes.len()));
        self.size = 0;
        while self.bytes.is_empty() && self.left() == 0 {
            let Some((path, rest)) = self.paths.split_first() else { return Ok(None) };
            let io = |error| Error::Io { path: path.clone(), error };
            self.paths = rest;
            let file = File::open(path).map_err(io)?;
            let length = file.metadata().map_err(io)?.len();
            self.file = Some((file, length));
        }
        let packet = self.read_packet();
        if packet.is_err() {
            // The start of the next packet is unknown: the rest of the file is lost.
            self.bytes.clear();
            self.file = None;
        }
        let packet = packet?;
        let discarded = self.tracker.packet(packet.info());
        Ok(Some((packet, discarded)))
    }

    fn read_packet(&mut self) -> Result<Packet<'t, 'static>, Error> {
        let mut wanted = PREFIX;
        let size = loop {
            self.fill(wanted)?;
            let here = self.bytes.len() as u64;
            match Packet::size(self.trace, &self.bytes) {
                Ok(Some(size)) => break size,
                // A packet without a size takes the rest of the file.
                Ok(None) => break here.saturating_add(self.left()),
                Err(error) if error.is_short() && self.left() > 0 => wanted = here * 2,
                Err(error) => return Err(self.error(error)),
            }
        };
        let available = (self.bytes.len() as u64).saturating_add(self.left());
        if size == 0 || size > available {
            let [got, max] = [size, available].map(|bytes| bytes.saturating_mul(8));
            let field = "stream.packet.context.packet_size".into();
            let violation = Violation::Size { got, max };
            return Err(self.error(PacketError { bit: 0, field, violation }));
        }
        self.fill(size)?;
        self.size = usize::try_from(size).unwrap_or(usize::MAX);
        let packet = Packet::open(self.trace, self.packet_bytes(), self.clock);
        packet.map(Packet::detach).map_err(|error| self.error(error))
    }

    /// Unread bytes of the file.
    fn left(&self) -> u64 {
        self.file.as_ref().map_or(0, |(_, left)| *left)
    }

    /// Reads until `wanted` bytes are buffered, or the file ends.
    fn fill(&mut self, wanted: u64) -> Result<(), Error> {
        let Some((file, left)) = &mut self.file else { return Ok(()) };
        let missing = wanted.saturating_sub(self.bytes.len() as u64).min(*left);
        match file.take(missing).read_to_end(&mut self.bytes) {
            Ok(count) => {
                // The file was truncated meanwhile: it ends here.
                *left = if (count as u64) < missing { 0 } else { *left - missing };
                Ok(())
            }
            Err(error) => Err(Error::Io { path: self.name.to_owned(), error }),
        }
    }

    /// The bytes of the current packet.
    pub(super) fn packet_bytes(&self) -> &[u8] {
        self.bytes.get(..self.size).unwrap_or(&self.bytes)
    }

    fn error(&self, error: PacketError) -> Error {
        Error::Packet { path: self.name.to_owned(), error }
    }
}
