//! Units of counters and instruments as PCP has them (docs/protocols/dotnet.md 7).

use crate::model::Units;

/// PCP's units, and the factor from the process's unit to them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) units: Units,
    pub(super) factor: f64,
}

const fn unit(units: Units, factor: f64) -> Option<Unit> {
    Some(Unit { units, factor })
}

/// The unit of an EventCounter: `DisplayUnits`. `None`: the text is none that is known.
/// System.Runtime's MB are 10^6 bytes, so all of them are.
pub(super) fn display(text: &str) -> Option<Unit> {
    match text {
        "B" | "bytes" | "Bytes" => unit(Units::Bytes, 1.0),
        "KB" | "kB" => unit(Units::Bytes, 1e3),
        "MB" => unit(Units::Bytes, 1e6),
        "GB" => unit(Units::Bytes, 1e9),
        "ns" => unit(Units::Nanoseconds, 1.0),
        "us" | "\u{b5}s" | "\u{3bc}s" => unit(Units::Milliseconds, 1e-3),
        "ms" | "msec" | "milliseconds" => unit(Units::Milliseconds, 1.0),
        "s" | "sec" | "seconds" => unit(Units::Seconds, 1.0),
        "%" => unit(Units::None, 1.0),
        _ => None,
    }
}

/// The unit of an instrument, in UCUM's terms. `None`: the text is none that is known.
pub(super) fn ucum(text: &str) -> Option<Unit> {
    if text.starts_with('{') {
        // What is counted: {request}.
        return match text.split_once('}')? {
            (_, "") => unit(Units::Count, 1.0),
            (_, "/s") => unit(Units::CountPerSecond, 1.0),
            _ => None,
        };
    }
    match text {
        "s" => unit(Units::Seconds, 1.0),
        "ms" => unit(Units::Milliseconds, 1.0),
        "us" => unit(Units::Milliseconds, 1e-3),
        "ns" => unit(Units::Nanoseconds, 1.0),
        "min" => unit(Units::Seconds, 60.0),
        "h" => unit(Units::Seconds, 3600.0),
        "d" => unit(Units::Seconds, 86_400.0),
        "By" => unit(Units::Bytes, 1.0),
        "kBy" => unit(Units::Bytes, 1e3),
        "MBy" => unit(Units::Bytes, 1e6),
        "GBy" => unit(Units::Bytes, 1e9),
        "KiBy" => unit(Units::Bytes, 1024.0),
        "MiBy" => unit(Units::Bytes, 1_048_576.0),
        "GiBy" => unit(Units::Bytes, 1_073_741_824.0),
        "%" | "1" | "Cel" => unit(Units::None, 1.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_both_kinds_become_those_of_pcp() {
        for (text, units, factor) in
            [("B", Units::Bytes, 1.0), ("MB", Units::Bytes, 1e6), ("ms", Units::Milliseconds, 1.0)]
        {
            assert_eq!(display(text), unit(units, factor), "{text}");
        }
        assert_eq!([display(""), display("widgets")], [None, None]);
        for (text, units, factor) in [
            ("By", Units::Bytes, 1.0),
            ("KiBy", Units::Bytes, 1024.0),
            ("{request}", Units::Count, 1.0),
            ("{request}/s", Units::CountPerSecond, 1.0),
            ("Cel", Units::None, 1.0),
            ("s", Units::Seconds, 1.0),
        ] {
            assert_eq!(ucum(text), unit(units, factor), "{text}");
        }
        assert_eq!([ucum(""), ucum("{x"), ucum("{x}/h"), ucum("B")], [None; 4]);
    }
}
