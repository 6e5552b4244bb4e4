//! Registration and sessions of agents before 1.90.7 (docs/protocols/zorka.md 3.1, 3.2).

use std::sync::{Arc, PoisonError};

use serde_json::{Map, Value, json};

use super::agents::SessionRef;
use super::agents::show_names;
use super::{Collector, Outcome, Reply};
use crate::contract::http::Request;
use crate::model::{Now, cut};
use crate::sources::zorka::limits::{JSON, NAME, PAUSE};
use crate::sources::zorka::metrics as m;
use crate::sources::zorka::names::Names;
use crate::sources::zorka::session::{Agent, Kind, Refusal, Registration, clean, digits, live};

/// The members of a JSON object; whatever the `Content-Type`, which 1.90.1 to 1.90.5 leave out.
fn members(request: &Request<'_>) -> Option<Map<String, Value>> {
    let body = Some(request.body).filter(|body| body.len() <= JSON)?;
    match serde_json::from_slice(body) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    }
}

/// A member that is a text, or a number as text; empty: there is none.
fn text(members: &Map<String, Value>, name: &str) -> String {
    match members.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// A name, without control characters and cut to its limit.
fn name(members: &Map<String, Value>, key: &str) -> String {
    let name = text(members, key).trim().replace(char::is_control, "");
    cut(&name, NAME).to_owned()
}

/// Refusals come slowly: some agents repeat them without a pause (docs/protocols/zorka.md 7).
fn refused() -> Reply {
    let mut reply = Reply::of(401, Outcome::Refused);
    reply.answer.delay = PAUSE;
    reply
}

fn malformed() -> Reply {
    let mut reply = Reply::of(400, Outcome::Malformed);
    reply.answer.delay = PAUSE;
    reply
}

impl Collector {
    /// POST /agent/register
    pub(super) fn register(&self, now: Now, request: &Request<'_>) -> Reply {
        let Some(members) = members(request) else { return malformed() };
        let [name, app, env] = ["name", "app", "env"].map(|key| name(&members, key));
        let rkey = text(&members, "rkey");
        if name.is_empty() {
            return malformed();
        }
        let config = self.config();
        let mut registry = self.registry();
        // No agent does this, but collectors know it: an agent that has its ids asks again.
        let ids = ["uuid", "id"].map(|key| text(&members, key));
        if let Some(id) = ids.iter().find(|id| !id.is_empty()) {
            return match registry.open(id, &text(&members, "akey"), false) {
                Ok((agent, _)) => Reply::json(200, &answer(agent)),
                Err(_) => refused(),
            };
        }
        if !config.key.is_empty() && rkey != config.key {
            return refused();
        }
        let registration = match registry.known(&name, &app, &env) {
            Some(known) => known.clone(),
            None if !config.register => return refused(),
            None => registry.register(&name, &app, &env, &rkey),
        };
        if let Ok((registration, weak)) =
            registry.open(&registration.uuid, &registration.authkey, false)
        {
            let agent = live(weak, || self.legacy_agent(now, registration));
            drop(registry);
            let mut state = agent.lock();
            state.meter.add(m::REQUESTS_REGISTER, 1);
            state.meter.add(m::BYTES_REGISTER, request.body.len() as u64);
        }
        Reply::json(201, &answer(&registration))
    }

    /// POST /agent/session: a new session each time. JVMs that share an id do not disturb each
    /// other, and each one defines everything anew.
    pub(super) fn open_session(&self, now: Now, request: &Request<'_>) -> Reply {
        let Some(members) = members(request) else { return malformed() };
        let ids = [("uuid", "legacy_base64"), ("id", "legacy")];
        let ids = ids.map(|(key, dialect)| (text(&members, key), dialect));
        let Some((id, dialect)) = ids.iter().find(|(id, _)| !id.is_empty()) else {
            return malformed();
        };
        let adopt = self.config().register;
        let mut registry = self.registry();
        let agent = match registry.open(id, &text(&members, "authkey"), adopt) {
            Ok((registration, weak)) => live(weak, || self.legacy_agent(now, registration)),
            Err(Refusal::Malformed) => return malformed(),
            Err(Refusal::Unknown | Refusal::WrongKey) => return refused(),
        };
        drop(registry);
        let key = self.ids.lock().unwrap_or_else(PoisonError::into_inner).next();
        let mut state = agent.lock();
        let (tables, dropped) = state.add(now, &key, Names::new(&self.memory));
        state.reset();
        state.dialect = dialect;
        self.directory.close(dropped);
        self.directory.open(&key, SessionRef { agent: Arc::clone(&agent), tables });
        self.hear(now, &agent, &mut state, request);
        let newest = state.tables.len() - 1;
        show_names(&mut state, newest);
        state.meter.add(m::REQUESTS_SESSION, 1);
        state.meter.add(m::BYTES_SESSION, request.body.len() as u64);
        state.meter.add(m::RESETS, 1);
        self.report(now, &mut state);
        let mut reply = Reply::json(200, &json!({ "session": key }));
        if state.opens(now) {
            reply.answer.delay = PAUSE;
        }
        reply
    }

    fn legacy_agent(&self, now: Now, registration: &Registration) -> Arc<Agent> {
        let agent = self.new_agent(now, Kind::Legacy);
        let mut state = agent.lock();
        // The name is zorka.hostname, and a service is what these agents call an application.
        state.facts.host = clean(&registration.name, NAME);
        state.facts.service = clean(&registration.app, NAME);
        state.facts.app.clone_from(&registration.app);
        state.facts.env.clone_from(&registration.env);
        state.wanted.clone_from(&registration.shown);
        state.digits = digits(&registration.uuid);
        drop(state);
        agent
    }
}

/// All that any agent looks for.
fn answer(agent: &Registration) -> Value {
    json!({ "id": agent.id, "uuid": agent.uuid, "authkey": agent.authkey })
}
