//! What a finder has told of its processes.

mod reports;

pub use reports::{Reports, Taken};

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::files::ProcDir;

/// The processes that a finder has told of, each with its start and what was told; and whether it looks at all.
/// A process of another start is another one.
#[derive(Debug)]
pub struct Known<T> {
    active: AtomicBool,
    all: Mutex<HashMap<u32, (u64, T)>>,
}

/// A file as the map of a process has it: major and minor number of its device, and its inode.
pub type Mapped = ((u32, u32), u64);

/// What a process executes, as far as a look shows it. When it executes another program, its id and its start
/// stay the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Hash of what the kernel gave it at its begin (`/proc/PID/auxv`), which has random addresses: it cannot be
    /// written over, and is another one after each exec. `None`: this user may not read it.
    vector: Option<u64>,
    /// Hash of its whole command line; `None`: that is empty, as while a program begins.
    command: Option<u64>,
    /// The file that each program of its kind makes for itself and keeps mapped, if that is open: nobody else
    /// has its number as long as it is.
    pub file: Option<Mapped>,
}

/// Bytes of `/proc/PID/auxv` that are read: the kernel has room for less than 1 KiB.
const VECTOR: u64 = 4 << 10;

impl Program {
    /// Of a process with this command line, which was read before: the kernel sets it later than the vector.
    #[must_use]
    pub fn of(process: &ProcDir, command: &[u8], file: Option<Mapped>) -> Self {
        let vector = || process.read_most("auxv", VECTOR).as_deref().and_then(hash);
        let program = Self::new(command, file);
        Self { vector: program.command.and_then(|_| vector()), ..program }
    }

    /// Of a command line, with a NUL behind each argument.
    #[must_use]
    pub fn new(command: &[u8], file: Option<Mapped>) -> Self {
        Self { vector: None, command: hash(command), file }
    }

    /// It is another one than `before`: by what each has alone, else by the command line, which a program may write
    /// over.
    #[must_use]
    pub fn is_another(&self, before: &Self) -> bool {
        let own = [differ(self.vector, before.vector), differ(self.file, before.file)];
        match own.into_iter().flatten().reduce(|a, b| a || b) {
            Some(differs) => differs,
            None => differ(self.command, before.command) == Some(true),
        }
    }

    /// The same, and no doubt of it.
    #[must_use]
    pub fn is_surely_another(&self, before: &Self) -> bool {
        differ(self.vector, before.vector) == Some(true)
            || differ(self.file, before.file) == Some(true)
    }

    /// What it is called can be told now: it had no command line when it was seen `before`.
    #[must_use]
    pub const fn is_named(&self, before: &Self) -> bool {
        self.command.is_some() && before.command.is_none()
    }

    /// It was seen again: what is not seen now is as it was.
    pub fn seen(&mut self, now: Self) {
        self.vector = now.vector.or(self.vector);
        self.file = now.file.or(self.file);
        self.command = now.command.or(self.command);
    }
}

/// Hash of what is not empty.
fn hash(bytes: &[u8]) -> Option<u64> {
    let mut hash = DefaultHasher::new();
    bytes.hash(&mut hash);
    (!bytes.is_empty()).then(|| hash.finish())
}

/// Whether two things differ, if both are known.
fn differ<T: PartialEq>(now: Option<T>, before: Option<T>) -> Option<bool> {
    now.zip(before).map(|(now, before)| now != before)
}

impl<T> Default for Known<T> {
    /// It does not look yet.
    fn default() -> Self {
        Self { active: AtomicBool::new(false), all: Mutex::default() }
    }
}

impl<T: Clone + PartialEq> Known<T> {
    /// It looks for processes.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    /// Whether it looks. If not, all that is known is forgotten: returns the ids.
    pub fn activate(&self, active: bool) -> Vec<u32> {
        let mut all = self.lock();
        self.active.store(active, Ordering::Relaxed);
        if active { Vec::new() } else { all.drain().map(|(pid, _)| pid).collect() }
    }

    /// What was told of a process.
    #[must_use]
    pub fn get(&self, pid: u32, start: u64) -> Option<T> {
        let all = self.lock();
        all.get(&pid).filter(|known| known.0 == start).map(|known| known.1.clone())
    }

    /// Tells this of a process if it is not what was told last, and the finder looks. What is told stays in
    /// the order of what is known: `tell` must not wait. `false`: it was not taken.
    pub fn tell(&self, pid: u32, start: u64, what: T, tell: impl FnOnce() -> bool) {
        let mut all = self.lock();
        let now = (start, what);
        if self.is_active() && all.get(&pid) != Some(&now) && tell() {
            all.insert(pid, now);
        }
    }

    /// The same of what was found by what was told before. Of a process that is no longer known nothing is told:
    /// the next look sees it as new.
    pub fn tell_again(&self, pid: u32, start: u64, what: T, tell: impl FnOnce() -> bool) {
        let mut all = self.lock();
        let Some((_, before)) = all.get_mut(&pid).filter(|known| known.0 == start) else { return };
        if self.is_active() && *before != what && tell() {
            *before = what;
        }
    }

    /// Tells the end of a process if it was known.
    pub fn end(&self, pid: u32, start: u64, tell: impl FnOnce()) {
        let mut all = self.lock();
        if all.get(&pid).is_some_and(|known| known.0 == start) {
            all.remove(&pid);
            tell();
        }
    }

