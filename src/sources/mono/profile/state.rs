//! What a sampled thread did, by its innermost frame.

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Blocked,
    Native,
}

/// Calls of the runtime.
const CALL: &str = "(wrapper managed-to-native) ";
/// Beginnings of the names of those that wait.
const WAITS: &[&str] = &[
    "object:__icall_wrapper_mono_monitor_enter",
    "System.Threading.Monitor:",
    "System.Threading.Thread:SleepInternal",
    "System.Threading.Thread:JoinInternal",
    "System.Threading.WaitHandle:",
    "System.Threading.InternalThread:",
    "System.Net.Sockets.Socket:",
    "System.Threading.RuntimeThread:",
    "System.IOSelector:",
    "System.IO.MonoIO:Read",
    "System.Diagnostics.Process:Wait",
    "Interop/Sys:Poll",
    "Interop/Sys:Select",
];

impl State {
    /// By slot of their rows.
    pub(super) const ALL: [Self; 3] = [Self::Running, Self::Blocked, Self::Native];

    /// `innermost`: the method's name; `Some(None)`: it has none; `None`: no managed frame.
    pub(super) fn of(innermost: Option<Option<&str>>) -> Self {
        match innermost {
            None => Self::Native,
            Some(Some(name)) if waits(name) => Self::Blocked,
            Some(_) => Self::Running,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Blocked => "blocked",
            Self::Native => "native",
        }
    }
}

fn waits(name: &str) -> bool {
    name.strip_prefix(CALL).is_some_and(|call| WAITS.iter().any(|wait| call.starts_with(wait)))
}

#[cfg(test)]
mod tests {
    use super::State;

    #[test]
    fn the_innermost_frame_tells() {
        let of = |name: &str| State::of(Some(Some(name)));
        assert_eq!(
            of("(wrapper managed-to-native) System.Threading.Thread:SleepInternal (int)"),
            State::Blocked
        );
        assert_eq!(
            of(
                "(wrapper managed-to-native) System.Threading.WaitHandle:Wait_internal (intptr*,int,bool,int)"
            ),
            State::Blocked
        );
        assert_eq!(
            of("(wrapper managed-to-native) System.Diagnostics.Stopwatch:GetTimestamp ()"),
            State::Running
        );
        assert_eq!(of("System.Threading.Monitor:Enter (object)"), State::Running);
        assert_eq!((State::of(Some(None)), State::of(None)), (State::Running, State::Native));
    }
}
