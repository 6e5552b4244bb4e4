//! Every decoder of a Java profiler's streams on any bytes in any pieces. Records do not depend on
//! the pieces; texts, parameters and memory stay within their limits; after an error the file has
//! no more records, and the next file is decoded again.
use std::sync::Arc;

use pmdaapm::sources::profiler::{
    BigValue, Block, Call, DecodeError, Definition, Dictionary, File, GcPause, Interner, Observer,
    Opened, Pause, StreamKind, Streams, TagValue, Text, TraceEvent, TraceKind, limits,
};

/// Bytes of words: little, so that limits are reached.
const WORDS: usize = 64 << 10;

#[derive(Debug, Default, PartialEq)]
struct Told {
    lines: Vec<String>,
    corrupt: bool,
    torn: bool,
}

impl Told {
    fn line(&mut self, line: String) {
        assert!(!self.corrupt, "{line} after a fault");
        self.lines.push(line);
    }

    fn text(text: Text<'_>, limit: u32) {
        assert!(
            text.units() <= limits::UNITS
                && text.as_utf16().len() <= 2 * limit.min(text.units()) as usize
        );
        let mut pushed = String::new();
        text.push_to(&mut pushed);
        assert!(text.chars().eq(pushed.chars()));
        assert_eq!(text.is_cut(), text.as_utf16().len() < 2 * text.units() as usize);
        if let Some(number) = text.number() {
            assert_eq!(pushed.parse(), Ok(number));
        }
    }
}

impl Observer for Told {
    fn call(&mut self, call: &Call<'_>, words: &Dictionary) {
        let kept = call.params.iter();
        let bytes: usize = kept
            .inspect(|p| Self::text(p.value, limits::TEXT))
            .map(|p| p.value.as_utf16().len())
            .sum();
        assert!(bytes <= limits::CALL_TEXT && call.params.iter().count() <= limits::CALL_VALUES);
        assert!(call.params.count() <= limits::CLAIMED);
        assert!(call.thread_name.is_none_or(|name| name.len() <= 3 * limits::THREAD_NAME as usize));
        self.line(format!("{call:?} {}", call.is_named(words)));
    }
    fn pause(&mut self, pause: &Pause) {
        self.line(format!("{pause:?}"));
    }
    fn trace_block(&mut self, block: &Block) {
        self.line(format!("{block:?}"));
    }
    fn trace_event(&mut self, _: &Block, event: &TraceEvent<'_>, _: &Dictionary) {
        if let TraceKind::Tag { value: TagValue::Inline(text) | TagValue::Indexed(text), .. } =
            event.kind
        {
            Self::text(text, limits::TEXT);
        }
        self.line(format!("{event:?}"));
    }
    fn trace_block_end(&mut self, _: &Block, events: u32) {
        self.line(format!("end {events}"));
    }
    fn word(&mut self, id: u32, word: Option<&Arc<str>>, _: &Dictionary) {
        assert!(word.is_none_or(|_| (id as usize) < limits::WORDS));
        self.line(format!("{id} {word:?}"));
    }
    fn definition(&mut self, definition: &Definition<'_>) {
        Self::text(definition.name, limits::PARAM_NAME);
        Self::text(definition.signature, limits::PARAM_NAME);
        self.line(format!("{definition:?}"));
    }
    fn xml(&mut self, value: &BigValue<'_>) {
        Self::text(value.text, limits::TEXT);
        self.line(format!("{value:?}"));
    }
    fn sql(&mut self, value: &BigValue<'_>) {
        self.xml(value);
    }
    fn gc_pause(&mut self, pause: &GcPause<'_>) {
        self.line(format!("{pause:?}"));
    }
    fn calls_lost(&mut self, calls: u64) {
        self.line(format!("lost {calls}"));
    }
    fn corrupt(&mut self, _: &File<'_>, at: u64, why: DecodeError) {
        self.line(format!("corrupt at {at}: {why}"));
        self.corrupt = true;
    }
    fn ended(&mut self, _: &File<'_>, torn: bool) {
        (self.corrupt, self.torn) = (false, torn);
    }
}

fn opened(name: &str, sequence: i32) -> Opened<'_> {
    Opened {
        stream: 0,
        name,
        kind: StreamKind::of(name),
        handle: [1; 16],
        requested: sequence,
        sequence,
        reset: sequence == 0,
        again: sequence > 0,
        rotation_period_ms: 0,
        rotation_size: 0,
    }
}

fn run(name: &str, bytes: &[u8], piece: usize) -> Told {
    let interner = Arc::new(Interner::new(WORDS));
    let (mut pod, mut told) = (Streams::new(Arc::clone(&interner)), Told::default());
    for sequence in 0..2 {
        pod.open(&opened(name, sequence), &mut told);
        bytes.chunks(piece.max(1)).for_each(|part| pod.data(0, part, &mut told));
    }
    pod.close(&mut told);
    assert!(interner.bytes() <= WORDS);
    let counts = pod.all()[0].counts();
    assert_eq!(counts.bytes as usize, 2 * bytes.len());
    assert!(counts.skipped <= counts.bytes && counts.corrupt <= 2 && counts.torn <= 2);
    drop(pod);
    assert!(interner.bytes() <= WORDS);
    told
}

/// One input for the decoder of a stream. The first byte decides whether a frame is put around the
/// rest, since a fuzzer seldom makes a sound phrase or header; the second is twice the
/// length of the pieces.
pub fn check(name: &str, data: &[u8]) {
    let [how, piece, bytes @ ..] = data else { return };
    let framed;
    let bytes = match name {
        "dictionary" | "posDictionary" | "suspend" | "params" if how & 0x80 != 0 => {
            framed = [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat();
            &framed[..]
        }
        "calls" if how & 0x80 != 0 => {
            let header = (0xfffe_fdfc << 32 | u64::from(how >> 4 & 7)).to_be_bytes();
            framed = [&header[..], bytes].concat();
            &framed[..]
        }
        _ => bytes,
    };
    let whole = run(name, bytes, bytes.len());
    // Of 0 and of 1: byte by byte.
    let piece = usize::from(*piece / 2).max(1);
    assert_eq!(run(name, bytes, piece), whole, "{name} in pieces of {piece}");
}
