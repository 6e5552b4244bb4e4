//! The captures, a chunk made by hand, and a walk over all that a chunk has.

use std::io::Read;
use std::path::Path;

use jfr::{Chunk, Error, Names, Value, known};

/// A file of qa/corpus/jvm/jfr, unpacked.
pub fn capture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../qa/corpus/jvm/jfr").join(name);
    let packed = std::fs::read(&path).unwrap();
    if !name.ends_with(".gz") {
        return packed;
    }
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Looks at all that a chunk has. Returns how many events are sound, and how many values there were.
pub fn walk(bytes: &[u8]) -> Result<(usize, usize), Error> {
    let chunk = Chunk::open(bytes)?;
    let mut names = Names::new(&chunk);
    let (mut events, mut values) = (0, 0);
    for event in chunk.events() {
        let Ok(event) = event else { continue };
        events += 1;
        let _ = known(chunk.header(), &event);
        if let Some(key) = event.key("stackTrace") {
            let _ = names.stack(key).folded();
        }
        for (_, value) in event.fields() {
            values += 1 + deep(value, 0);
        }
    }
    Ok((events, values))
}

fn deep(value: Value<'_>, depth: u32) -> usize {
    let inner = |value| if depth < 3 { deep(value, depth + 1) } else { 0 };
    match value {
        Value::Record(record) => record.fields().map(|(_, value)| 1 + inner(value)).sum(),
        Value::List(list) => list.take(20).map(|value| 1 + inner(value)).sum(),
        Value::Text(text) => text.get().len().min(1),
        _ => 0,
    }
}

