//! Requests to a source as a whole and their newest answers: for controls that belong to no single
//! peer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::model::ControlId;

/// Accepts a request at once and executes it later; an error says what a valid request looks like.
/// Must not block.
type Handler = Box<dyn Fn(ControlId, &str) -> Result<(), String> + Send + Sync>;

/// The queue of one source.
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
    /// Sets the handler of requests. Only the first call counts.
    pub fn on_request(
        &self,
        handler: impl Fn(ControlId, &str) -> Result<(), String> + Send + Sync + 'static,
    ) {
        let _ = self.handler.set(Box::new(handler));
    }

    /// Passes a request to the handler. The answer comes later.
    ///
    /// # Errors
    /// The request is rejected; the answer says why.
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

    /// Sets the value of the control's metric.
    pub fn answer(&self, control: ControlId, text: &str) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).insert(control, text.into());
    }

    /// The newest answer; empty before the first.
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
