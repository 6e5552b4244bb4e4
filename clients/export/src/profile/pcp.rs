//! Stacks of a host's PMDA, or of an archive: the metrics of `pcp apm folded`.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use pmda::client::{Context, Desc, Fetched};

use super::{Folded, Profile};
use crate::read::Wanted;

/// How long the PMDA has been running, in ns.
const UPTIME: &str = "apm.self.uptime";
/// Between two looks for the end.
const NAP: Duration = Duration::from_millis(50);

/// A metric of stacks.
struct Stacks {
    source: &'static str,
    name: &'static str,
    /// ns that one of its counter is.
    each: u64,
    /// ns between two samples, if it is made of samples.
    sampled: Option<u64>,
    /// Its instances are `PROGRAM:PID::FRAME,FRAME`, not `SERVICE,FRAME,FRAME`.
    of_process: bool,
}

/// A sample of a JVM's recordings counts as the 20 ms between two; .NET's sampler looks each ms.
const METRICS: [Stacks; 4] = [
    Stacks {
        source: "profiler",
        name: "apm.profiler.service.stack.time",
        each: 1,
        sampled: None,
        of_process: false,
    },
    Stacks {
        source: "zorka",
        name: "apm.zorka.service.stack.time",
        each: 1,
        sampled: None,
        of_process: false,
    },
    Stacks {
        source: "dotnet",
        name: "apm.dotnet.service.stack.time",
        each: 1,
        sampled: Some(1_000_000),
        of_process: false,
    },
    Stacks {
        source: "jvm",
        name: "apm.jvm.profile.stacks",
        each: 20_000_000,
        sampled: Some(20_000_000),
        of_process: true,
    },
];

/// By metric and instance: when a value was, and the value.
type Values = HashMap<(usize, i32), (i64, i64)>;

/// Reads stacks.
pub struct Stacktraces {
    of: Of,
    service: Option<String>,
    times: [Option<String>; 4],
    /// The sample before, and when it was.
    last: Option<(i64, Values)>,
}

impl Stacktraces {
    /// Connects, and finds what there is. `service`: a pattern.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn open(wanted: &Wanted, service: Option<&str>) -> Result<Self, String> {
        let context = wanted.open()?;
        let found = METRICS.iter();
        let found = found.filter_map(|stacks| Some((stacks, context.lookup(stacks.name).ok()?)));
        let metrics: Vec<(&Stacks, Desc)> = found.collect();
        if metrics.is_empty() {
            return Err(if context.is_archive() {
                "no stacks in this archive: the group apm/stacks of pmlogconf(1) is off".into()
            } else {
                "no stacks here: pmdaapm is not installed, or its sources are off".into()
            });
        }
        let (service, times) = (service.map(str::to_owned), wanted.times.clone());
        Ok(Self { of: Of { context, metrics }, service, times, last: None })
    }

    /// All that has been counted; of an archive what was added in the time that was asked for.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn all(&self) -> Result<Profile, String> {
        let gained = if self.of.context.is_archive() {
            self.of.archive(&self.times)
        } else {
            self.of.total()
        };
        self.profile(gained?)
    }

    /// Live: what has come since the call before, after this time; the first call waits from now on. `stopped`: the
    /// end has come, and no more is waited for.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn next(
        &mut self,
        interval: Duration,
        stopped: impl Fn() -> bool,
    ) -> Result<Profile, String> {
        let until = Instant::now() + interval;
        let (begin, first) = match self.last.take() {
            Some(last) => last,
            None => self.of.sample()?,
        };
        while !stopped() && Instant::now() < until {
            sleep(until.saturating_duration_since(Instant::now()).min(NAP));
        }
        let (end, last) = self.of.sample()?;
        let gained = self.of.between((begin, &first), (end, &last));
        self.last = Some((end, last));
        self.profile(gained)
    }

    /// pmcd has gone: connects again, and begins anew. The next call tells whether it is back.
    pub fn again(&mut self) {
        self.last = None;
        let _ = self.of.context.reconnect();
    }

    fn profile(&self, (gained, start, end): Gained) -> Result<Profile, String> {
        let names = self.of.names()?;
        let mut stacks = Vec::new();
        for (key, value) in gained {
            let metric = self.of.metrics.get(key.0).map(|(metric, _)| metric);
            let (Some(metric), Some(name)) = (metric, names.get(&key)) else { continue };
            let stack = metric.stack(name, value);
            let service = stack.service.as_bytes();
            if self.service.as_ref().is_none_or(|of| pcp_event::glob(of.as_bytes(), service)) {
                stacks.push(stack);
            }
        }
        Ok(Profile::new(stacks, start, end.abs_diff(start)))
    }
}

impl Stacks {
    fn stack(&self, name: &str, value: u64) -> Folded {
        let halves = if self.of_process { name.split_once("::") } else { name.split_once(',') };
        let (service, rest) = match halves {
            Some((process, rest)) if self.of_process => {
                (process.rsplit_once(':').map_or(process, |(program, _)| program), rest)
            }
            Some(halves) => halves,
            // The row `other` is of no service.
            None => (name, name),
        };
        let frames = rest.split(',').map(Box::from).collect();
        Folded {
            service: service.into(),
            source: self.source.into(),
            frames,
            value: value.saturating_mul(self.each),
            sampled: self.sampled,
        }
    }
}

