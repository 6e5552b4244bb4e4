//! Starts what LTTng needs: control of sessions, and a task for each relay daemon.

use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::control::{ControlOptions, SessionControl};
use super::relay::Relay;
use super::relay_status::RelayStatus;
use crate::config::{Config, Lttng};
use crate::model::ControlVerb;
use crate::sources::LTTNG;
use crate::sources::lttng::control::{Command, Verb};
use crate::sources::lttng::{Choice, viewer};
use crate::store::{Desk, Store};

/// File of the sessions that are ours, in the folder of what outlives the process.
const STATE_FILE: &str = "apm.lttng.json";

/// Control of sessions and the tasks of relay daemons. `state` is the folder of what outlives the
/// process.
pub(crate) fn start(
    config: &Config,
    store: &Arc<Store>,
    state: &Path,
    (runtime, tasks, stop): (&Handle, &TaskTracker, &CancellationToken),
) -> SessionControl {
    let Lttng {
        program,
        relays,
        view,
        from,
        max_sessions,
        records,
        count_only,
        field_size,
        sessions,
    } = config.lttng.clone();
    let options = ControlOptions { program, state_file: state.join(STATE_FILE), sessions };
    let desk = store.desk(LTTNG).cloned().unwrap_or_default();
    let control = SessionControl::start(runtime, tasks, stop.clone(), options, Arc::clone(&desk));
    take_requests(&desk, &control);
    let relay_status = Arc::new(RelayStatus::new(desk));
    let field_size = usize::try_from(field_size).unwrap_or(usize::MAX);
    let room = Arc::new(Semaphore::new(
        usize::try_from(max_sessions).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS),
    ));
    // Twice the same would be two viewers that keep each other from the sessions.
    let twice = |i: usize, address: &String| relays.iter().take(i).any(|other| other == address);
    for (_, address) in relays.iter().enumerate().filter(|(i, address)| !twice(*i, address)) {
        let relay = Relay {
            address: address.clone(),
            settings: viewer::Settings { seek: from, ..viewer::Settings::default() },
            choice: Choice { records: records.clone(), except: count_only.clone(), field_size },
            view: view.clone(),
            room: Arc::clone(&room),
            managed: control.reports(),
            watch: Arc::clone(control.session_watch()),
            status: Arc::clone(&relay_status),
            store: Arc::clone(store),
            stop: stop.clone(),
        };
        tasks.spawn_on(relay.run(), runtime);
    }
    control
}

const fn verb(verb: ControlVerb) -> Option<Verb> {
    Some(match verb {
        ControlVerb::Session => Verb::Session,
        ControlVerb::Enable => Verb::Enable,
        ControlVerb::Context => Verb::Context,
        ControlVerb::Start => Verb::Start,
        ControlVerb::Stop => Verb::Stop,
        ControlVerb::Add
        | ControlVerb::Remove
        | ControlVerb::List
        | ControlVerb::Status
        | ControlVerb::Relays => return None,
    })
}

fn take_requests(desk: &Arc<Desk>, control: &SessionControl) {
    // The desk has the handler: the handler must not keep the desk.
    let (weak, control) = (Arc::downgrade(desk), control.clone());
    desk.on_request(move |asked, text| {
        let Some(verb) = verb(asked) else { return Err("nothing can be asked for here".into()) };
        let command = Command::parse(verb, text)?;
        let Some(desk) = weak.upgrade() else { return Ok(()) };
        let text = text.trim().to_owned();
        desk.answer(asked, &format!("being done: {text}"));
        let done = move |result| {
            let text = match result {
                Ok(done) => format!("{text}: {done}"),
                Err(why) => format!("{text}: failed: {why}"),
            };
            log::info!("lttng control: {text}");
            desk.answer(asked, &text);
        };
        control.request(command, Box::new(done));
        Ok(())
    });
}