    /// What was told of a process was not taken: it will be told again. `also`: drops what waits of it.
    pub fn forget(&self, pid: u32, also: impl FnOnce()) {
        let mut all = self.lock();
        all.remove(&pid);
        also();
    }

    /// All that are known, with their starts.
    #[must_use]
    pub fn starts(&self) -> HashMap<u32, u64> {
        self.lock().iter().map(|(&pid, &(start, _))| (pid, start)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u32, (u64, T)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::{Read, Write};
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::host::ProcFs;

    #[test]
    fn each_change_is_told_once() {
        let known = Known::default();
        let tells = |pid, start, what| {
            let told = Cell::new(false);
            known.tell(pid, start, what, || !told.replace(true));
            told.get()
        };
        let ends = |pid, start| {
            let told = Cell::new(false);
            known.end(pid, start, || told.set(true));
            told.get()
        };
        assert!(!tells(5, 50, "open"), "it does not look");
        known.activate(true);
        assert!(tells(5, 50, "open") && !tells(5, 50, "open"));
        assert!(tells(5, 50, "closed"));
        assert_eq!((known.get(5, 50), known.get(5, 51)), (Some("closed"), None));
        assert!(tells(5, 51, "closed"), "its id is used again");
        assert!(!ends(5, 50) && ends(5, 51) && !ends(5, 51));
        tells(6, 60, "open");
        known.forget(6, || {});
        assert!(tells(6, 60, "open"));
        let again = |pid, start, what| {
            let told = Cell::new(false);
            known.tell_again(pid, start, what, || !told.replace(true));
            told.get()
        };
        assert!(again(6, 60, "kept") && !again(6, 60, "kept"));
        assert!(!again(6, 61, "kept") && !again(7, 70, "kept"), "what was found before is gone");
        known.tell(6, 60, "lost", || false);
        known.tell_again(6, 60, "lost", || false);
        assert_eq!(known.get(6, 60), Some("kept"), "it was not taken");
        assert_eq!(known.activate(false), [6]);
        assert!(!again(6, 60, "open"));
        assert_eq!(known.get(6, 60), None);
    }

    #[test]
    fn a_program_is_known_by_its_file_and_else_by_its_command_line() {
        let program = |command: &str, inode: u64| {
            Program::new(command.as_bytes(), (inode > 0).then_some(((0, 26), inode)))
        };
        let mut before = program("a", 5);
        // One that writes over its arguments is the same.
        assert!(!program("a", 5).is_another(&before) && !program("b", 5).is_another(&before));
        assert!(program("a", 6).is_another(&before) && program("", 6).is_another(&before));
        let other_device = Program { file: Some(((0, 27), 5)), ..program("a", 0) };
        assert!(other_device.is_another(&before));
        assert!(program("b", 0).is_another(&before) && !program("a", 0).is_another(&before));
        assert!(!program("", 0).is_another(&before), "it begins");
        assert!(program("a", 0).is_named(&program("", 5)) && !program("b", 0).is_named(&before));
        // A file that cannot be opened for a while is the same when it can.
        before.seen(program("", 0));
        assert_eq!(before, program("a", 5));
        before.seen(program("b", 0));
        assert!(program("b", 6).is_another(&before) && !program("b", 5).is_another(&before));
    }

    #[test]
    fn a_program_is_known_by_its_vector_whatever_it_writes_over_its_arguments() {
        let program = |vector: u64, command: &str| Program {
            vector: (vector > 0).then_some(vector),
            ..Program::new(command.as_bytes(), None)
        };
        let mut before = program(5, "a");
        assert!(!program(5, "b").is_another(&before) && program(6, "a").is_another(&before));
        assert!(program(6, "a").is_surely_another(&before));
        // It may not be read for a while.
        assert!(program(0, "b").is_another(&before) && !program(0, "a").is_another(&before));
        assert!(!program(0, "b").is_surely_another(&before));
        before.seen(program(0, "a"));
        assert_eq!(before, program(5, "a"));
        // A file of the same number is no sign of the same program.
        let file = Some(((0, 26), 5));
        assert!(Program { file, ..program(6, "a") }.is_another(&Program { file, ..before }));
    }

    /// Each line makes a shell execute itself, with the same arguments.
    #[test]
    fn a_program_that_executes_itself_is_another() {
        let script = "echo; read -r line || exit; exec sh -c \"$SCRIPT\"";
        let mut command = Command::new("sh");
        let command = command.args(["-c", script]).env("SCRIPT", script);
        let (stdin, stdout) = (Stdio::piped(), Stdio::piped());
        let mut shell = command.stdin(stdin).stdout(stdout).spawn().unwrap();
        let process = ProcFs::new("/proc".into()).open(shell.id()).unwrap();
        let look = |shell: &mut Child| {
            shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            let command = process.read("cmdline").unwrap();
            (command.clone(), Program::of(&process, &command, None))
        };
        let first = look(&mut shell);
        shell.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let second = look(&mut shell);
        assert_eq!(first.0, second.0);
        assert!(second.1.is_another(&first.1));
        assert_eq!(Program::of(&process, b"", None), Program::default(), "it begins");
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }
}
