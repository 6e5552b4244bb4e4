//! Records of a host's PMDA, or of an archive.

mod again;
mod streams;
mod whose;

use std::sync::Arc;
use std::time::{Duration, Instant};

use pmda::client::{Context, EventRecord, EventRecords, ParameterValue, Raw};

use self::again::Again;
use self::streams::{Stream, streams};
use self::whose::Whose;
use super::Wanted;
use crate::model::{Flags, Origin, Record, Value};

/// The PMDA's own time for fetches, in ns; so much for one that no filter has paused in it: it does so after some
/// 30 ms at the earliest.
const SPENT: &str = "apm.self.fetch.time";
const NOTHING: i64 = 10_000_000;
/// Why the PMDA refuses records.
const REASON: &str = "apm.self.access.reason";
/// After a fetch that brought nothing, for what else the PMDA has to do.
const BREATH: Duration = Duration::from_millis(50);
/// For reading what is in memory at the start.
const KEPT: Duration = Duration::from_secs(60);
/// Records of a fetch after which there may be more at once.
const MANY: usize = 2000;
/// Between two tries to reach pmcd again.
const RETRY: Duration = Duration::from_secs(2);

/// Reads records.
#[derive(Debug)]
pub struct Pcp {
    context: Context,
    name: String,
    streams: Vec<Stream>,
    whose: Whose,
    filter: Option<String>,
    /// ns since 1970: the end of what was asked for of an archive.
    finish: i64,
    start: i64,
    again: Again,
    begun: Option<Begun>,
    /// pmcd does not answer.
    away: bool,
}

/// Live, as long as what was in memory at the start is read.
#[derive(Debug)]
struct Begun {
    at: i64,
    until: Instant,
    spent: i64,
}

/// What a look brought.
#[derive(Debug)]
pub struct Looked {
    /// The oldest first.
    pub records: Vec<Record>,
    /// How to go on.
    pub then: Then,
}

/// How to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// There is more at once, or after this time.
    More(Duration),
    /// Live, all that there is was read: more may come.
    Wait,
    /// The end of the archive.
    End,
}

impl Pcp {
    /// Connects, and finds what there is of `kinds`: `zorka.span`, `profiler.*`; empty: all. `filter`: live, only
    /// records for which it holds.
    ///
    /// # Errors
    /// A line that says what to do.
    pub fn open(wanted: &Wanted, kinds: &[String], filter: Option<&str>) -> Result<Self, String> {
        let context = wanted.open()?;
        let name = wanted.name().to_owned();
        let streams = streams(&context, &name, kinds)?;
        let whose = Whose::new(context.host());
        let mut found = Self {
            context,
            name,
            streams,
            whose,
            filter: filter.map(str::to_owned),
            start: 0,
            finish: i64::MAX,
            again: Again::default(),
            begun: None,
            away: false,
        };
        if found.context.is_archive() {
            let window = found.context.window(&wanted.times)?;
            (found.start, found.finish) = (window.start, window.finish);
            found.context.forward_from(window.start).map_err(|e| found.said(&e))?;
        } else {
            found.store_filter()?;
            found.streams.retain(|stream| stream.chosen);
        }
        Ok(found)
    }

    /// The end of what is read of an archive, in ns since 1970.
    #[must_use]
    pub fn end(&self) -> i64 {
        self.finish
    }

