//! Control requests of users in progress. A request can name many counters, whose results arrive
//! one by one; the answer is reported with the last of them.

use crate::model::ControlId;
use crate::sources::mono::limits;
use crate::sources::mono::meter::pattern::Pattern;

/// One control request.
#[derive(Debug)]
struct PendingRequest {
    id: u32,
    control: ControlId,
    answer: Answer,
    /// Results that are outstanding.
    open: usize,
    /// Patterns to add once the agent has sent its list.
    globs: Vec<Pattern>,
}

/// The text of an answer, cut when it is too long for a fetch.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    text: String,
    more: usize,
}

impl Answer {
    /// Appends one item.
    pub(crate) fn item(&mut self, separator: &str, item: &str) {
        if self.more > 0 || self.text.len() + separator.len() + item.len() > limits::ANSWER {
            self.more += 1;
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str(separator);
        }
        self.text.push_str(item);
    }

    /// The whole text.
    pub(crate) fn into_text(self) -> String {
        if self.more == 0 { self.text } else { format!("{} … {} more", self.text, self.more) }
    }
}

/// The control requests of one connection.
#[derive(Debug, Default)]
pub(crate) struct PendingRequests {
    open: Vec<PendingRequest>,
    next: u32,
}

impl PendingRequests {
    /// Begins a request, with one result outstanding that the caller settles when all counters are
    /// requested. `None`: too many requests are in progress.
    pub(crate) fn begin(&mut self, control: ControlId) -> Option<u32> {
        if self.open.len() >= limits::PENDING_REQUESTS {
            return None;
        }
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        self.open.push(PendingRequest {
            id,
            control,
            answer: Answer::default(),
            open: 1,
            globs: Vec::new(),
        });
        Some(id)
    }

    fn get(&mut self, id: u32) -> Option<&mut PendingRequest> {
        self.open.iter_mut().find(|b| b.id == id)
    }

    /// Expects one more result.
    pub(crate) fn expect(&mut self, id: u32) {
        if let Some(b) = self.get(id) {
            b.open += 1;
        }
    }

    /// Adds a pattern for the agent's list.
    pub(crate) fn glob(&mut self, id: u32, pattern: Pattern) {
        if let Some(b) = self.get(id) {
            b.globs.push(pattern);
        }
    }

    /// Whether the request waits for the agent's list.
    pub(crate) fn has_globs(&self, id: u32) -> bool {
        self.open.iter().any(|b| b.id == id && !b.globs.is_empty())
    }

    /// Takes the patterns for the agent's list.
    pub(crate) fn take_globs(&mut self, id: u32) -> Vec<Pattern> {
        self.get(id).map(|b| std::mem::take(&mut b.globs)).unwrap_or_default()
    }

    /// Adds an item to the answer.
    pub(crate) fn line(&mut self, id: u32, what: &str, result: impl std::fmt::Display) {
        if let Some(b) = self.get(id) {
            b.answer.item("; ", &format!("{what}: {result}"));
        }
    }

    /// Sets the whole answer.
    pub(crate) fn whole(&mut self, id: u32, answer: Answer) {
        if let Some(batch) = self.get(id) {
            batch.answer = answer;
        }
    }

    /// Counts one result; returns the answer if it is the last.
    #[must_use]
    pub(crate) fn settle(&mut self, id: u32) -> Option<(ControlId, String)> {
        let at = self.open.iter().position(|b| b.id == id)?;
        let batch = self.open.get_mut(at)?;
        batch.open = batch.open.saturating_sub(1);
        if batch.open > 0 {
            return None;
        }
        let batch = self.open.remove(at);
        Some((batch.control, batch.answer.into_text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::mono::metrics::{ADD, LIST};

    #[test]
    fn an_answer_comes_when_the_last_result_has() {
        let mut pending = PendingRequests::default();
        let (a, b) = (pending.begin(ADD).unwrap_or(9), pending.begin(LIST).unwrap_or(9));
        pending.expect(a);
        pending.line(a, "GC/x", "OK");
        assert_eq!(pending.settle(a), None);
        assert_eq!(pending.settle(b), Some((LIST, String::new())));
        pending.line(a, "GC/y", "NOTFOUND");
        assert_eq!(pending.settle(a), Some((ADD, "GC/x: OK; GC/y: NOTFOUND".into())));
        assert_eq!(pending.settle(a), None);
    }

    #[test]
    fn too_many_at_once_are_refused() {
        let mut pending = PendingRequests::default();
        let begun = (0..100).filter_map(|_| pending.begin(ADD)).count();
        assert_eq!(begun, limits::PENDING_REQUESTS);
    }

    #[test]
    fn long_answers_are_cut_and_say_so() {
        let mut answer = Answer::default();
        (0..100).for_each(|_| answer.item(";", &"x".repeat(1023)));
        let text = answer.into_text();
        assert!(
            text.len() < limits::ANSWER + 20 && text.ends_with("x … 68 more"),
            "{}",
            text.len()
        );
    }
}
