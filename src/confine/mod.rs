//! What the PMDA's processes and threads give up before a byte of a peer is read: rights that come with programs, core
//! dumps, system calls that they do not make, files. docs/security.md has the table, and what each stands for.

pub mod aside;
mod landlock;
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "x86_64"))]
mod lists;
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "x86_64"))]
mod seccomp;
#[cfg(not(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "x86_64")))]
#[path = "seccomp_none.rs"]
mod seccomp;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};

pub use self::seccomp::print;

/// Who has a list of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// All threads of the PMDA.
    Process,
    /// Those that decode what comes over sockets.
    Worker,
    /// Those that decode files that they follow.
    Files,
    /// The process `--guard`.
    Guard,
    /// A process that opens files and sockets for the PMDA.
    Opener,
}

/// What is given up, as `[confine]` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confine {
    /// System calls.
    pub seccomp: bool,
    /// What [`landlock`](https://landlock.io) keeps from threads.
    pub landlock: bool,
}

const SECCOMP: &str = "seccomp";
const LANDLOCK: &str = "landlock";

/// What has been given up, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    seccomp: Result<(), String>,
    /// With the version of the kernel's Landlock.
    landlock: Result<i32, String>,
}

impl Confine {
    /// All threads, from now on; called before there are others. What a thread or a program that is started has given
    /// up is more, never less.
    ///
    /// # Errors
    /// Each that cannot be given up, with the reason.
    pub fn process(self) -> Result<(), String> {
        let privileges = rustix::thread::set_no_new_privs(true);
        privileges.map_err(|e| format!("no_new_privs cannot be set: {e}"))?;
        no_core().map_err(|e| format!("core dumps cannot be switched off: {e}"))?;
        // What is made is not for others to write, whatever pmcd was started with. Files of names and states have
        // modes of their own.
        umask(umask(Mode::empty()) | Mode::WGRP | Mode::WOTH);
        if self.seccomp {
            seccomp::confine_process(Kind::Process)?;
        }
        Ok(())
    }

    /// This thread is one that decodes what comes over sockets.
    #[must_use]
    pub fn worker(self) -> Given {
        self.thread(Kind::Worker, landlock::nothing)
    }

    /// This thread is one that decodes files.
    #[must_use]
    pub fn files(self) -> Given {
        self.thread(Kind::Files, landlock::to_read)
    }

    /// The process `--guard`: it has what it was given, and opens nothing.
    pub fn guard(self) {
        self.child(Kind::Guard, || drop(landlock::nothing()));
    }

    /// The process `--opener`, which starts others that have this list too: openers, and errands that become other users.
    pub fn keeper(self) {
        self.child(Kind::Process, || ());
    }

    /// A process that opens files and sockets for the PMDA. Landlock would keep other processes from it.
    pub fn opener(self) {
        self.child(Kind::Opener, || ());
    }

    /// A process beside the PMDA. What cannot be given up is told by the PMDA, on the same kernel.
    fn child(self, kind: Kind, reach: impl FnOnce()) {
        let _ = rustix::thread::set_no_new_privs(true);
        let _ = no_core();
        if self.landlock {
            reach();
        }
        if self.seccomp {
            let _ = seccomp::confine_thread(kind);
        }
    }

    /// The same, as arguments of such a process.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let all = [(self.seccomp, SECCOMP), (self.landlock, LANDLOCK)];
        all.into_iter().filter(|(is, _)| *is).map(|(_, word)| word)
    }

    /// What these arguments say.
    #[must_use]
    pub fn of(words: &[String]) -> Self {
        let has = |word: &str| words.iter().any(|given| given == word);
        Self { seccomp: has(SECCOMP), landlock: has(LANDLOCK) }
    }

    fn thread(self, kind: Kind, reach: impl FnOnce() -> Result<i32, String>) -> Given {
        let off = |key| format!("confine.{key} is false");
        // Landlock's own calls are on no thread's list.
        let landlock = if self.landlock { reach() } else { Err(off("landlock")) };
        let seccomp =
            if self.seccomp { seccomp::confine_thread(kind) } else { Err(off("seccomp")) };
        Given { seccomp, landlock }
    }
}

/// No core dump: the memory has names, and texts of peers. 1 and not 0 is the limit at which the kernel starts no
/// program of core_pattern either. `PR_SET_DUMPABLE` would also hide /proc/self/fd from who started the PMDA; the
/// kernel has cleared it where the PMDA was root's first.
fn no_core() -> rustix::io::Result<()> {
    let most = getrlimit(Resource::Core).maximum.unwrap_or(u64::MAX).min(1);
    setrlimit(Resource::Core, Rlimit { current: Some(most), maximum: Some(most) })
}

impl Given {
    /// The same, in a process that has given this up.
    #[must_use]
    pub fn within(mut self, process: Result<(), String>) -> Self {
        if self.seccomp.is_ok() {
            self.seccomp = process;
        }
        self
    }

    /// The value of `apm.self.confinement`.
    #[must_use]
    pub fn text(&self) -> String {
        let seccomp = match &self.seccomp {
            Ok(()) => "seccomp (process, workers, files, guard)".to_owned(),
            Err(why) => format!("no seccomp: {why}"),
        };
        let landlock = match &self.landlock {
            Ok(version) => format!("landlock {version} (workers, files, guard)"),
            Err(why) => format!("no landlock: {why}"),
        };
        format!("no_new_privs, no core dumps, {seccomp}, {landlock}")
    }

    /// What is missing though it is wanted.
    #[must_use]
    pub fn fault(&self, wanted: Confine) -> Option<String> {
        let seccomp = self.seccomp.as_ref().err().filter(|_| wanted.seccomp);
        let landlock = self.landlock.as_ref().err().filter(|_| wanted.landlock);
        let faults = [
            seccomp.map(|e| format!("no seccomp: {e}")),
            landlock.map(|e| format!("no landlock: {e}")),
        ];
        let faults: Vec<_> = faults.into_iter().flatten().collect();
        (!faults.is_empty()).then(|| faults.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_beside_the_pmda_are_told_what_to_give_up() {
        for (seccomp, landlock) in [(false, false), (false, true), (true, false), (true, true)] {
            let confine = Confine { seccomp, landlock };
            let words: Vec<_> = confine.words().map(str::to_owned).collect();
            assert_eq!(Confine::of(&words), confine);
        }
    }

    #[test]
    fn what_is_missing_is_told_with_its_reason() {
        let both = Confine { seccomp: true, landlock: true };
        let all = Given { seccomp: Ok(()), landlock: Ok(7) };
        assert_eq!(
            all.text(),
            "no_new_privs, no core dumps, seccomp (process, workers, files, guard), \
             landlock 7 (workers, files, guard)"
        );
        assert_eq!(all.fault(both), None);
        let off = Confine { seccomp: false, landlock: false }.worker();
        assert_eq!(
            off.text(),
            "no_new_privs, no core dumps, no seccomp: confine.seccomp is false, no landlock: \
             confine.landlock is false"
        );
        assert_eq!(off.fault(Confine { seccomp: false, landlock: false }), None);
        let refused = all.within(Err("it is refused".to_owned()));
        assert_eq!(refused.fault(both).as_deref(), Some("no seccomp: it is refused"));
        let old = Given { seccomp: Ok(()), landlock: Err("the kernel has none".to_owned()) };
        assert_eq!(old.fault(both).as_deref(), Some("no landlock: the kernel has none"));
    }
}
