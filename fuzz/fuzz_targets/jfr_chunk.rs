//! Chunks of Flight Recorder: the JVM's user writes anything into them. First the input is the chunk behind a sound
//! header, whose places of the metadata and of the last checkpoint it chooses; then as it is. A chunk is refused or
//! read, each event lies behind the one before, a stack's name is the same twice, and the values of an event are no
//! more than its bytes.
#![no_main]

use jfr::{Chunk, HEADER, Header, Names, Value, known};
use libfuzzer_sys::fuzz_target;

fn behind_header(data: &[u8]) -> Option<Vec<u8>> {
    let [a, b, c, d, body @ ..] = data else { return None };
    let place = |low: &u8, high: &u8| u64::from(u16::from_le_bytes([*low, *high])) + HEADER as u64;
    let size = (HEADER + body.len()) as u64;
    let numbers = [size, place(a, b), place(c, d), 1_700_000_000_000_000_000, 4_000_000_000, 7, 1_000];
    let mut chunk = b"FLR\0\0\x02\0\x01".to_vec();
    numbers.iter().for_each(|number| chunk.extend(number.to_be_bytes()));
    chunk.extend([0, 0, 0, 1]);
    chunk.extend(body);
    Some(chunk)
}

fn count(value: Value<'_>, depth: u32) -> usize {
    let inner = |value| if depth < 2 { count(value, depth + 1) } else { 0 };
    match value {
        Value::Record(record) => record.fields().map(|(_, value)| 1 + inner(value)).sum(),
        Value::List(list) => list.map(|value| 1 + inner(value)).sum(),
        Value::Text(text) => text.get().chars().count().min(1),
        _ => 0,
    }
}

fn read(bytes: &[u8]) {
    let header = Header::decode(bytes);
    let Ok(chunk) = Chunk::open(bytes) else { return };
    assert_eq!(header.unwrap().as_ref(), Some(chunk.header()));
    let mut names = Names::new(&chunk);
    let (mut events, mut values) = (0, 0);
    for event in chunk.events() {
        events += 1;
        let Ok(event) = event else { continue };
        if event.fields().count() != event.class().fields().len() {
            // The work for this chunk was too much now: nothing more is read of it.
            assert!(chunk.events().all(|event| event.is_err()));
            break;
        }
        assert_eq!(known(chunk.header(), &event), known(chunk.header(), &event));
        if let Some(key) = event.key("stackTrace") {
            let stack = names.stack(key);
            assert_eq!(stack, names.stack(key));
            assert!(stack.frames.len() <= bytes.len());
        }
        if values < 100_000 {
            values += event.fields().map(|(_, value)| count(value, 0)).sum::<usize>();
        }
    }
    assert!(events <= bytes.len());
}

fuzz_target!(|data: &[u8]| {
    if let Some(chunk) = behind_header(data) {
        read(&chunk);
    }
    read(data);
});