fn int(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..8 {
        if value < 0x80 {
            bytes.push(value as u8);
            return bytes;
        }
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn text(text: &str) -> Vec<u8> {
    [vec![3], int(text.len() as u64), text.into()].concat()
}

/// Bytes with their length in front, which counts itself: padded to four bytes as the JVM does.
fn sized(body: &[u8]) -> Vec<u8> {
    let size = body.len() as u64 + 4;
    let padded = [
        (size & 0x7f) as u8 | 0x80,
        (size >> 7 & 0x7f) as u8 | 0x80,
        (size >> 14 & 0x7f) as u8 | 0x80,
        0,
    ];
    [&padded, body].concat()
}

/// An element of metadata: its attributes are those that are not empty.
struct Element(&'static str, Vec<(&'static str, String)>, Vec<Self>);

impl Element {
    fn encode(&self, strings: &mut Vec<String>) -> Vec<u8> {
        let mut number = |text: &str| {
            let known = strings.iter().position(|known| known == text);
            let at = known.unwrap_or_else(|| {
                strings.push(text.to_owned());
                strings.len() - 1
            });
            int(at as u64)
        };
        let mut out = [number(self.0), int(self.1.len() as u64)].concat();
        for (key, value) in &self.1 {
            out.extend([number(key), number(value)].concat());
        }
        out.extend(int(self.2.len() as u64));
        self.2.iter().for_each(|child| out.extend(child.encode(strings)));
        out
    }
}

fn class(id: u64, name: &str, fields: &[(&str, u64, bool, bool)]) -> Element {
    let field = |(name, class, key, list): &(&str, u64, bool, bool)| {
        let mut is = vec![("name", (*name).to_owned()), ("class", class.to_string())];
        is.extend(key.then(|| ("constantPool", "true".to_owned())));
        is.extend(list.then(|| ("dimension", "1".to_owned())));
        Element("field", is, Vec::new())
    };
    let is = vec![("name", name.to_owned()), ("id", id.to_string())];
    Element("class", is, fields.iter().map(field).collect())
}

/// A chunk made by hand, and where the metadata and the last checkpoint are.
pub struct Made {
    pub bytes: Vec<u8>,
    pub metadata: usize,
    pub checkpoint: usize,
}

/// Two samples and one event of all kinds of values; the constants are in two checkpoints.
pub fn made() -> Made {
    let classes = vec![
        class(5, "int", &[]),
        class(6, "long", &[]),
        class(7, "boolean", &[]),
        class(8, "float", &[]),
        class(9, "double", &[]),
        class(10, "java.lang.String", &[]),
        class(11, "char", &[]),
        class(12, "short", &[]),
        class(13, "byte", &[("int", 5, false, false)]),
        class(20, "jdk.types.Symbol", &[("string", 10, false, false)]),
        class(21, "java.lang.Class", &[("name", 20, true, false)]),
        class(22, "jdk.types.Method", &[("type", 21, true, false), ("name", 20, true, false)]),
        class(
            23,
            "jdk.types.StackFrame",
            &[("method", 22, true, false), ("line", 5, false, false)],
        ),
        class(
            24,
            "jdk.types.StackTrace",
            &[("truncated", 7, false, false), ("frames", 23, false, true)],
        ),
        class(
            30,
            "jdk.ExecutionSample",
            &[("startTime", 6, false, false), ("stackTrace", 24, true, false)],
        ),
        class(
            31,
            "test.All",
            &[
                ("int", 5, false, false),
                ("long", 6, false, false),
                ("boolean", 7, false, false),
                ("float", 8, false, false),
                ("double", 9, false, false),
                ("text", 10, false, false),
                ("char", 11, false, false),
                ("short", 12, false, false),
                ("none", 10, false, false),
                ("latin", 10, false, false),
                ("units", 10, false, false),
                ("key", 10, false, false),
                ("list", 5, false, true),
                ("keys", 20, true, true),
                ("missing", 21, true, false),
            ],
        ),
    ];
    let root = Element(
        "root",
        vec![],
        vec![Element("metadata", vec![], classes), Element("region", vec![], vec![])],
    );
    let mut strings = Vec::new();
    let tree = root.encode(&mut strings);
    let mut body = [int(0), int(1), int(0), int(1), int(strings.len() as u64)].concat();
    strings.iter().for_each(|string| body.extend(text(string)));
    body.extend(tree);
    let mut bytes = vec![0; 68];
    let sample = |ticks, stack| sized(&[int(30), int(ticks), int(stack)].concat());
    bytes.extend(sample(1_000_500, 1));
    let first = bytes.len();
    let pool = |id, entries: &[(u64, Vec<u8>)]| {
        let mut out = [int(id), int(entries.len() as u64)].concat();
        entries.iter().for_each(|(key, value)| out.extend([int(*key), value.clone()].concat()));
        out
    };
    let checkpoint = |delta: i64, pools: &[Vec<u8>]| {
        let head = [int(1), int(5), int(0), int(delta as u64), vec![1], int(pools.len() as u64)];
        sized(&[head.concat(), pools.concat()].concat())
    };
    bytes.extend(checkpoint(
        0,
        &[
            pool(
                20,
                &[
                    (1, text("a/B")),
                    (2, text("run")),
                    (3, [vec![4], int(2), int(0x67), int(0x20ac)].concat()),
                ],
            ),
            pool(10, &[(7, text("by key"))]),
        ],
    ));
    bytes.extend(sample(2_001_000, 1));
    bytes.extend(sized(
        &[
            int(31),
            int(-7_i64 as u64),
            int(i64::MIN as u64),
            vec![1],
            1.5_f32.to_be_bytes().to_vec(),
            (-2.5_f64).to_be_bytes().to_vec(),
            text("grün"),
            int(0xe9),
            int(-2_i64 as u64),
            vec![0],
            vec![5, 2, b'x', 0xe9],
            [vec![4], int(1), int(0x20ac)].concat(),
            [vec![2], int(7)].concat(),
            [int(3), int(1), int(2), int(3)].concat(),
            [int(2), int(2), int(99)].concat(),
            int(77),
        ]
        .concat(),
    ));
    // One of a class that nobody knows.
    bytes.extend(sized(&[int(999), vec![9; 5]].concat()));
    let last = bytes.len();
    bytes.extend(checkpoint(
        first as i64 - last as i64,
        &[
            pool(21, &[(1, int(1))]),
            pool(22, &[(1, [int(1), int(2)].concat()), (2, [int(1), int(3)].concat())]),
            pool(
                24,
                &[(
                    1,
                    [vec![1], int(3), int(2), int(10), int(1), int(11), int(8), int(12)].concat(),
                )],
            ),
        ],
    ));
    let metadata = bytes.len();
    bytes.extend(sized(&body));
    let mut made = Made { bytes, metadata, checkpoint: last };
    made.seal();
    made
}

impl Made {
    /// Writes the header anew.
    pub fn seal(&mut self) {
        let numbers: [u64; 7] = [
            self.bytes.len() as u64,
            self.checkpoint as u64,
            self.metadata as u64,
            1_700_000_000_000_000_000,
            4_000_000_000,
            1_000_000,
            500_000,
        ];
        let mut header = b"FLR\0\0\x02\0\x01".to_vec();
        numbers.iter().for_each(|number| header.extend(number.to_be_bytes()));
        header.extend([0, 0, 0, 1]);
        self.bytes[..68].copy_from_slice(&header);
    }
}
