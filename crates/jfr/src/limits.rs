//! Limits for chunks, each with its unit and reason. They are checked before anything is allocated.

/// Bytes of a chunk. The JVM begins a new one after 12 MB.
pub const CHUNK: u64 = 256 << 20;
/// Bytes of the event with the metadata. JDK 17 has 96 KB, JDK 25 111 KB.
pub const METADATA: usize = 8 << 20;
/// Strings of the metadata. JDK 25 has some 2,000.
pub const STRINGS: u64 = 128 << 10;
/// Elements of the metadata. JDK 25 has some 4,000.
pub const ELEMENTS: u32 = 128 << 10;
/// Levels of elements. There are four: root, metadata, class, field with its annotations.
pub const ELEMENT_DEPTH: u32 = 8;
/// Levels of values within values, without those that constants refer to. The deepest seen is three.
pub const DEPTH: u32 = 16;
/// Constants of a chunk; each takes some 30 bytes of memory. A recording of 4 s has some 1,500.
pub const CONSTANTS: usize = 512 << 10;
/// Frames of a stack. The JVM takes 64 unless it is told to take more, at most 2,048.
pub const FRAMES: usize = 2048;
/// Characters of a text that is made. Longer ones are cut: of a message one sees the begin.
pub const TEXT: usize = 4096;
/// Names of methods of a chunk; the others are `?`. Large programs run some 10,000 in a minute.
pub const NAMES: usize = 64 << 10;
/// Bytes of the name of a method. Longer ones are cut.
pub const NAME: usize = 512;
/// Bytes that may be walked for each byte of a chunk: constants are walked for each event that refers to them. Those of
/// JDK 17 and 25 take less than 2.
pub const STEPS: u64 = 64;
