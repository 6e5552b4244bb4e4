//! Starts what LTTng needs: control of sessions, and a task for each relay daemon.

use super::lttng::{LttngControl, LttngOptions};
use super::relay::{Relay, RelayStatus};
use crate::config::{Config, Lttng};
use crate::model::ControlVerb;
use crate::sources::SOURCES;
use crate::sources::lttng::control::{Command, Report, Verb};
use crate::sources::lttng::{Choice, viewer};
use crate::store::{Desk, Store};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// File of the sessions that are ours, in the folder of what outlives the process.
const STATE_FILE: &str = "apm.lttng.json";

/// Control of sessions and the tasks of relay daemons. `state` is the folder of what outlives the process.
pub(super) fn start(
    config: &Config,
    store: &Arc<Store>,
    state: &Path,
    (runtime, tasks, stop): (&Handle, &TaskTracker, &CancellationToken),
) -> LttngControl {
    let Lttng { program, relays, view, from, records, count_only, sessions } = config.lttng.clone();
    let (names, own) = watch::channel(sessions.iter().map(|spec| spec.name.clone()).collect::<Vec<_>>());
    let options = LttngOptions { program, state_file: state.join(STATE_FILE), sessions };
    let source = SOURCES.iter().position(|s| s.name == "lttng").unwrap_or_default();
    let reported = Arc::clone(store);
    let control = LttngControl::start(runtime, tasks, stop.clone(), options, move |reports, _| {
        if let Some(desk) = reported.desk(source) {
            desk.answer(ControlVerb::Status, &status(reports));
        }
        let new: Vec<String> = reports.iter().map(|r| r.name.clone()).collect();
        names.send_if_modified(|old| {
            let changed = *old != new;
            *old = new;
            changed
        });
    });
    take_requests(store, source, &control);
    let relay_status = Arc::new(RelayStatus::new(store, source));
    for address in relays {
        let relay = Relay {
            address,
            settings: viewer::Settings { seek: from, ..viewer::Settings::default() },
            choice: Choice { records: records.clone(), except: count_only.clone() },
            view: view.clone(),
            own: own.clone(),
            control: control.clone(),
            status: Arc::clone(&relay_status),
            store: Arc::clone(store),
            stop: stop.clone(),
        };
        tasks.spawn_on(relay.run(), runtime);
    }
    control
}

/// A line for each session.
fn status(reports: &[Report]) -> String {
    let line = |r: &Report| format!("{} {}: {}", r.name, r.diagnosis.code.word(), r.diagnosis.text);
    reports.iter().map(line).collect::<Vec<_>>().join("\n")
}

const fn verb(verb: ControlVerb) -> Option<Verb> {
    Some(match verb {
        ControlVerb::Session => Verb::Session,
        ControlVerb::Enable => Verb::Enable,
        ControlVerb::Context => Verb::Context,
        ControlVerb::Start => Verb::Start,
        ControlVerb::Stop => Verb::Stop,
        ControlVerb::Add | ControlVerb::Remove | ControlVerb::List | ControlVerb::Status | ControlVerb::Relays => return None,
    })
}

fn take_requests(store: &Arc<Store>, source: usize, control: &LttngControl) {
    let (answers, control) = (Arc::downgrade(store), control.clone());
    let Some(desk) = store.desk(source) else { return };
    desk.on_request(move |asked, text| {
        let Some(verb) = verb(asked) else { return Err("nothing can be asked for here".into()) };
        let command = Command::parse(verb, text)?;
        let answers = answers.clone();
        let answer = move |desk: &Desk, text: &str| desk.answer(asked, text);
        if let Some(store) = answers.upgrade()
            && let Some(desk) = store.desk(source)
        {
            answer(desk, &format!("being done: {}", text.trim()));
        }
        let asked_for = text.trim().to_owned();
        control.request(
            command,
            Box::new(move |result| {
                let text = match result {
                    Ok(done) => format!("{asked_for}: {done}"),
                    Err(why) => format!("{asked_for}: failed: {why}"),
                };
                log::info!("lttng control: {text}");
                if let Some(store) = answers.upgrade()
                    && let Some(desk) = store.desk(source)
                {
                    answer(desk, &text);
                }
            }),
        );
        Ok(())
    });
}
