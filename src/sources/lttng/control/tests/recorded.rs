//! Recorded answers of the real program, for tests.

use super::reply::{Exit, Reply};

/// Command and result in a file of qa/corpus/lttng-mi.
pub(crate) fn recorded(name: &str) -> (String, Reply) {
    let path = format!("{}/qa/corpus/lttng-mi/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    parse(&std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}")))
}

fn parse(text: &str) -> (String, Reply) {
    let (command, rest) = text.split_once('\n').expect("the command");
    let (exit, mut rest) = rest.split_once('\n').expect("the exit status");
    let code = exit.strip_prefix("exit ").expect("exit").parse().expect("a number");
    let mut stderr = String::new();
    while let Some(line) = rest.strip_prefix("! ") {
        let (line, after) = line.split_once('\n').unwrap_or((line, ""));
        stderr.push_str(line);
        stderr.push('\n');
        rest = after;
    }
    (command.to_owned(), Reply { exit: Exit::Code(code), stdout: rest.as_bytes().to_vec(), stderr })
}

/// Names of all files.
pub(crate) fn all() -> Vec<String> {
    let folder = format!("{}/qa/corpus/lttng-mi", env!("CARGO_MANIFEST_DIR"));
    let names =
        std::fs::read_dir(folder).expect("the corpus").map(|e| e.expect("an entry").file_name());
    let mut names: Vec<_> =
        names.filter_map(|n| n.to_str()?.strip_suffix(".txt").map(str::to_owned)).collect();
    names.sort();
    assert!(names.len() > 50, "recordings are missing");
    names
}
