//! Requests to a source as a whole, and what was answered: for what no single peer can do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::model::ControlId;

/// Takes a request at once and does it later; an error says what should have been written. Must not
/// block.
type Handler = Box<dyn Fn(ControlId, &str) -> Result<(), String> + Send + Sync>;

/// The control_queue of one source.
#[derive(Default)]
pub struct ControlQueue {
    handler: OnceLock<Handler>,
    answers: Mutex<HashMap<ControlId, Arc<str>>>,
}

impl std::fmt::Debug for ControlQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlQueue").field("answers", &self.answers).finish_non_exhaustive()
    }
}

impl ControlQueue {
    /// Who takes requests. Only the first call counts.
    pub fn on_request(
        &self,
        handler: impl Fn(ControlId, &str) -> Result<(), String> + Send + Sync + 'static,
    ) {
        let _ = self.handler.set(Box::new(handler));
    }

    /// Passes a request on. The answer comes later.
    ///
    /// # Errors
    /// It is not understood; the answer says why.
    pub fn request(&self, control: ControlId, text: &str) -> Result<(), String> {
        let result = self.handler.get().map_or_else(
            || Err("nobody takes requests".to_owned()),
            |handler| handler(control, text),
        );
        if let Err(why) = &result {
            self.answer(control, &format!("refused: {why}"));
        }
        result
    }

    /// Sets what the metric shows.
    pub fn answer(&self, control: ControlId, text: &str) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).insert(control, text.into());
    }

    /// What was answered last; empty before the first.
    #[must_use]
    pub fn answered(&self, control: ControlId) -> Arc<str> {
        self.answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&control)
            .cloned()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: ControlId = ControlId::new(0);
    const STOP: ControlId = ControlId::new(1);

    #[test]
    fn what_is_not_understood_is_answered_at_once() {
        let control_queue = ControlQueue::default();
        assert!(control_queue.request(START, "x").is_err());
        control_queue
            .on_request(|_, text| if text == "s1" { Ok(()) } else { Err("write NAME".into()) });
        assert_eq!(control_queue.request(START, "?"), Err("write NAME".into()));
        assert_eq!(&*control_queue.answered(START), "refused: write NAME");
        assert_eq!(
            (control_queue.request(STOP, "s1"), &*control_queue.answered(STOP)),
            (Ok(()), "")
        );
        control_queue.answer(STOP, "done");
        assert_eq!(&*control_queue.answered(STOP), "done");
    }
}
