//! Folded stacks of a recording: `stacks FILE`, or the number of events of each type: `stacks --types FILE`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use jfr::{Chunk, Error, Key, Known, Names, known};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (types, path) = match args.as_slice() {
        [path] => (false, path),
        [flag, path] if flag == "--types" => (true, path),
        _ => {
            eprintln!("usage: stacks [--types] FILE");
            return ExitCode::from(2);
        }
    };
    let lines = std::fs::read(path).map_err(|e| e.to_string());
    match lines.and_then(|bytes| count(&bytes, types).map_err(|e| e.to_string())) {
        Ok(lines) => {
            lines.iter().for_each(|(line, count)| println!("{line} {count}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn count(mut bytes: &[u8], types: bool) -> Result<BTreeMap<String, u64>, Error> {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    while !bytes.is_empty() {
        let chunk = Chunk::open(bytes)?;
        let mut stacks: BTreeMap<Key, u64> = BTreeMap::new();
        for event in chunk.events() {
            let event = event?;
            if types {
                *lines.entry(event.class().name().to_owned()).or_default() += 1;
            } else if let Some(Known::Sample(sample)) = known(chunk.header(), &event) {
                sample.stack.into_iter().for_each(|key| *stacks.entry(key).or_default() += 1);
            }
        }
        let mut names = Names::new(&chunk);
        for (key, count) in stacks {
            *lines.entry(names.stack(key).folded()).or_default() += count;
        }
        let size = usize::try_from(chunk.header().size).unwrap_or(usize::MAX);
        bytes = bytes.get(size..).unwrap_or_default();
    }
    Ok(lines)
}
