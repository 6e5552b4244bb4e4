//! The streams `xml` and `sql` (docs/protocols/java-profiler.md B.7): strings, one behind the
//! other.

use super::error::DecodeError;
use super::scan::{Machine, Numbers, Scan, Text, TextReader};
use crate::sources::profiler::limits;

/// Receives values.
pub(crate) trait ValueVisitor {
    /// A value; `offset` is the file offset of its length field.
    fn value(&mut self, offset: u64, value: Text<'_>);
}

/// Decodes one file.
#[derive(Debug, Default)]
pub(crate) struct ValueReader {
    /// Offset of the value that is being read.
    reading: Option<u64>,
    text: TextReader,
}

impl<V: ValueVisitor + ?Sized> Machine<V> for ValueReader {
    fn step(&mut self, scan: &mut Scan<'_>, visitor: &mut V) -> Result<(), DecodeError> {
        loop {
            if let Some(offset) = self.reading {
                let Some(value) = self.text.take(scan) else { return Ok(()) };
                visitor.value(offset, value);
                self.text.end();
                self.reading = None;
            }
            let offset = scan.offset();
            let Some(units) = scan.varint() else { return Ok(()) };
            self.text.begin(units, limits::TEXT)?;
            self.reading = Some(offset);
        }
    }

    fn at_boundary(&self) -> bool {
        self.reading.is_none()
    }
}
