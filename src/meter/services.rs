//! What the peers of one service have in common, by the name of the service.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Services of one source: as many as a source has peers unless configured. A service without connected
/// peers is none of them.
pub(super) const SERVICES: usize = 2048;

/// By name. A service goes when its last peer drops it.
#[derive(Debug)]
pub(super) struct Services<T>(Mutex<HashMap<Box<str>, Weak<T>>>);

impl<T> Default for Services<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Services<T> {
    /// The service of this name, which `new` makes if it is not known; `None`: there are too many services.
    pub(super) fn of(&self, name: &str, new: impl FnOnce() -> T) -> Option<Arc<T>> {
        let mut services = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = services.get(name).and_then(Weak::upgrade) {
            return Some(known);
        }
        if services.len() >= SERVICES {
            services.retain(|_, service| service.strong_count() > 0);
        }
        if services.len() >= SERVICES {
            return None;
        }
        let new = Arc::new(new());
        services.insert(name.into(), Arc::downgrade(&new));
        Some(new)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
