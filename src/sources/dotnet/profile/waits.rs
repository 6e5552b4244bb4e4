//! Which stacks wait: samples are of wall time, and one that waits in a system call looks like one that runs.

use super::methods::Methods;
use super::samples::{Count, PERIOD, Samples};

/// Shares time by samples, each of which counts so much. Without any of that nothing is given.
pub(super) fn share(
    time: u64,
    counts: &[Count],
    part: impl Fn(&Count) -> u64,
    mut give: impl FnMut(u32, u64),
) {
    let part = |count: &Count| u128::from(count.samples) * u128::from(part(count));
    let all: u128 = counts.iter().map(part).sum();
    let (mut seen, mut given) = (0, 0);
    for count in counts.iter().filter(|_| all > 0) {
        // Shares add up to the whole.
        seen += part(count);
        let until = u64::try_from(u128::from(time).saturating_mul(seen) / all).unwrap_or(time);
        give(count.stack, until - given);
        given = until;
    }
}

/// What busy stacks are measured in.
const WHOLE: u64 = 1 << 20;
/// A stack of a twentieth of a thread's time has, beside one that waits, nearly all of its own after four.
const STEPS: usize = 8;
/// A stack waits that is so many times less busy than those that have the time.
const IDLE: u64 = 8;
/// With fewer samples nothing is learned of a stack.
const ENOUGH: u64 = 10;

/// Whether each stack waits: by the name of its innermost known method, or as the processor time of threads tells.
///
/// A stack whose threads used little time where they had no other one has little of what was used where they had both:
/// the iteration of Richardson and Lucy finds how busy stacks are, and its sums are those of the threads at each step.
/// That is good enough to tell work from waiting, and no more: between two stacks that run it finds chance.
pub(super) fn waiting(samples: &Samples, methods: &Methods) -> Vec<bool> {
    let mut waiting: Vec<bool> = samples.stacks().iter().map(|s| is_waiting(s, methods)).collect();
    let mut busy: Vec<u64> = waiting.iter().map(|waits| if *waits { 0 } else { WHOLE }).collect();
    // Of timed threads: samples of each stack, and the time that they got.
    let mut got = Vec::new();
    for _ in 0..STEPS {
        got = vec![(0_u64, 0_u64); busy.len()];
        for (time, counts) in samples.groups() {
            let Some(time) = time else { continue };
            let part = |count: &Count| busy.get(count.stack as usize).copied().unwrap_or(WHOLE);
            for count in counts {
                if let Some((all, _)) = got.get_mut(count.stack as usize) {
                    *all += u64::from(count.samples);
                }
            }
            share(time, counts, part, |stack, time| {
                if let Some((_, got)) = got.get_mut(stack as usize) {
                    *got = got.saturating_add(time);
                }
            });
        }
        for (busy, (all, got)) in busy.iter_mut().zip(&got).filter(|(_, (all, _))| *all > 0) {
            let part =
                u128::from(*got) * u128::from(WHOLE) / (u128::from(*all) * u128::from(PERIOD));
            *busy = u64::try_from(part).unwrap_or(u64::MAX);
        }
    }
    // How busy a stack is that has time: those that have more count more.
    let time: u128 = got.iter().map(|(_, got)| u128::from(*got)).sum();
    let weighed =
        busy.iter().zip(&got).map(|(busy, (_, got))| u128::from(*busy) * u128::from(*got));
    let usual = weighed.fold(0_u128, u128::saturating_add) / time.max(1);
    for ((waits, busy), (all, _)) in waiting.iter_mut().zip(busy).zip(got) {
        *waits |= all >= ENOUGH && u128::from(busy) * u128::from(IDLE) < usual;
    }
    waiting
}

/// Whether the innermost known method waits.
fn is_waiting(ips: &[u64], methods: &Methods) -> bool {
    ips.iter().find_map(|ip| methods.name(*ip)).is_some_and(|leaf| waits(leaf))
}

/// Beginnings of the names of methods that wait: a thread whose stack ends in one uses no processor.
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
fn waits(name: &str) -> bool {
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
