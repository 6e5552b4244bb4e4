//! Records of a host's PMDA, or of an archive.

mod again;
mod streams;
mod whose;

use std::sync::Arc;
use std::time::{Duration, Instant};

use pmda::client::{Context, EventRecord, EventRecords, ParameterValue, Raw, Source, TimeZone};

use self::again::Again;
use self::streams::{Stream, streams};
use self::whose::Whose;
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

/// Which records.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Where they are.
    pub source: Source,
    /// `zorka.span`, `profiler.*`; empty: all.
    pub kinds: Vec<String>,
    /// Live: only those for which it holds.
    pub filter: Option<String>,
    /// -S, -T, -A, -O of an archive.
    pub times: [Option<String>; 4],
    /// -Z, -z.
    pub zone: Option<TimeZone>,
}

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
    /// Connects, and finds what there is.
    ///
    /// # Errors
    /// A line that says what to do.
    pub fn open(wanted: &Wanted) -> Result<Self, String> {
        let name = match &wanted.source {
            Source::Host(host) if host == "local:" => "this host".to_owned(),
            Source::Host(name) | Source::Archive(name) => name.clone(),
        };
        let context = Context::new(&wanted.source).map_err(|e| format!("{name}: {e}"))?;
        if let Some(zone) = &wanted.zone {
            context.zone(zone).map_err(|e| format!("the time zone: {e}"))?;
        }
        let streams = streams(&context, &name, &wanted.kinds)?;
        let whose = Whose::new(context.host());
        let mut found = Self {
            context,
            name,
            streams,
            whose,
            filter: wanted.filter.clone(),
            start: 0,
            finish: i64::MAX,
            again: Again::default(),
            begun: None,
            away: false,
        };
        if found.context.is_archive() {
            let [start, finish, align, origin] = &wanted.times;
            let window = found.context.window(
                start.as_deref(),
                finish.as_deref(),
                align.as_deref(),
                origin.as_deref(),
            )?;
            (found.start, found.finish) = (window.start, window.finish);
            found.context.forward_from(window.start).map_err(|e| found.said(&e))?;
        } else {
            found.store_filter()?;
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
        let error = match error {
            Failed::Damaged(why) => return Err(why),
            Failed::Pcp(error) => error,
        };
        if self.begun.as_ref().is_none_or(|begun| begun.at == 0) {
            return Err(self.said(&error));
        }
        crate::say(&format!("{}, waits for pmcd", self.said(&error)));
        self.away = true;
        Ok(Looked { records: Vec::new(), then: Then::More(RETRY) })
    }

    /// Whether pmcd is there again, or has never been away.
    fn is_back(&mut self) -> bool {
        if self.away && self.context.reconnect().is_ok() && self.store_filter().is_ok() {
            self.away = false;
            self.again.expect();
            self.whose.forget();
        }
        !self.away
    }

    /// Time and records of the next fetch; `None`: there is no more.
    fn fetch(&mut self, first: bool) -> Result<Option<(i64, Vec<Record>)>, Failed> {
        let ids: Vec<u32> = self.streams.iter().map(|stream| stream.desc.pmid).collect();
        let Some(fetched) = self.context.fetch(&ids).map_err(Failed::Pcp)? else {
            return Ok(None);
        };
        let at = fetched.time();
        let mut records = Vec::new();
        let mut refused = Vec::new();
        for (place, stream) in self.streams.iter().enumerate() {
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
        let reason = if *error == pmda::Error::PERMISSION { self.text(REASON) } else { None };
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        let line = format!("no events {}: {error}{reason}", kinds.join(", "));
        if kinds.len() == self.streams.len() {
            return Err(Failed::Damaged(line));
        }
        crate::say(&line);
        Ok(())
    }

    fn store_filter(&mut self) -> Result<(), String> {
        let Some(filter) = &self.filter else { return Ok(()) };
        let mut why = String::new();
        let (context, mut kept) = (&self.context, Vec::new());
        for stream in &self.streams {
            let base = format!("apm.{}.event.{}", stream.source, stream.kind);
            let stored = context
                .lookup(&format!("{base}.filter"))
                .and_then(|metric| context.store_text(metric.pmid, filter));
            kept.push(stored.is_ok());
            if let Err(error) = stored
                && why.is_empty()
            {
                why = text(context, &format!("{base}.filter_error"))
                    .unwrap_or_else(|| error.to_string());
            }
        }
        if !kept.contains(&true) {
            return Err(format!("no events have such records: {why}"));
        }
        let mut kept = kept.into_iter();
        self.streams.retain(|_| kept.next().unwrap_or(false));
        Ok(())
    }

    fn spent(&self) -> i64 {
        let value = || {
            let desc = self.context.lookup(SPENT).ok()?;
            let fetched = self.context.fetch(&[desc.pmid]).ok()??;
            fetched.values(0).ok()?.next()?.1.number(desc)
        };
        value().unwrap_or(0)
    }

    fn text(&self, metric: &str) -> Option<String> {
        text(&self.context, metric)
    }

    fn said(&self, error: &pmda::Error) -> String {
        format!("{}: {error}", self.name)
    }
}

/// The first text of a metric.
fn text(context: &Context, metric: &str) -> Option<String> {
    let desc = context.lookup(metric).ok()?;
    let fetched = context.fetch(&[desc.pmid]).ok()??;
    let (_, value) = fetched.values(0).ok()?.next()?;
    Some(value.text()?.into_owned()).filter(|text| !text.is_empty())
}

/// Why there are no records.
enum Failed {
    Pcp(pmda::Error),
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
