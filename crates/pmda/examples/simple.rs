//! PCP's pmdasimple(1) in Rust: a count of fetches, three colours that change with each fetch, CPU
//! times, and the time of day in an instance domain that the file simple.conf lists.

use std::path::PathBuf;
use std::time::SystemTime;

use pmda::process::{cpu_time, pmdas_dir};
use pmda::{
    Agent, Error, FetchRequest, Handler, InDom, InstanceCache, LabelSet, LabelTarget, Log, Metric,
    PmdaInfo, Pmid, Results, Semantics, StartError, StoreRequest, Tables, Units, Value, ValueType,
    fetch_values,
};

struct Simple {
    fetches: u32,
    colors: [i32; 3],
    time: InDom,
    slices: InstanceCache,
    file: PathBuf,
    read: Option<SystemTime>,
}

impl Simple {
    fn new(tables: &mut Tables, file: PathBuf) -> Result<Self, StartError> {
        let (color, time) = (tables.add_indom(0), tables.add_indom(1));
        tables.set_instances(color, [(0, "red"), (1, "green"), (2, "blue")]);
        let with = |indom, metric| Metric { indom: Some(indom), ..metric };
        let (sem, units) = (Semantics::Counter, Units::Seconds);
        tables.add_metrics(&[
            tables.metric("simple.numfetch", 0, 0, ValueType::U32),
            with(color, tables.metric("simple.color", 0, 1, ValueType::I32)),
            Metric { sem, units, ..tables.metric("simple.time.user", 1, 2, ValueType::F64) },
            Metric { sem, units, ..tables.metric("simple.time.sys", 1, 3, ValueType::F64) },
            with(time, tables.metric("simple.now", 2, 4, ValueType::U32)),
        ])?;
        let slices = InstanceCache::new(time);
        Ok(Self { fetches: 0, colors: [0, 100, 200], time, slices, file, read: None })
    }

    /// Parses the file again if it has changed.
    fn read_slices(&mut self) -> std::io::Result<()> {
        let changed = Some(std::fs::metadata(&self.file)?.modified()?);
        if self.read != changed {
            self.slices.hide_all();
            self.read = changed;
            for name in std::fs::read_to_string(&self.file)?.trim_end().split(',') {
                match name {
                    "sec" | "min" | "hour" => drop(self.slices.show(name)),
                    _ => log::warn!("ignoring {name:?} in {}", self.file.display()),
                }
            }
        }
        Ok(())
    }
}

impl Handler for Simple {
    fn refresh(&mut self, indom: InDom, tables: &mut Tables) {
        if indom == self.time {
            if let Err(e) = self.read_slices() {
                log::error!("{}: {e}", self.file.display());
                self.slices.hide_all();
                self.read = None;
            }
            let visible = self.slices.visible();
            tables.set_instances(indom, visible.iter().map(|(id, name)| (*id, name.as_str())));
        }
    }

    fn fetch(&mut self, request: &FetchRequest<'_>, tables: &mut Tables, results: &mut Results) {
        self.fetches = self.fetches.wrapping_add(1);
        fetch_values(self, request, tables, results);
    }

    fn value(&mut self, pmid: Pmid, inst: u32) -> Result<Option<Value>, Error> {
        Ok(Some(match (pmid.cluster(), pmid.item()) {
            (0, 0) => Value::U32(self.fetches),
            (0, 1) => {
                let color = self.colors.get_mut(inst as usize).ok_or(Error::INST)?;
                *color = (*color + 1) % 256;
                Value::I32(*color)
            }
            (1, 2) => Value::F64(cpu_time().0.as_secs_f64()),
            (1, 3) => Value::F64(cpu_time().1.as_secs_f64()),
            (2, 4) => {
                let now = jiff::Zoned::now();
                Value::I32(i32::from(match self.slices.name(inst).ok_or(Error::INST)?.as_str() {
                    "sec" => now.second(),
                    "min" => now.minute(),
                    _ => now.hour(),
                }))
            }
            _ => return Err(Error::PMID),
        }))
    }

    fn store(&mut self, request: &StoreRequest<'_>) -> Result<(), Error> {
        for value in &request.values {
            let number = || match value.get(ValueType::I32) {
                Ok(Value::I32(number)) => Ok(number),
                _ => Err(Error::TYPE),
            };
            let in_range = match (value.pmid.cluster(), value.pmid.item()) {
                (0, 0) => {
                    self.fetches = number()?.max(0).cast_unsigned();
                    number()? >= 0
                }
                (0, 1) => {
                    let color = self.colors.get_mut(value.inst as usize).ok_or(Error::INST)?;
                    *color = number()?.clamp(0, 255);
                    *color == number()?
                }
                (1, 2 | 3) | (2, 4) => return Err(Error::PERMISSION),
                _ => return Err(Error::PMID),
            };
            if !in_range {
                return Err(Error::BADSTORE);
            }
        }
        Ok(())
    }

    fn labels(&mut self, target: LabelTarget) -> Option<LabelSet> {
        let labels = LabelSet::new();
        Some(match target {
            LabelTarget::Domain => labels.with("role", "testing"),
            LabelTarget::InDom(indom) if indom == self.time => {
                labels.with("indom_name", "time").with("unitsystem", "SI")
            }
            LabelTarget::InDom(_) => labels.with("indom_name", "color").with("model", "RGB"),
            LabelTarget::Instance(indom, inst) if indom == self.time => {
                labels.with("units", self.slices.name(inst)?)
            }
            _ => return None,
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = pmdas_dir().join("simple");
    let info = PmdaInfo::new("pmdasimple", 253, "simple.log").with_help(folder.join("help"));
    let mut agent =
        Agent::new(&info, std::env::args_os()).unwrap_or_else(|s| std::process::exit(s));
    agent.open_log();
    Log::install(info.name, log::LevelFilter::Info);
    agent.become_user()?;
    let mut pmda = agent.start(|tables| Simple::new(tables, folder.join("simple.conf")))?;
    pmda.connect()?;
    Ok(pmda.run_alone()?)
}
