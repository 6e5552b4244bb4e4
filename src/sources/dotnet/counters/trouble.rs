//! Reports about meters that are not as they should be.

use std::collections::VecDeque;

use super::published::Published;
use super::spec::clean;
use crate::contract::Peer;
use crate::model::Value;
use crate::sources::dotnet::limits;
use crate::sources::dotnet::metrics::{METER_LIMITED, METER_OWNER};
use crate::sources::dotnet::utf16::Utf16;
use crate::sources::dotnet::wanted::SHARED;

/// A report for a session record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Ticks of its event.
    pub time: u64,
    /// What is the matter.
    pub text: String,
}

/// What is the matter with the meters of a process.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    /// The id of the session that was asked for; empty: no meters were.
    session: String,
    /// The name of this client.
    client: String,
    /// Whose the meters are, as reported.
    owner: Option<Owner>,
    limited: bool,
    reports: VecDeque<Report>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Owner {
    /// The session that was asked for.
    Ours,
    /// Another one, or ours with other settings.
    Other(String),
}

impl Trouble {
    /// Another stream begins.
    pub(super) fn stream(&mut self, session: &str, client: &str) {
        session.clone_into(&mut self.session);
        client.clone_into(&mut self.client);
        (self.owner, self.limited) = (None, false);
    }

    /// A value came from a session.
    pub(super) fn value(&mut self, session: Utf16<'_>, peer: &mut Peer) {
        if self.owner.is_some() {
            return;
        }
        let owner = if session == *self.session {
            Owner::Ours
        } else {
            Owner::Other(format!("session {}", text(session)))
        };
        self.own(owner, peer);
        if !self.limited {
            peer.set(METER_LIMITED, Value::U32(0));
        }
    }

    fn own(&mut self, owner: Owner, peer: &mut Peer) {
        let shown = match &owner {
            Owner::Ours => "",
            Owner::Other(text) => text,
        };
        peer.set(METER_OWNER, Value::text(shown));
        self.owner = Some(owner);
    }

    /// Some series are missing.
    pub(super) fn limit(&mut self, time: u64, what: &str, peer: &mut Peer) {
        if !std::mem::replace(&mut self.limited, true) {
            peer.set(METER_LIMITED, Value::U32(1));
            self.report(time, format!("meters: {what}"));
        }
    }

    /// An event that brings no values.
    pub(super) fn event(&mut self, time: u64, event: &Published<'_>, peer: &mut Peer) {
        match event {
            Published::Limited => {
                let what = "the process has more series or histograms than a session may have";
                self.limit(time, what, peer);
            }
            Published::Error(error) => self.report(time, format!("meters: {}", text(*error))),
            Published::Refused(running) if *running != *self.session => {
                let other = format!("session {}", text(*running));
                self.report(
                    time,
                    format!("meters: another tool has them ({other}); its choice of meters is what comes"),
                );
                self.own(Owner::Other(other), peer);
            }
            Published::Differs { client, has } if *client == *self.client => {
                let [histograms, series, seconds] = has.map(text);
                let other = format!(
                    "shared session with MaxHistograms {histograms}, MaxTimeSeries {series}, RefreshInterval {seconds}"
                );
                self.report(
                    time,
                    format!("meters: another tool has them ({other}); its choice of meters is what comes"),
                );
                self.own(Owner::Other(other), peer);
            }
            _ => {}
        }
    }

    fn report(&mut self, time: u64, text: String) {
        if self.reports.len() < limits::METER_REPORTS {
            self.reports.push_back(Report { time, text });
        }
    }

    /// The oldest report.
    pub(super) fn take(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    /// Whose the meters are if not this session's.
    pub(super) fn owner(&self) -> Option<&str> {
        match &self.owner {
            Some(Owner::Other(text)) => Some(text),
            _ => None,
        }
    }

    /// Sessions are shared: .NET 8 and later. Before, the end of one can stop the counters of all
    /// (docs/protocols/dotnet.md 7).
    pub(super) fn is_shared(&self) -> bool {
        self.session == SHARED
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        let reports: usize = self.reports.iter().map(|r| r.text.capacity()).sum();
        self.session.capacity()
            + self.client.capacity()
            + self.reports.capacity() * size_of::<Report>()
            + reports
    }
}

/// At most some hundred bytes without control characters.
fn text(raw: Utf16<'_>) -> String {
    clean(&raw.to_string_within(limits::NAME), limits::NAME)
}
