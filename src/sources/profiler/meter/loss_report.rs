//! The call by which an agent reports calls that it has lost (spec B.6): a call of the agent's own,
//! every 60 s when there is something to report, which lasts since the last report. Its number is
//! told by `Observer::calls_lost`; it is no call of the application.

use crate::sources::profiler::streams::record::Call;
use crate::sources::profiler::words::Words;

/// A word of the dictionary is the name of its method.
pub(crate) fn is(word: &str) -> bool {
    word.split('(').next().is_some_and(|method| method.ends_with(".ESC_CORRUPTED_CALLS.log"))
}

/// A call whose method has no name yet may turn out to be one: nothing is nested in it, and it has
/// but `call.red` = 1.
pub(crate) fn may_be(call: &Call<'_>, words: &Words) -> bool {
    call.calls == 1
        && call.params.count() == 1
        && words.get(call.method).is_none()
        && call.params.iter().all(|p| p.value.units() == 1 && p.value.is("1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_name() {
        assert!(is(
            "void com.netcracker.profiler.ESC_CORRUPTED_CALLS.log() (Dumper.java:200) [profiler-runtime.jar]"
        ));
        assert!(!is(
            "void com.x.Main.run(com.netcracker.profiler.ESC_CORRUPTED_CALLS.log) (Main.java:1)"
        ));
        assert!(!is("ESC_CORRUPTED_CALLS.log") && !is(""));
    }
}
