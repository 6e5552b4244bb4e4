//! Names of users.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pmda::process::user_name;

/// Names that are kept.
const USERS: usize = 4_096;
/// Time that a name is used, and that one without a name is not asked for again: the host's list can be
/// changed, and be on a server that does not answer yet.
const NAMED: Duration = Duration::from_secs(600);
const UNNAMED: Duration = Duration::from_secs(60);

/// Names of users by number, and until when each is used. They can come from the network, so they are not
/// asked for each time.
#[derive(Debug, Default)]
pub(super) struct Users(Mutex<HashMap<u32, (String, Instant)>>);

impl Users {
    /// Name of a user, or the number.
    pub(super) fn name(&self, uid: u32) -> String {
        self.name_at(uid, Instant::now(), user_name)
    }

    fn name_at(&self, uid: u32, now: Instant, ask: impl FnOnce(u32) -> Option<String>) -> String {
        if let Some((name, until)) = self.lock().get(&uid)
            && now < *until
        {
            return name.clone();
        }
        // Whoever asks for another one must not wait meanwhile.
        let found = ask(uid);
        let until = now + if found.is_some() { NAMED } else { UNNAMED };
        let name = found.unwrap_or_else(|| uid.to_string());
        let mut users = self.lock();
        if users.len() >= USERS {
            users.clear();
        }
        users.insert(uid, (name.clone(), until));
        name
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u32, (String, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_asked_for_again_after_a_while() {
        let (users, start) = (Users::default(), Instant::now());
        let at = |seconds, name: Option<&str>| {
            users.name_at(7, start + Duration::from_secs(seconds), |_| name.map(str::to_owned))
        };
        assert_eq!(at(0, None), "7", "the server does not answer yet");
        assert_eq!(at(59, Some("www")), "7");
        assert_eq!(at(60, Some("www")), "www");
        assert_eq!(at(600, Some("web")), "www");
        assert_eq!(at(660, Some("web")), "web", "renamed");
    }
}
