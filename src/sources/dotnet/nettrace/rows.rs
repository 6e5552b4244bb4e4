//! Blobs of event and metadata blocks (docs/protocols/dotnet.md 3, 4).

use super::bytes::Bytes;

/// Bytes of the header of a block of events.
const HEADER: usize = 20;

static ZERO: [u8; 16] = [0; 16];

/// The blobs of a block.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    bytes: Bytes<'a>,
    length: usize,
    compressed: bool,
    six: bool,
    row: Row<'a>,
}

/// The values of a blob's header. Each block begins with zeros.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) type_id: u32,
    pub(super) sequence: u32,
    pub(super) capture_thread: u64,
    pub(super) thread: u64,
    pub(super) stack: u32,
    pub(super) time: u64,
    pub(super) activity: &'a [u8; 16],
    pub(super) related: &'a [u8; 16],
    /// Id of a list of labels, in version 6 in place of the activities.
    pub(super) labels: u32,
    pub(super) sorted: bool,
    size: u32,
}

impl<'a> Rows<'a> {
    /// The blobs of a block behind its header.
    pub(super) fn new(body: &'a [u8], six: bool) -> Option<Self> {
        let mut b = Bytes::new(body);
        let (header, flags) = (usize::from(b.u16()?), b.u16()?);
        b.take(header.max(HEADER) - 4)?;
        let row = Row {
            type_id: 0,
            sequence: 0,
            capture_thread: 0,
            thread: 0,
            stack: 0,
            time: 0,
            activity: &ZERO,
            related: &ZERO,
            labels: 0,
            sorted: false,
            size: 0,
        };
        Some(Self { bytes: b, length: body.len(), compressed: flags & 1 != 0, six, row })
    }

    /// Bytes not yet read.
    pub(super) const fn left(&self) -> usize {
        self.bytes.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next blob: header and payload. `None`: it does not fit the block.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(&Row<'a>, &'a [u8])> {
        let payload = if self.compressed {
            // The position stays in registers.
            let mut b = self.bytes;
            let payload = self.row.compressed(&mut b, self.six);
            self.bytes = b;
            payload
        } else {
            self.plain()
        }?;
        Some((&self.row, payload))
    }

    /// A blob without compression, of versions 4 and 5.
    #[cold]
    fn plain(&mut self) -> Option<&'a [u8]> {
        let Self { bytes: b, row, .. } = self;
        let _size = b.u32()?;
        let id = b.u32()?;
        // The bit is set on events that are *not* sorted.
        (row.type_id, row.sorted) = (id & !(1 << 31), id >> 31 == 0);
        (row.sequence, row.thread, row.capture_thread) = (b.u32()?, b.u64()?, b.u64()?);
        let _processor = b.u32()?;
        (row.stack, row.time) = (b.u32()?, b.u64()?);
        if self.six {
            row.labels = b.u32()?;
        } else {
            (row.activity, row.related) = (b.chunk()?, b.chunk()?);
        }
        row.size = b.u32()?;
        let payload = b.take(row.size as usize)?;
        let padding = (self.length - b.len()).wrapping_neg() % 4;
        b.take(padding.min(b.len()))?;
        Some(payload)
    }
}

impl<'a> Row<'a> {
    /// The header of a blob with compression: what has changed since the one before. Returns the
    /// payload.
    #[inline(always)]
    fn compressed(&mut self, b: &mut Bytes<'a>, six: bool) -> Option<&'a [u8]> {
        let flags = b.u8()?;
        if flags & 1 != 0 {
            self.type_id = b.var32()?;
        }
        if flags & 2 != 0 {
            self.sequence = self.sequence.wrapping_add(b.var32()?);
            self.capture_thread = b.var64()?;
            // The processor: unknown on Linux.
            b.skip_var()?;
        }
        self.sequence = self.sequence.wrapping_add(u32::from(self.type_id != 0 || six));
        if flags & 4 != 0 {
            self.thread = b.var64()?;
        }
        if flags & 8 != 0 {
            self.stack = b.var32()?;
        }
        self.time = self.time.wrapping_add(b.var64()?);
        if flags & 48 != 0 {
            if six {
                if flags & 16 != 0 {
                    self.labels = b.var32()?;
                }
            } else {
                if flags & 16 != 0 {
                    self.activity = b.chunk()?;
                }
                if flags & 32 != 0 {
                    self.related = b.chunk()?;
                }
            }
        }
        self.sorted = flags & 64 != 0;
        if flags & 128 != 0 {
            self.size = b.var32()?;
        }
        b.take(self.size as usize)
    }
}