    /// The next records.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn look(&mut self) -> Result<Looked, String> {
        if self.context.is_archive() {
            return self.read();
        }
        if !self.is_back() {
            return Ok(Looked { records: Vec::new(), then: Then::More(RETRY) });
        }
        // A kind that has come later than pmcd: until it knows of the filter, nothing of it is read.
        if self.streams.iter().any(|stream| !stream.chosen) {
            let _ = self.store_filter();
        }
        let filtered = self.filter.is_some();
        let begun = self.begun.is_none();
        if begun {
            let spent = if filtered { self.spent() } else { 0 };
            self.begun = Some(Begun { at: 0, until: Instant::now() + KEPT, spent });
        }
        let (at, records) = match self.fetch(begun) {
            Err(error) => return self.lost(error),
            Ok(None) => return Err(format!("{}: no values", self.name)),
            Ok(Some(found)) => found,
        };
        let spent = if filtered { self.spent() } else { 0 };
        let Some(start) = &mut self.begun else {
            return Ok(Looked { records, then: Then::Wait });
        };
        if begun {
            start.at = at;
        }
        let cost = spent - start.spent;
        start.spent = spent;
        // A fetch has the oldest records only, as many as the PMDA gives at once. Where clocks are behind, all that
        // comes seems to be old.
        let old = records.first().is_some_and(|record| record.time < start.at);
        let more = (old || filtered && cost > NOTHING) && Instant::now() < start.until
            || records.len() >= MANY;
        let pause = if records.is_empty() { BREATH } else { Duration::ZERO };
        let then = if more { Then::More(pause) } else { Then::Wait };
        Ok(Looked { records, then })
    }

    fn read(&mut self) -> Result<Looked, String> {
        let found = self.fetch(false).map_err(|error| match error {
            Failed::Pcp(e) => self.said(&e),
            Failed::Damaged(why) => why,
            Failed::Others => String::new(),
        })?;
        Ok(match found {
            Some((at, records)) if at <= self.finish => {
                Looked { records, then: Then::More(Duration::ZERO) }
            }
            _ => Looked { records: Vec::new(), then: Then::End },
        })
    }

    /// pmcd is away: it is waited for. What comes again then is passed over.
    fn lost(&mut self, error: Failed) -> Result<Looked, String> {
        let early = self.begun.as_ref().is_none_or(|begun| begun.at == 0);
        let error = match error {
            Failed::Pcp(error) if early => return Err(self.said(&error)),
            Failed::Damaged(why) => return Err(why),
            Failed::Pcp(error) => format!("{}, waits for pmcd", self.said(&error)),
            Failed::Others => format!("{}: pmcd has other agents, connects again", self.name),
        };
        crate::say(&error);
        self.away = true;
        Ok(Looked { records: Vec::new(), then: Then::More(RETRY) })
    }

    /// Whether pmcd is there again, or has never been away.
    fn is_back(&mut self) -> bool {
        if self.away && self.context.reconnect().is_ok() {
            self.streams.iter_mut().for_each(|stream| stream.chosen = false);
            if self.store_filter().is_ok() {
                self.away = false;
                self.again.expect();
                self.whose.forget();
            }
        }
        !self.away
    }

    /// Time and records of the next fetch; `None`: there is no more.
    fn fetch(&mut self, first: bool) -> Result<Option<(i64, Vec<Record>)>, Failed> {
        let streams: Vec<&Stream> = self.streams.iter().filter(|stream| stream.chosen).collect();
        let ids: Vec<u32> = streams.iter().map(|stream| stream.desc.pmid).collect();
        let Some(fetched) = self.context.fetch(&ids).map_err(Failed::Pcp)? else {
            return Ok(None);
        };
        // A PMDA that was started again knows no filter. What it has, it has for who comes next as well.
        if self.context.agents_changed() && !first {
            return Err(Failed::Others);
        }
        let at = fetched.time();
        let mut records = Vec::new();
        let mut refused = Vec::new();
        for (place, stream) in streams.into_iter().enumerate() {
            let values = match fetched.values(place) {
                Ok(values) => values,
                Err(error) => {
                    refused.push((format!("{}.{}", stream.source, stream.kind), error));
                    continue;
                }
            };
            for (instance, value) in values {
                let Raw::Block(_, bytes) = value else { continue };
                let Some(fine) = stream.desc.is_events() else { continue };
                let whose = &mut self.whose;
                let origin = whose.origin(&self.context, stream, instance, at);
                let damaged = |_| {
                    Failed::Damaged(format!(
                        "{}: records of {} are damaged: pmlogcheck says more of an archive",
                        origin.full, origin.instance.name
                    ))
                };
                for record in EventRecords::new(bytes, fine).map_err(damaged)? {
                    let record = record.map_err(damaged)?;
                    records.push(made(record, &origin, whose, &self.context));
                }
            }
        }
        // Those of one time stay in their order.
        records.sort_by_key(|record| record.time);
        if !self.context.is_archive() {
            self.again.pass(&mut records);
            if first {
                self.allowed(&refused)?;
            }
        }
        Ok(Some((at, records)))
    }

    /// That records of some kind may be seen; says of which not.
    fn allowed(&self, refused: &[(String, pmda::Error)]) -> Result<(), Failed> {
        let Some((_, error)) = refused.first() else { return Ok(()) };
        let kinds: Vec<&str> = refused.iter().map(|(kind, _)| &**kind).collect();
        let reason =
            if *error == pmda::Error::PERMISSION { text(&self.context, REASON) } else { None };
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        let line = format!("no events {}: {error}{reason}", kinds.join(", "));
        if kinds.len() == self.streams.len() {
            return Err(Failed::Damaged(line));
        }
        crate::say(&line);
        Ok(())
    }

    /// Has the PMDA choose: streams of which it does are read.
    fn store_filter(&mut self) -> Result<(), String> {
        let Some(filter) = &self.filter else {
            self.streams.iter_mut().for_each(|stream| stream.chosen = true);
            return Ok(());
        };
        let mut why = String::new();
        let context = &self.context;
        for stream in self.streams.iter_mut().filter(|stream| !stream.chosen) {
            let base = format!("apm.{}.event.{}", stream.source, stream.kind);
            let stored = context
                .lookup(&format!("{base}.filter"))
                .and_then(|metric| context.store_text(metric.pmid, filter));
            stream.chosen = stored.is_ok();
            if let Err(error) = stored
                && why.is_empty()
            {
                why = text(context, &format!("{base}.filter_error"))
                    .unwrap_or_else(|| error.to_string());
            }
        }
        if !self.streams.iter().any(|stream| stream.chosen) {
            return Err(format!("no events have such records: {why}"));
        }
        Ok(())
    }

    fn spent(&self) -> i64 {
        self.context.first(SPENT, |value, desc| value.number(desc)).unwrap_or(0)
    }

    fn said(&self, error: &pmda::Error) -> String {
        format!("{}: {error}", self.name)
    }
}

