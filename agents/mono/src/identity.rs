//! Two counters of the module that identify the process. The protocol carries no process id and no
//! name, but a CONSTANT counter is legal (docs/protocols/mono-counters.md section 6).

use mono_counters::numbers::{kind, section, unit, variance};

use crate::catalogue::Counter;

/// Limit of the command line in bytes; instance names need no more.
const LONGEST_COMMAND: usize = 1000;

/// `System/Process Id` and `Runtime/Command Line`, each with its value as encoded on the wire.
pub(crate) fn counters() -> [(Counter, Vec<u8>); 2] {
    let counter = |section, name: &str, kind| Counter {
        section,
        name: name.to_owned(),
        kind,
        unit: unit::RAW,
        variance: variance::CONSTANT,
    };
    let raw = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    [
        (
            counter(section::SYSTEM, "Process Id", kind::INT),
            std::process::id().to_ne_bytes().to_vec(),
        ),
        (counter(section::RUNTIME, "Command Line", kind::STRING), command_line(&raw)),
    ]
}

/// The arguments separated by spaces, with a NUL at the end.
fn command_line(raw: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(raw).replace('\0', " ");
    let text = text.trim_end();
    let cut =
        (0..=LONGEST_COMMAND.min(text.len())).rfind(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let mut value = text.as_bytes().get(..cut).unwrap_or_default().to_vec();
    value.push(0);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_joined_and_terminated() {
        assert_eq!(command_line(b"mono\0app.exe\0-x\0"), b"mono app.exe -x\0");
        assert_eq!(command_line(b""), b"\0");
    }

    #[test]
    fn long_ones_are_cut_between_characters() {
        let long = "x".repeat(999) + "ééé";
        let value = command_line(long.as_bytes());
        assert_eq!(value.len(), 1000);
        assert_eq!(value[998..], *b"x\0");
        assert_eq!(command_line("x".repeat(5000).as_bytes()).len(), 1001);
    }

    #[test]
    fn this_process_is_itself() {
        let [(pid, value), (command, line)] = counters();
        assert_eq!(pid.category(), "System");
        assert_eq!(value, std::process::id().to_ne_bytes());
        assert_eq!(command.category(), "Runtime");
        assert_eq!(line.last(), Some(&0));
    }
}
