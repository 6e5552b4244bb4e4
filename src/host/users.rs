//! Names of users.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pmda::process::user_name;

/// Names that are kept.
const USERS: usize = 4_096;

/// Names of users by number. They can come from the network, so each is asked for once.
#[derive(Debug, Default)]
pub(super) struct Users(Mutex<HashMap<u32, String>>);

impl Users {
    /// Name of a user, or the number.
    pub(super) fn name(&self, uid: u32) -> String {
        if let Some(name) = self.lock().get(&uid) {
            return name.clone();
        }
        // Whoever asks for another one must not wait meanwhile.
        let name = user_name(uid).unwrap_or_else(|| uid.to_string());
        let mut users = self.lock();
        if users.len() >= USERS {
            users.clear();
        }
        users.insert(uid, name.clone());
        name
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u32, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
