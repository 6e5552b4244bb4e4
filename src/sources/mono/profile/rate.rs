//! How often the profiler samples, and by which clock.

/// Samples a second unless the options have a number.
const DEFAULT: u64 = 100;

/// The clock of ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Clock {
    /// No samples were asked for.
    #[default]
    Off,
    /// Processor time of the process: a tick stands for its period, whatever the number of threads
    /// that run.
    Process,
    /// Wall time: a tick stands for its period of each thread that runs.
    Real,
}

/// How samples are weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) clock: Clock,
    /// Samples a second; 0: [`DEFAULT`].
    hertz: u64,
}

impl Rate {
    /// Reads `log:…,sample=200`, `sample-real` and, of Mono 5, `sample=cycles/1000`.
    pub(super) fn parse(options: &str) -> Self {
        let words = options.split_once(':').map_or("", |(_, words)| words);
        let mut rate = Self::default();
        for word in words.split(',') {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let clock = match name {
                "sample" => Clock::Process,
                "sample-real" => Clock::Real,
                "nosample" | "nosample-real" => Clock::Off,
                _ => continue,
            };
            let hertz = value.rsplit('/').next().and_then(|hertz| hertz.parse().ok());
            rate = Self { clock, hertz: hertz.unwrap_or(0) };
        }
        rate
    }

    pub(super) fn is_on(self) -> bool {
        self.clock != Clock::Off
    }

    /// Nanoseconds between two ticks.
    pub(super) const fn period(self) -> u64 {
        1_000_000_000 / if self.hertz == 0 { DEFAULT } else { self.hertz }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_clock_and_rate() {
        for (options, clock, period) in [
            ("log:nodefaults,counter,sample=200,output=x", Clock::Process, 5_000_000),
            ("log:sample", Clock::Process, 10_000_000),
            ("log:sample-real=1000", Clock::Real, 1_000_000),
            ("log:sample=cycles/50", Clock::Process, 20_000_000),
            ("log:sample=0", Clock::Process, 10_000_000),
            ("log:nodefaults,output=sample", Clock::Off, 10_000_000),
            ("log", Clock::Off, 10_000_000),
        ] {
            let rate = Rate::parse(options);
            assert_eq!((rate.clock, rate.period()), (clock, period), "{options}");
        }
    }
}
