//! Requests of users to a stream: the log profiler takes none, so counters are only shown or not.

use crate::model::ControlId;
use crate::sources::mono::control::pending_requests::Answer;
use crate::sources::mono::limits;
use crate::sources::mono::meter::counters::Counters;
use crate::sources::mono::meter::pattern::Pattern;
use crate::sources::mono::metrics::{ADD, LIST, REMOVE};

/// Does what the request says; returns the answer.
pub(super) fn request(control: ControlId, text: &str, counters: &mut Counters) -> String {
    if control == LIST {
        let all = Pattern::parse("*").map(|all| counters.matching(&all)).unwrap_or_default();
        let mut answer = Answer::default();
        all.into_iter().for_each(|index| answer.item(";", &counters.key(index)));
        return answer.into_text();
    }
    let items: Vec<_> = text.split(';').map(str::trim).filter(|item| !item.is_empty()).collect();
    if items.is_empty() {
        return "nothing: store CATEGORY/NAME".to_owned();
    }
    if items.len() > limits::ITEMS {
        return format!("too long: at most {} counters at once", limits::ITEMS);
    }
    let mut answer = Answer::default();
    for item in items {
        let pattern = match Pattern::parse(item) {
            Ok(pattern) => pattern,
            Err(wrong) => {
                answer.item("; ", &format!("not possible: {wrong}"));
                continue;
            }
        };
        let meant = counters.matching(&pattern);
        if meant.is_empty() {
            answer.item("; ", &format!("{item}: NOTFOUND"));
        }
        for index in meant {
            let shown = counters.shown(index);
            let outcome = match control {
                ADD => {
                    counters.force(index);
                    if shown { "EXISTING" } else { "OK" }
                }
                REMOVE => {
                    counters.hide(index);
                    "OK, not shown any more; the log profiler cannot be told"
                }
                // Controls of other sources never reach this session.
                _ => continue,
            };
            answer.item("; ", &format!("{}: {outcome}", counters.key(index)));
        }
    }
    answer.into_text()
}
