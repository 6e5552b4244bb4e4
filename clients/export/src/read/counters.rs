//! Metrics beside records: values over time, of counters their rates.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pmda::client::{Context, Desc, Fetched};

use super::Wanted;
use super::domain::Domain;
use crate::model::Instance;
use crate::timeline::Number;

/// Metrics at most.
const MOST_METRICS: usize = 256;

/// A metric.
#[derive(Debug)]
struct Metric {
    name: Box<str>,
    /// The second part of its name.
    source: Box<str>,
    unit: Box<str>,
    desc: Desc,
}

/// Reads values of metrics.
#[derive(Debug)]
pub struct Counters {
    context: Context,
    metrics: Vec<Metric>,
    /// Those of each metric.
    domains: HashMap<usize, Domain>,
    /// Of counters: when their value was, and the value.
    before: HashMap<(usize, i32), (i64, f64)>,
    times: [Option<String>; 4],
    looked: Option<Instant>,
}

/// A value.
#[derive(Debug)]
pub struct Sampled<'a> {
    /// `profiler`.
    pub source: &'a str,
    /// Whose it is.
    pub instance: &'a Instance,
    /// The metric.
    pub name: &'a str,
    /// As PCP writes it; of a rate `count / sec`.
    pub unit: &'a str,
    /// ns since 1970.
    pub time: i64,
    /// The value, or the rate in a second.
    pub value: Number,
}

impl Counters {
    /// Connects, and finds the metrics.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn open(wanted: &Wanted, names: &[String]) -> Result<Self, String> {
        let context = wanted.open()?;
        if names.len() > MOST_METRICS {
            return Err(format!("--counters: more than {MOST_METRICS} metrics"));
        }
        let mut metrics = Vec::new();
        for name in names {
            let wrong = |e| format!("--counters: {name}: {e}");
            let desc = context.lookup(name).map_err(wrong)?;
            if !desc.is_number() {
                return Err(format!("--counters: {name}: its values are no numbers"));
            }
            let units = context.units(desc).map_err(wrong)?;
            let unit = match (desc.is_counter, &*units) {
                (true, "") => "1 / sec".to_owned(),
                (true, units) => format!("{units} / sec"),
                (false, units) => units.to_owned(),
            };
            let source = name.split('.').nth(1).unwrap_or(name).into();
            metrics.push(Metric { name: name.as_str().into(), source, unit: unit.into(), desc });
        }
        let (domains, before) = Default::default();
        Ok(Self { context, metrics, domains, before, times: wanted.times.clone(), looked: None })
    }

    /// Live: the values now, if so much time has passed since those before. While pmcd is away there are none.
    pub fn look(&mut self, interval: Duration, emit: &mut dyn FnMut(&Sampled<'_>)) {
        if self.looked.is_some_and(|looked| looked.elapsed() < interval) {
            return;
        }
        self.looked = Some(Instant::now());
        let ids: Vec<u32> = self.metrics.iter().map(|metric| metric.desc.pmid).collect();
        match self.context.fetch(&ids) {
            Ok(Some(fetched)) => {
                self.give(&fetched, emit);
                // What has no value now is gone.
                self.before.retain(|_, (then, _)| *then == fetched.time());
            }
            Ok(None) => {}
            Err(_) => {
                self.before.clear();
                // Who reads the records tells of it.
                let _ = self.context.reconnect();
            }
        }
    }

    /// All values of the part of an archive that was asked for.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn read(&mut self, emit: &mut dyn FnMut(&Sampled<'_>)) -> Result<(), String> {
        let window = self.context.window(&self.times)?;
        self.context.forward_from(window.start).map_err(|e| e.to_string())?;
        while let Some(fetched) = self.context.next_record().map_err(|e| e.to_string())? {
            if fetched.time() > window.finish {
                break;
            }
            // Where there was no logger is a gap.
            if fetched.is_mark() {
                self.before.clear();
            }
            self.give(&fetched, emit);
        }
        Ok(())
    }

    fn give(&mut self, fetched: &Fetched, emit: &mut dyn FnMut(&Sampled<'_>)) {
        let time = fetched.time();
        for (place, metric) in self.metrics.iter().enumerate() {
            let there = fetched.place(metric.desc.pmid);
            // A source that gives none now has none.
            let Some(Ok(values)) = there.map(|there| fetched.values(there)) else { continue };
            for (number, value) in values {
                let key = (place, number);
                let Some(float) = value.float(metric.desc) else { continue };
                let value = if metric.desc.is_counter {
                    let before = self.before.insert(key, (time, float));
                    let Some(rate) = before.and_then(|then| rate(then, (time, float))) else {
                        continue;
                    };
                    Number::Float(rate)
                } else {
                    value.number(metric.desc).map_or(Number::Float(float), Number::Int)
                };
                let (domain, context) = (self.domains.entry(place).or_default(), &self.context);
                let live = !context.is_archive();
                let known = domain.get(number, time, live, || named(context, metric));
                let Some(known) = known else { continue };
                emit(&Sampled {
                    source: &metric.source,
                    instance: &known.instance,
                    name: &metric.name,
                    unit: &metric.unit,
                    time,
                    value,
                });
            }
        }
    }
}

/// The rate in a second; `None`: the counter began anew.
fn rate((then, before): (i64, f64), (now, value): (i64, f64)) -> Option<f64> {
    let seconds = now.checked_sub(then)? as f64 / 1e9;
    (seconds > 0.0 && value >= before).then(|| (value - before) / seconds)
}

/// Asks for the instances of a metric.
fn named(context: &Context, metric: &Metric) -> Option<Vec<(i32, Instance)>> {
    let host: Arc<str> = context.host().into();
    let one =
        |name: &str| Instance { name: name.into(), host: host.clone(), ..Instance::default() };
    let Some(indom) = metric.desc.indom else {
        // The one value has the number of PM_IN_NULL.
        return Some(vec![(-1, one(&metric.source))]);
    };
    let names = context.instances(indom).ok()?;
    Some(names.into_iter().map(|(number, name)| (number, one(&name))).collect())
}

#[cfg(test)]
mod tests {
    use super::rate;

    #[test]
    fn rates_are_of_counters_that_grow() {
        assert_eq!(rate((0, 5.0), (2_000_000_000, 9.0)), Some(2.0));
        assert_eq!(rate((0, 5.0), (1, 4.0)), None);
        assert_eq!(rate((1, 5.0), (1, 6.0)), None);
    }
}
