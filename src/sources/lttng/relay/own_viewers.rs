//! Sessions that this PMDA reads, over all its relay daemons: the other viewer of a session may be the PMDA itself,
//! by another address of the same relay daemon.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use super::super::viewer::SessionInfo;
use super::reader::locked;

/// A session as its relay daemon tells it: host, name, number.
type Key = (String, String, u64);
/// It, with the address of its relay daemon.
type Read = (Arc<str>, Key);

/// A session that is read.
#[derive(Debug)]
pub(super) struct OwnViewer {
    all: OwnViewers,
    session: Read,
}

impl Drop for OwnViewer {
    fn drop(&mut self) {
        locked(&self.all.0).remove(&self.session);
    }
}

/// Shared by the collectors of all relay daemons. As many entries as sessions are read.
#[derive(Clone, Debug, Default)]
pub struct OwnViewers(Arc<Mutex<HashSet<Read>>>);

fn key(info: &SessionInfo) -> Key {
    (info.host.clone(), info.name.clone(), info.id)
}

impl OwnViewers {
    /// A session is read at the relay daemon of this address, until the result is dropped.
    pub(super) fn attached(&self, relay: &Arc<str>, info: &SessionInfo) -> OwnViewer {
        let session = (Arc::clone(relay), key(info));
        locked(&self.0).insert(session.clone());
        OwnViewer { all: self.clone(), session }
    }

    /// The address of another relay daemon that has told of a session like this one, which is read there.
    pub(super) fn elsewhere(&self, relay: &str, info: &SessionInfo) -> Option<Arc<str>> {
        let key = key(info);
        let read = locked(&self.0);
        read.iter()
            .find(|(at, session)| **at != *relay && *session == key)
            .map(|(at, _)| Arc::clone(at))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::viewer::{Refused, TraceFormat};
    use super::super::reason::refusal;
    use super::*;

    #[test]
    fn a_session_is_known_at_another_address_while_it_is_read() {
        let (one, two): (Arc<str>, Arc<str>) = ("127.0.0.1:5344".into(), "10.0.0.1:5344".into());
        let info = SessionInfo {
            id: 1,
            host: "vm".into(),
            name: "web".into(),
            live_timer: std::time::Duration::from_secs(1),
            clients: 1,
            streams: 2,
            format: TraceFormat::Ctf1,
        };
        let text = |all: &OwnViewers, info| {
            refusal(Refused::Busy, &two, all.elsewhere(&two, info).as_deref())
        };
        let all = OwnViewers::default();
        let read = all.attached(&one, &info);
        assert_eq!(all.elsewhere(&one, &info), None);
        assert!(
            text(&all, &info).contains("this PMDA, if 127.0.0.1:5344 is another address of 10")
        );
        let other = SessionInfo { id: 2, ..info.clone() };
        assert!(!text(&all, &other).contains("this PMDA"));
        drop(read);
        assert!(!text(&all, &info).contains("this PMDA"));
    }
}
