//! The content of one decoded trace body: flat lists that a decoder fills and the meter reads. They
//! are reused from body to body.

/// Bytes of the body, as start and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Slice {
    /// The bytes.
    pub(crate) fn of(self, body: &[u8]) -> &[u8] {
        body.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// No record, no span.
pub(crate) const NONE: u32 = u32::MAX;

/// The layout of records (docs/protocols/zorka.md 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// M: zorka 1.90.7 to 2.0.3; times in ns.
    #[default]
    Modern,
    /// S: the header of the streaming tracer; never on the wire.
    Streaming,
    /// N: the order of the public note.
    Note,
    /// L: zorka 1.90.1 to 1.90.6, words of 40 bits; times in ticks of 65,536 ns.
    Legacy,
    /// I: as L, with span ids.
    Interim,
}

/// A record: one call of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Position of the enclosing record; [`NONE`]: the root of a trace.
    pub(crate) parent: u32,
    /// Method id.
    pub(crate) method: u32,
    /// Entry: ns, or ticks of [`Dialect::Legacy`].
    pub(crate) start: i64,
    /// Duration in ns, 0 of a record that is not closed.
    pub(crate) duration: u64,
    /// Sum of the durations of direct children in ns.
    pub(crate) children: u64,
    /// Instrumented calls in the subtree, as the agent counts them.
    pub(crate) calls: u64,
    /// Position in [`TraceBody::spans`]; [`NONE`]: no span begins here.
    pub(crate) span: u32,
    /// Exceptions and references to exceptions in the record itself.
    pub(crate) exceptions: u16,
    /// The flags `FLAG_*` of the record's end, of all dialects in one form.
    pub(crate) flags: u8,
    /// The layout.
    pub(crate) dialect: Dialect,
}

/// Records were dropped by the agent.
pub(crate) const FLAG_OVERFLOW: u8 = 1;
/// The span ended in error.
pub(crate) const FLAG_ERROR: u8 = 2;
/// The span has been sent as a trace of its own.
pub(crate) const FLAG_SENT: u8 = 4;
/// The record has an end.
pub(crate) const FLAG_CLOSED: u8 = 8;

/// The begin of a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Begin {
    /// Position of its record.
    pub(crate) record: u32,
    /// Symbol id of the trace type.
    pub(crate) kind: u32,
    /// Wall clock in ms.
    pub(crate) clock: i64,
    /// Span id; 0: none.
    pub(crate) id: u64,
    /// Parent span id; 0: none.
    pub(crate) parent: u64,
}

/// An attribute of a record. Upward attributes stand at the record that they are for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Attribute {
    /// Position of the record.
    pub(crate) record: u32,
    /// Symbol id of the name.
    pub(crate) name: u32,
    /// Value.
    pub(crate) value: AttributeValue,
}

/// The value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AttributeValue {
    /// Text: bytes of the body, perhaps not UTF-8.
    Text(Slice),
    Int(i64),
    Float(f64),
    Bool(bool),
    /// Null or undefined.
    Null,
    /// Array, map or anything else: bytes of the body, well-formed CBOR.
    Other(Slice),
}

/// An exception that a record reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    /// Position of the record.
    pub(crate) record: u32,
    /// The agent's number of the exception.
    pub(crate) id: i64,
    /// Class.
    pub(crate) class: ClassName,
    /// Message, if any.
    pub(crate) message: Option<Slice>,
    /// Number of stack frames.
    pub(crate) frames: u32,
    /// The first frame.
    pub(crate) first: Option<Frame>,
}

/// The class of an exception: a symbol id, or in the note's layout a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClassName {
    Symbol(u32),
    Text(Slice),
}

/// A stack frame, as symbol ids; 0: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) class: u32,
    pub(crate) method: u32,
    pub(crate) file: u32,
    pub(crate) line: u32,
}

/// Everything in one trace body.
#[derive(Debug, Default)]
pub(crate) struct TraceBody {
    /// Records in the order of their starts: a parent precedes its children.
    pub(crate) records: Vec<Record>,
    /// Begins of spans, in the order of the body.
    pub(crate) spans: Vec<Begin>,
    /// Attributes, in the order of the body.
    pub(crate) attributes: Vec<Attribute>,
    /// Exceptions, in the order of the body.
    pub(crate) exceptions: Vec<Exception>,
    /// References to exceptions sent earlier.
    pub(crate) references: u32,
    /// Records without an end.
    pub(crate) unclosed: u32,
    /// Items with an unknown tag, which are skipped.
    pub(crate) unknown: u32,
}

impl TraceBody {
    /// Empties the lists and keeps their memory.
    pub(crate) fn clear(&mut self) {
        let Self { records, spans, attributes, exceptions, references, unclosed, unknown } = self;
        records.clear();
        spans.clear();
        attributes.clear();
        exceptions.clear();
        (*references, *unclosed, *unknown) = (0, 0, 0);
    }
}