/// A context with the metrics that it has.
struct Of {
    context: Context,
    metrics: Vec<(&'static Stacks, Desc)>,
}

/// What was gained, and from when to when, in ns since 1970.
type Gained = (HashMap<(usize, i32), u64>, i64, i64);

impl Of {
    fn ids(&self) -> Vec<u32> {
        self.metrics.iter().map(|(_, desc)| desc.pmid).collect()
    }

    fn names(&self) -> Result<HashMap<(usize, i32), String>, String> {
        let mut found = HashMap::new();
        for (place, (_, desc)) in self.metrics.iter().enumerate() {
            let Some(indom) = desc.indom else { continue };
            for (instance, name) in self.context.instances(indom).map_err(|e| e.to_string())? {
                found.insert((place, instance), name);
            }
        }
        Ok(found)
    }

    fn values(&self, fetched: &Fetched) -> Values {
        let mut found = Values::new();
        for (place, (_, desc)) in self.metrics.iter().enumerate() {
            // A source that gives none now has none.
            let Some(there) = fetched.place(desc.pmid) else { continue };
            let Ok(values) = fetched.values(there) else { continue };
            for (instance, value) in values {
                if let Some(number) = value.number(*desc) {
                    found.insert((place, instance), (fetched.time(), number));
                }
            }
        }
        found
    }

    fn sample(&self) -> Result<(i64, Values), String> {
        let fetched = self.context.fetch(&self.ids()).map_err(|e| e.to_string())?;
        let fetched = fetched.ok_or("no values")?;
        Ok((fetched.time(), self.values(&fetched)))
    }

    fn uptime(&self) -> Option<i64> {
        self.context.first(UPTIME, |value, desc| value.number(desc))
    }

    fn total(&self) -> Result<Gained, String> {
        let (at, values) = self.sample()?;
        let gained = values.into_iter().map(|(key, (_, value))| (key, value.max(0).unsigned_abs()));
        let start = self.uptime().map_or(at, |uptime| at - uptime);
        Ok((gained.collect(), start, at))
    }

    /// What had no value before, or has less, has none between.
    fn between(&self, (begin, first): (i64, &Values), (end, last): (i64, &Values)) -> Gained {
        // A PMDA that has started since then counts from 0.
        if self.uptime().is_some_and(|uptime| uptime < end - begin) {
            return (HashMap::new(), begin, end);
        }
        let gained = last.iter().filter_map(|(key, (_, value))| {
            let (_, before) = first.get(key)?;
            Some((*key, u64::try_from(value.checked_sub(*before)?).ok()?))
        });
        (gained.collect(), begin, end)
    }

    /// What was added between two times; of a step that is partly outside a part.
    fn archive(&self, times: &[Option<String>; 4]) -> Result<Gained, String> {
        let context = &self.context;
        let window = context.window(times)?;
        let whole = context.whole().map_err(|e| e.to_string())?;
        context.forward_from(whole.start).map_err(|e| e.to_string())?;
        let (mut before, mut gained) = (Values::new(), HashMap::<(usize, i32), f64>::new());
        let mut behind = vec![false; self.metrics.len()];
        while let Some(fetched) = context.next_record().map_err(|e| e.to_string())? {
            if fetched.is_mark() {
                before.clear();
                continue;
            }
            for (key, (at, value)) in self.values(&fetched) {
                if let (true, Some(behind)) = (at >= window.finish, behind.get_mut(key.0)) {
                    *behind = true;
                }
                let then = before.insert(key, (at, value));
                let part =
                    then.and_then(|then| step(then, (at, value), window.start, window.finish));
                *gained.entry(key).or_default() += part.unwrap_or(0.0);
            }
            if fetched.time() >= window.finish && behind.iter().all(|behind| *behind) {
                break;
            }
        }
        let gained = gained.into_iter().map(|(key, value)| (key, whole_number(value)));
        Ok((gained.collect(), window.start, window.finish))
    }
}

/// What of a step is in a window.
fn step(then: (i64, i64), now: (i64, i64), start: i64, finish: i64) -> Option<f64> {
    let (whole, value) = (now.0 - then.0, now.1.checked_sub(then.1)?);
    let inside = now.0.min(finish) - then.0.max(start);
    if whole <= 0 || inside <= 0 || value < 0 {
        return None;
    }
    let value = value as f64;
    Some(if inside == whole { value } else { value * inside as f64 / whole as f64 })
}

/// Sums of counters are far below 2^53 ns, which is 104 days, or their last digits do not matter.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole_number(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_instances_are_services_and_frames() {
        let stack = |place: usize, name: &str| {
            let found = METRICS.get(place).unwrap().stack(name, 2);
            (found.service.to_string(), found.frames.join(";"), found.value)
        };
        let of =
            |service: &str, frames: &str, value| (service.to_owned(), frames.to_owned(), value);
        assert_eq!(stack(0, "shop/orders,A.a,B.b"), of("shop/orders", "A.a;B.b", 2));
        assert_eq!(stack(0, "other"), of("other", "other", 2));
        assert_eq!(stack(3, "app:4711::A.a,B::b"), of("app", "A.a;B::b", 40_000_000));
    }

    #[test]
    fn of_steps_only_what_is_inside_counts() {
        assert_eq!(step((0, 5), (10, 25), 0, 10), Some(20.0));
        assert_eq!(step((0, 5), (10, 25), 5, 10), Some(10.0));
        assert_eq!(step((0, 5), (10, 25), 2, 4), Some(4.0));
        assert_eq!(step((0, 5), (10, 25), 10, 20), None);
        assert_eq!(step((0, 25), (10, 5), 0, 10), None);
    }
}
