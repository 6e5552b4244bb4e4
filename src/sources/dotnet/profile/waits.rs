//! Methods that wait for something: a thread whose stack ends in one uses no processor.

/// Beginnings of the names of methods that wait.
const WAITS: &[&str] = &[
    "System.Threading.Monitor.",
    "System.Threading.WaitHandle.",
    "System.Threading.Thread.Sleep",
    "System.Threading.Thread.UninterruptibleSleep",
    "System.Threading.Thread.Join",
    "System.Threading.LowLevel",
    "System.Threading.WaitSubsystem",
    "System.Threading.Lock.",
    "System.Threading.Condition.",
    "System.Threading.SemaphoreSlim.Wait",
    "System.Threading.ManualResetEventSlim.Wait",
    "System.Threading.PortableThreadPool+WorkerThread.WaitForRequest",
    "System.Threading.PortableThreadPool+IOCompletionPoller.Poll",
    "System.Threading.TimerQueue.TimerThread",
    "System.GC.WaitForPendingFinalizers",
    "System.ConsolePal.Read",
    "System.ConsolePal+UnixConsoleStream.Read",
    "System.Net.Sockets.SocketAsyncEngine.EventLoop",
    "System.Net.Sockets.SocketPal.",
    "System.Diagnostics.ProcessWaitState.",
    "System.IO.RandomAccess.Read",
    "System.IO.FileStream.ReadNative",
];

/// Beginnings of system calls that wait, behind `Interop+Sys.` or its generated `<NAME>g__`.
const CALLS: &[&str] = &[
    "Read",
    "PRead",
    "Write",
    "PWrite",
    "Poll",
    "Select",
    "WaitForSocketEvents",
    "Receive",
    "Send",
    "Accept",
    "Connect",
    "WaitPid",
    "WaitId",
    "LowLevelMonitor",
    "FSync",
    "Flock",
    "FLock",
];

/// Whether a method waits, by its name `Namespace.Type.Method`.
pub(super) fn waits(name: &str) -> bool {
    if let Some(call) = name.strip_prefix("Interop+Sys.") {
        let call = call.strip_prefix('<').unwrap_or(call);
        return CALLS.iter().any(|wait| call.starts_with(wait));
    }
    WAITS.iter().any(|wait| name.starts_with(wait))
}

#[cfg(test)]
mod tests {
    use super::waits;

    #[test]
    fn waiting_is_known_by_name() {
        for name in [
            "System.Threading.Monitor.Wait",
            "System.Threading.Thread.Join",
            "System.Threading.LowLevelLifoSemaphore.WaitForSignal",
            "Interop+Sys.Read",
            "Interop+Sys.<Read>g____PInvoke|0_0",
            "System.ConsolePal.Read",
        ] {
            assert!(waits(name), "{name}");
        }
        for name in ["W.Alpha", "System.Threading.Thread.Start", "Interop+Sys.GetPid", "W.Monitor"]
        {
            assert!(!waits(name), "{name}");
        }
    }
}
