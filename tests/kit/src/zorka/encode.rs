//! A trace of many records, in the layout of the modern local tracer (docs/protocols/zorka.md 5.2).

/// What [`fib`] has encoded.
pub struct Fib {
    /// Symbols and methods of the body.
    pub definitions: Vec<u8>,
    pub body: Vec<u8>,
    /// Sum of the self times of all records: the duration of the root.
    pub time: u64,
}

/// Nanoseconds of one step: every start and every end is one later than the one before.
const STEP: u64 = 1_013;
/// `System.nanoTime()` of the root's start.
const START: u64 = 0x103_c783_13d9;
/// Ids of symbols and methods, as a small agent has them.
const TYPE: u8 = 11;
const CLASS: u8 = 12;
const ROOT: u8 = 1;
const CALLED: u8 = 9;

struct Encoder {
    out: Vec<u8>,
    clock: u64,
    left: u32,
    /// Numbers have 4 bytes, however small.
    wide: bool,
}

impl Encoder {
    fn time(&mut self) {
        self.out.push(0x1b);
        self.out.extend_from_slice(&self.clock.to_be_bytes());
        self.clock += STEP;
    }

    fn int(&mut self, value: u32) {
        match value {
            _ if self.wide => {
                self.out.push(0x1a);
                self.out.extend_from_slice(&value.to_be_bytes());
            }
            0..24 => self.out.push(value as u8),
            24..0x100 => self.out.extend_from_slice(&[0x18, value as u8]),
            0x100..0x1_0000 => {
                self.out.push(0x19);
                self.out.extend_from_slice(&(value as u16).to_be_bytes());
            }
            _ => {
                self.out.push(0x1a);
                self.out.extend_from_slice(&value.to_be_bytes());
            }
        }
    }

    fn start(&mut self, method: u8) {
        self.out.extend_from_slice(&[0xc3, 0x9f]);
        self.time();
        self.int(method.into());
        self.left -= 1;
    }

    fn end(&mut self, calls: u32, flags: u32) {
        self.out.extend_from_slice(&[0xc4, if flags == 0 { 0x82 } else { 0x83 }]);
        self.time();
        self.int(calls);
        if flags != 0 {
            self.int(flags);
        }
        self.out.push(0xff);
    }

    /// The calls of `fib(n)`, records as long as there are some left.
    fn fib(&mut self, n: u32) -> u32 {
        if self.left == 0 {
            return 1;
        }
        self.start(CALLED);
        let calls = if n < 2 { 1 } else { 1 + self.fib(n - 1) + self.fib(n - 2) };
        self.end(calls, 8);
        calls
    }

    /// A symbol (tag 1) or an attribute (tag 6).
    fn text(&mut self, tag: u8, id: u8, value: &str) {
        self.out.extend_from_slice(&[0xc0 | tag, 0x82, id, 0x78, value.len() as u8]);
        self.out.extend_from_slice(value.as_bytes());
    }

    fn method(&mut self, id: u8, name: u8, signature: u8) {
        self.out.extend_from_slice(&[0xc2, 0x84, id, CLASS, name, signature]);
    }
}

/// A trace of `records` records: a root with a span and attributes, and below it the recursion of
/// `fib(23)`, 24 deep, until the records are used up, with the mark of dropped records.
pub fn fib(records: u32) -> Fib {
    encode(records, false)
}

/// The same with longer numbers than agents send.
pub fn wide_fib(records: u32) -> Fib {
    encode(records, true)
}

fn encode(records: u32, wide: bool) -> Fib {
    let mut encoder = Encoder { out: Vec::new(), clock: START, left: records, wide };
    encoder.start(ROOT);
    encoder.out.extend_from_slice(&[0xc5, 0x83, 0x1b]);
    encoder.out.extend_from_slice(&0x1a1_fbdf_59a2_u64.to_be_bytes());
    encoder.out.extend_from_slice(&[TYPE, 0x1b]);
    encoder.out.extend_from_slice(&0x4389_c50f_5149_3286_u64.to_be_bytes());
    let attributes = [(1, "shop"), (2, "web1"), (3, "main"), (4, "null"), (5, "o0-1"), (6, "1")];
    for (name, value) in attributes {
        encoder.text(6, name, value);
    }
    let mut calls = 1;
    while encoder.left > 0 {
        calls += encoder.fib(23);
    }
    let time = encoder.clock - START;
    encoder.end(calls, 9);
    Fib { definitions: definitions(), body: encoder.out, time }
}

fn definitions() -> Vec<u8> {
    let mut encoder = Encoder { out: Vec::new(), clock: 0, left: 0, wide: false };
    let symbols = [
        (1, "local.service"),
        (2, "local.host"),
        (3, "thread.name"),
        (4, "component"),
        (5, "order"),
        (6, "round"),
        (TYPE, "demo"),
        (CLASS, "demo.Demo"),
        (13, "process"),
        (14, "(Ljava/lang/String;I)I"),
        (15, "fib"),
        (16, "(I)I"),
    ];
    for (id, text) in symbols {
        encoder.text(1, id, text);
    }
    encoder.method(ROOT, 13, 14);
    encoder.method(CALLED, 15, 16);
    encoder.out
}
