//! LTTng's I/O. One task controls sessions ([`control`]: the `lttng` program and the state file).
//! Each relay daemon has a task that lists its sessions ([`relay`]) and one more for each session
//! that is read ([`connection`]). The protocols and decisions are outside this folder, without I/O.

mod claims;
mod connection;
mod control;
mod probe;
mod program;
mod relay;
mod relay_status;
mod state_file;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use claims::RelayClaims;
pub use control::{ControlOptions, OnAnswer, SessionControl};
use relay::Relay;
use relay_status::RelayStatus;
use tokio::sync::Semaphore;

use crate::model::ControlId;
use crate::net::{Net, Peers};
use crate::sources::foreign::ForeignReaders;
use crate::sources::lttng::control::{Command, Verb};
use crate::sources::lttng::{Config, OwnViewers, RecordFilter, metrics, viewer};
use crate::sources::{Context, Running};
use crate::store::ControlQueue;

/// State file of the managed sessions, in the state folder.
const STATE_FILE: &str = "apm.lttng.json";

/// Starts the control of sessions and a task for each relay daemon.
pub(in crate::sources::lttng) fn start(
    config: Config,
    Context { peers, net, state_dir, foreign, .. }: Context,
) -> Box<dyn Running<Config>> {
    let control = start_tasks(&config, &peers, &net, state_dir.join(STATE_FILE), &foreign);
    Box::new(RunningLttng { control, config: Mutex::new(config) })
}

struct RunningLttng {
    control: SessionControl,
    /// The configuration that was applied last.
    config: Mutex<Config>,
}

impl Running<Config> for RunningLttng {
    fn reconfigure(&self, new: &Config) -> Vec<&'static str> {
        if !self.control.configure(new.sessions.clone()) {
            log::warn!(
                "lttng: too many requests wait; send SIGHUP again for the sessions of the configuration"
            );
        }
        let old = std::mem::replace(
            &mut *self.config.lock().unwrap_or_else(PoisonError::into_inner),
            new.clone(),
        );
        let keys = [
            ("program", old.program != new.program),
            ("relays", old.relays != new.relays),
            ("view", old.view != new.view),
            ("from", old.from != new.from),
            ("records", old.records != new.records),
            ("count_only", old.count_only != new.count_only),
            ("field_size", old.field_size != new.field_size),
            ("max_sessions", old.max_sessions != new.max_sessions),
        ];
        keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }
}

fn start_tasks(
    config: &Config,
    peers: &Peers,
    net: &Net,
    state_file: PathBuf,
    foreign: &ForeignReaders,
) -> SessionControl {
    let Config {
        program,
        relays,
        view,
        from,
        max_sessions,
        records,
        count_only,
        field_size,
        sessions,
    } = config.clone();
    let options = ControlOptions { program, state_file, sessions };
    let control_queue = peers.control_queue();
    let stop = net.stop().clone();
    let control = SessionControl::start(
        net.runtime(),
        net.tasks(),
        stop,
        options,
        Arc::clone(&control_queue),
    );
    take_requests(&control_queue, &control);
    let relay_status = Arc::new(RelayStatus::new(control_queue));
    let field_size = usize::try_from(field_size).unwrap_or(usize::MAX);
    let room = Arc::new(Semaphore::new(
        usize::try_from(max_sessions).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS),
    ));
    let claims = Arc::new(RelayClaims::default());
    let own = OwnViewers::default();
    let twice = |i: usize, address: &String| relays.iter().take(i).any(|other| other == address);
    for (_, address) in relays.iter().enumerate().filter(|(i, address)| !twice(*i, address)) {
        let relay = Relay {
            address: address.clone(),
            settings: viewer::Settings { seek: from, ..viewer::Settings::default() },
            filter: RecordFilter {
                records: records.clone(),
                count_only: count_only.clone(),
                field_size,
            },
            view: view.clone(),
            room: Arc::clone(&room),
            managed: control.reports(),
            watch: Arc::clone(control.session_watch()),
            status: Arc::clone(&relay_status),
            claims: Arc::clone(&claims),
            own: own.clone(),
            peers: peers.clone(),
            foreign: foreign.clone(),
            stop: net.stop().clone(),
        };
        net.spawn(relay.run());
    }
    control
}

fn verb(control: ControlId) -> Option<Verb> {
    Some(match control {
        metrics::SESSION => Verb::Session,
        metrics::ENABLE => Verb::Enable,
        metrics::CONTEXT => Verb::Context,
        metrics::START => Verb::Start,
        metrics::STOP => Verb::Stop,
        _ => return None,
    })
}

fn take_requests(control_queue: &Arc<ControlQueue>, control: &SessionControl) {
    // `control_queue` owns the handler, so the handler has only a weak reference.
    let (weak, control) = (Arc::downgrade(control_queue), control.clone());
    control_queue.on_request(move |asked, text| {
        let Some(verb) = verb(asked) else { return Err("nothing can be asked for here".into()) };
        let command = Command::parse(verb, text)?;
        let Some(control_queue) = weak.upgrade() else { return Ok(()) };
        let text = text.trim().to_owned();
        control_queue.answer(asked, &format!("being done: {text}"));
        let done = move |result| {
            let text = match result {
                Ok(done) => format!("{text}: {done}"),
                Err(why) => format!("{text}: failed: {why}"),
            };
            log::info!("lttng control: {text}");
            control_queue.answer(asked, &text);
        };
        control.request(command, Box::new(done));
        Ok(())
    });
}
