//! Event records of calls.

use std::sync::Arc;

use arrayvec::ArrayVec;

use super::entry::Entry;
use super::roles::{PARAMETERS_MAX, Role, Roles, Told};
use crate::events::flags::POINT;
use crate::model::{EventParam, EventValue, Stamp, Update};
use crate::sources::Sink;
use crate::sources::profiler::meter::totals::ns;
use crate::sources::profiler::metrics as m;
use crate::sources::profiler::words::method_name::nameless;
use crate::sources::profiler::words::{Mark, Words};

/// The parameters of one record, without an allocation.
type Params<'a> = ArrayVec<EventParam<'a>, { m::PARAMS.len() + PARAMETERS_MAX }>;

/// Bytes of all parameters that have none of their own.
const PARAMETERS: usize = 4096;

/// Makes the records of one connection.
#[derive(Debug, Default)]
pub(crate) struct Records {
    roles: Roles,
    others: String,
}

impl Records {
    pub(crate) fn new(parameters: Arc<[String]>) -> Self {
        Self { roles: Roles::new(parameters), others: String::new() }
    }

    /// Brings the parameters of the configuration into being.
    pub(crate) fn define(&self, sink: &mut dyn Sink) {
        self.roles.define(sink);
    }

    /// Ids mean something else from now on.
    pub(crate) fn forget_words(&mut self) {
        self.roles.forget_words();
    }

    /// No call has come for a while.
    pub(crate) fn rest(&mut self) {
        self.roles.forget_words();
        self.others = String::new();
    }

    /// A call; `method`: its name, if that has come.
    pub(crate) fn tell(
        &mut self,
        entry: &Entry,
        method: Option<&str>,
        words: &Words,
        sink: &mut dyn Sink,
    ) {
        let unnamed;
        let method = match method {
            Some(name) => name,
            None => {
                unnamed = nameless(entry.method);
                &unnamed
            }
        };
        let error = words.mark(Mark::Red).is_some_and(|id| entry.has(id));
        let (mut others, mut told) = (std::mem::take(&mut self.others), Told::default());
        others.clear();
        let mut params = Params::new();
        params.push(EventParam::text(m::P_METHOD, method));
        if let Some(thread) = &entry.thread {
            params.push(EventParam::text(m::P_THREAD, thread));
        }
        for (id, value) in entry.params() {
            match self.roles.role(id, words) {
                // The values of a list, and ids of several tracing systems: the first is told.
                Role::Own(id) if told.add(id) => {
                    params.push(EventParam { id, value: EventValue::Text(value) })
                }
                Role::Own(_) => {}
                Role::Other => match words.get(id) {
                    Some(name) => push_other(&mut others, name, value),
                    None => push_other(&mut others, &nameless(id), value),
                },
                Role::Mark => {}
            }
        }
        if !others.is_empty() {
            params.push(EventParam::text(m::P_PARAMETERS, &others));
        }
        params.push(EventParam::number(m::P_DURATION, ns(entry.duration_ms)));
        let [file_read, file_written, net_read, net_written] = entry.io;
        for (item, number) in [
            (m::P_ERROR, error.into()),
            (m::P_CPU, ns(entry.cpu_ms)),
            (m::P_WAIT, ns(entry.wait_ms)),
            (m::P_QUEUE_WAIT, ns(entry.queue_wait_ms.into())),
            (m::P_MEMORY, entry.memory),
            (m::P_NESTED, entry.nested.into()),
            (m::P_FILE_READ, file_read),
            (m::P_FILE_WRITTEN, file_written),
            (m::P_NET_READ, net_read),
            (m::P_NET_WRITTEN, net_written),
            (m::P_TRANSACTIONS, entry.transactions),
            (m::P_TRACE_FILE, entry.pointer.file.into()),
            (m::P_TRACE_OFFSET, entry.pointer.offset.into()),
            (m::P_TRACE_INDEX, entry.pointer.index.into()),
        ] {
            if number > 0 {
                params.push(EventParam::number(item, number));
            }
        }
        sink.update(Update::Event {
            kind: m::CALL,
            stamp: Stamp::from_millis(entry.start_ms),
            flags: POINT,
            params: &params,
        });
        drop(params);
        self.others = others;
    }
}

/// Appends `name=value` to the text of other parameters.
fn push_other(out: &mut String, name: &str, value: &str) {
    if out.len() + name.len() + value.len() + 2 > PARAMETERS {
        return;
    }
    if !out.is_empty() {
        out.push(' ');
    }
    out.push_str(name);
    if !value.is_empty() {
        out.push('=');
        out.push_str(value);
    }
}
