//! `session.state` in words: why a session is not read.

use super::super::viewer::Refused;

/// The reason of a refused attach, with advice for the user.
/// `elsewhere`: another relay daemon where this PMDA reads a session of the same host, name and number.
pub(super) fn refusal(why: Refused, relay: &str, elsewhere: Option<&str>) -> String {
    if let (Refused::Busy, Some(other)) = (why, elsewhere) {
        return format!(
            "another viewer reads it, and LTTng allows one: this PMDA, if {other} is another address of {relay} (then leave one of them out of lttng.relays); else stop it (babeltrace2 on this session?)"
        );
    }
    match why {
        Refused::Busy => "another viewer reads it, and LTTng allows one: stop it (babeltrace2 on this session?)".to_owned(),
        Refused::Ours => {
            "the relay daemon has not noticed yet that our last connection is gone, or another viewer was quicker; tried again"
                .to_owned()
        }
        Refused::Unknown => {
            format!("the relay daemon at {relay} does not know it any more, or it is in a format that is not spoken")
        }
        Refused::NotLive => "it is not live: create it with lttng create --live".to_owned(),
        Refused::BadSeek => "the relay daemon cannot begin where it was asked to".to_owned(),
        Refused::Limit => "as many sessions are read as lttng.max_sessions of the configuration allows".to_owned(),
    }
}