/// The first text of a metric.
fn text(context: &Context, metric: &str) -> Option<String> {
    let text = context.first(metric, |value, _| Some(value.text()?.into_owned()));
    text.filter(|text| !text.is_empty())
}

/// Why there are no records.
enum Failed {
    Pcp(pmda::Error),
    /// Agents of pmcd have started or ended.
    Others,
    Damaged(String),
}

fn made(
    record: EventRecord<'_>,
    origin: &Arc<Origin>,
    whose: &mut Whose,
    context: &Context,
) -> Record {
    let mut missed = u64::from(record.missed);
    let mut parameters = Vec::with_capacity(record.parameters.len());
    for parameter in record.parameters {
        let name = whose.parameter(context, parameter.pmid);
        let value = match parameter.value {
            ParameterValue::Int(n) => Value::Int(n),
            ParameterValue::Uint(n) => Value::Uint(n),
            ParameterValue::Float(n) => Value::Float(n),
            ParameterValue::Text(text) => Value::Text(String::from_utf8_lossy(text).into()),
            ParameterValue::Bytes(bytes) => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                Value::Text(digits.into())
            }
        };
        if &*name == "lost" {
            missed += value.unsigned().unwrap_or(0);
        } else {
            parameters.push((name, value));
        }
    }
    let (time, flags, origin) = (record.time, Flags(record.flags), origin.clone());
    Record { time, origin, flags, missed, paired: None, parameters }
}
