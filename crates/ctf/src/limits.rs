//! Limits for metadata and packets, each with its unit and reason. They are checked before anything
//! is allocated.

/// Bytes of metadata of one trace. .NET Core 3.1 with all 160 event classes has 77 KB, a whole
/// Linux kernel about 2 MB.
pub const METADATA: u64 = 16 << 20;
/// Bytes of one declaration of TSDL. The largest seen is 12 KB (an enumeration of system calls).
pub const DECLARATION: u64 = 4 << 20;
/// Bytes of one fragment of CTF 2. A JSON tree takes about twenty times its text.
pub const FRAGMENT: u64 = 1 << 20;
/// Bytes of one packet of packetised metadata. The tracer writes 4096.
pub const METADATA_PACKET: u64 = 16 << 20;
/// Bytes of an identifier or of a string in the metadata.
pub const NAME: u64 = 64 << 10;
/// Levels of nested field classes and brackets. The deepest seen has 5.
pub const DEPTH: u64 = 32;
/// Bits of an alignment.
pub const ALIGNMENT: u64 = 1 << 20;
/// Clock classes of a trace.
pub const CLOCKS: u64 = 64;
/// Entries of a trace's environment.
pub const ENVIRONMENT: u64 = 4096;
/// Data stream classes of a trace.
pub const STREAM_CLASSES: u64 = 1024;
/// Event record classes of a data stream class.
pub const EVENT_CLASSES: u64 = 64 << 10;
/// Fields of one event record class, its contexts included, with every option of its variants. A
/// named structure can be used many times, so a few lines of metadata can declare any number of
/// fields.
pub const FIELDS: u64 = 16 << 10;
/// Fields of all classes of a trace, for the same reason. A whole kernel has about 40 000.
pub const TRACE_FIELDS: u64 = 128 << 10;
/// Bytes of the names (`a.b.c`) of one event class's fields.
pub const NAMES: u64 = 1 << 20;
/// Bytes of the names of all fields of a trace.
pub const TRACE_NAMES: u64 = 16 << 20;
/// Field classes, fields and mappings declared by the metadata of a trace. Each may take some
/// hundred bytes of memory for four bytes of text.
pub const DECLARED: u64 = 256 << 10;
/// Ranges of the mappings of one enumeration, and of the options of one variant.
pub const RANGES: u64 = 64 << 10;
/// Fields of a packet's header and context and of the event header that are lengths or selectors of
/// later fields.
pub const OUTER_REFERENCES: u32 = 64;
/// Operations for each bit of a packet. Fields can have 0 bits (empty structures, arrays of them),
/// so a small packet could need unlimited work; real packets need less than one operation per bit.
pub const WORK_FOR_BIT: u64 = 16;
/// Operations for each packet, in addition to [`WORK_FOR_BIT`].
pub const WORK: u64 = 64 << 10;
