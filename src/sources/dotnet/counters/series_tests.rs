//! Series by hand: what a runtime reports, and what the sums are.

use std::time::Duration;

use super::published::{Figure, Instrument, Series};
use super::series::AllSeries;
use super::spec::Names;
use super::test_kit::{OwnMetrics, recorded};
use crate::contract::Recorded;
use crate::sources::dotnet::wire::Utf16;

/// A report of an interval: tags, growth, value.
type Report<'a> = (&'a str, f64, f64);

struct Program {
    all: AllSeries,
    names: Names,
    seen: Recorded,
}

impl Program {
    fn new() -> Self {
        let (mut all, names, seen) = (AllSeries::default(), Names::default(), recorded());
        all.start("app:1");
        Self { all, names, seen }
    }

    fn interval(&mut self, up_and_down: bool, reports: &[Report<'_>]) {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        self.all.interval(&mut self.seen);
        for (tags, rate, value) in reports {
            let [meter, name, tags] = ["Sem", "count", tags].map(wide);
            let [rate, value] = [rate, value].map(|number| wide(&number.to_string()));
            let (rate, value) = (Utf16::new(&rate), Some(Utf16::new(&value)));
            let series = Series {
                session: Utf16::default(),
                instrument: Instrument {
                    meter: Utf16::new(&meter),
                    name: Utf16::new(&name),
                    unit: Utf16::default(),
                },
                tags: Utf16::new(&tags),
                id: 1,
                figure: if up_and_down {
                    Figure::UpDown { rate, value }
                } else {
                    Figure::Counter { rate, value }
                },
            };
            let until = Duration::from_secs(3);
            self.all.value(until, &series, &mut self.names, &mut self.seen).unwrap();
        }
        self.all.settle(&mut self.seen);
    }

    fn value(&self, tags: &str) -> Option<f64> {
        self.seen.in_row("sem.count", &format!("app:1::{tags}"))
    }
}

/// `{a="1,b=2"}` and `{a="1", b="2"}` are one text.
#[test]
fn sets_of_tags_of_one_text_are_summed() {
    let mut program = Program::new();
    program.interval(false, &[("a=1,b=2", 1000.0, 1000.0), ("a=1,b=2", 1.0, 1.0)]);
    assert_eq!(program.value("a=1,b=2"), Some(1001.0));
    // For a day nothing is added, and their order changes now and then.
    for second in 0..86_400 {
        let mut reports =
            [("a=1,b=2", 0.0, 1000.0), ("c=3", 1.0, f64::from(second)), ("a=1,b=2", 0.0, 1.0)];
        if second % 7 == 0 {
            reports.reverse();
        }
        program.interval(false, &reports);
        assert_eq!(program.value("a=1,b=2"), Some(1001.0), "{second}");
    }
    assert_eq!(program.value("c=3"), Some(86_399.0));
    // One begins anew with another stream.
    program.all.stream();
    program.interval(false, &[("a=1,b=2", 5.0, 5.0), ("a=1,b=2", 2.0, 2.0)]);
    assert_eq!(program.value("a=1,b=2"), Some(1008.0));

    let mut program = Program::new();
    for _ in 0..100 {
        program.interval(true, &[("a=1,b=2", 0.0, 10.0), ("a=1,b=2", 0.0, -3.0)]);
        assert_eq!(program.value("a=1,b=2"), Some(7.0));
    }
}
