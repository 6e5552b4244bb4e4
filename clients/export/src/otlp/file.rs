//! Requests in a file.

use std::collections::HashSet;
use std::io::{self, Write};

use crate::exporter::Summary;

use super::batch::{Batch, Form};
use super::build::{Choice, Otlp, Target};

/// How requests stand in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One request.
    Protobuf,
    /// One request, which pages open.
    Document,
    /// A request in each line, as the collector's `otlpjsonfile` reads them.
    Lines,
}

impl Otlp {
    /// Writes into a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn file(mut out: Box<dyn Write>, layout: Layout, choice: Choice) -> io::Result<Self> {
        if layout == Layout::Document {
            out.write_all(br#"{"resourceSpans":["#)?;
        }
        let form = if layout == Layout::Protobuf { Form::Protobuf } else { Form::Json };
        let file = File { out, layout, summary: Summary::default() };
        Ok(Self::new(choice, form, Box::new(file), HashSet::new()))
    }
}

struct File {
    out: Box<dyn Write>,
    layout: Layout,
    summary: Summary,
}

impl Target for File {
    fn send(&mut self, batch: Batch) -> io::Result<()> {
        match self.layout {
            Layout::Protobuf => self.out.write_all(&batch.protobuf())?,
            Layout::Document => {
                if self.summary.sent > 0 {
                    self.out.write_all(b",")?;
                }
                self.out.write_all(batch.resource_spans().as_bytes())?;
            }
            Layout::Lines => {
                self.out.write_all(batch.document().as_bytes())?;
                self.out.write_all(b"\n")?;
            }
        }
        self.summary.sent += batch.spans as u64;
        self.out.flush()
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn finish(&mut self) -> io::Result<Summary> {
        if self.layout == Layout::Document {
            self.out.write_all(b"]}\n")?;
        }
        self.out.flush()?;
        Ok(self.summary)
    }
}
