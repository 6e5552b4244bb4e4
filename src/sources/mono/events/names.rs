//! Names of a stream: methods, classes, vtables, threads, domains (docs/protocols/mono-mlpd.md 4).
//!
//! The stream names a method in a buffer before the first one that uses it, but a class or a vtable
//! may come after its use: names are looked up when a flush is complete. The newest name of an id
//! is its name: addresses of dynamic methods are used again.

use std::collections::HashMap;

use crate::heap_size;
use crate::model::{HeapSize, cut};
use crate::sources::mono::limits;

/// Entries by id, at most about `most`: the oldest are forgotten.
#[derive(Debug)]
pub(super) struct Table<T> {
    most: usize,
    young: HashMap<u64, T, foldhash::fast::RandomState>,
    /// Entries of the time before `young` was begun.
    old: HashMap<u64, T, foldhash::fast::RandomState>,
}

heap_size!([T] Table<T> { young, old });

impl<T> Table<T> {
    pub(super) fn new(most: usize) -> Self {
        Self { most, young: HashMap::default(), old: HashMap::default() }
    }

    pub(super) fn get(&self, id: u64) -> Option<&T> {
        self.young.get(&id).or_else(|| self.old.get(&id))
    }

    /// Returns what was forgotten.
    pub(super) fn insert(&mut self, id: u64, entry: T) -> Forgotten<T> {
        let whole = if self.young.len() >= self.most / 2 {
            std::mem::replace(&mut self.old, std::mem::take(&mut self.young))
        } else {
            HashMap::default()
        };
        Forgotten { one: self.young.insert(id, entry), whole }
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<T> {
        let (young, old) = (self.young.remove(&id), self.old.remove(&id));
        young.or(old)
    }
}

/// What an insertion has pushed out.
pub(super) struct Forgotten<T> {
    one: Option<T>,
    whole: HashMap<u64, T, foldhash::fast::RandomState>,
}

impl Forgotten<Box<str>> {
    fn bytes(&self) -> usize {
        self.one.as_ref().map_or(0, |name| name.len())
            + self.whole.values().map(|name| name.len()).sum::<usize>()
    }
}

/// The names of one stream.
#[derive(Debug)]
pub(crate) struct Names {
    methods: Table<Box<str>>,
    classes: Table<Box<str>>,
    /// Class of a vtable.
    vtables: Table<u64>,
    threads: Table<Box<str>>,
    /// Program of the first domain.
    program: Option<Box<str>>,
    /// Bytes of the names.
    bytes: usize,
}

impl HeapSize for Names {
    fn heap_size(&self) -> usize {
        let named = self.methods.heap_size() + self.classes.heap_size() + self.threads.heap_size();
        self.bytes + named + self.vtables.heap_size() + self.program.heap_size()
    }
}

impl Default for Names {
    fn default() -> Self {
        Self {
            methods: Table::new(limits::METHODS),
            classes: Table::new(limits::CLASSES),
            vtables: Table::new(limits::CLASSES),
            threads: Table::new(limits::THREADS),
            program: None,
            bytes: 0,
        }
    }
}

impl Names {
    /// Names a method.
    pub(crate) fn name_method(&mut self, id: u64, name: &[u8]) {
        let name = text(name);
        // A method is often named twice, by two threads.
        if self.methods.young.get(&id).is_some_and(|known| **known == *name) {
            return;
        }
        self.bytes += name.len();
        self.bytes -= self.methods.insert(id, name).bytes();
    }

    /// Names a class.
    pub(crate) fn name_class(&mut self, id: u64, name: &[u8]) {
        let name = text(name);
        self.bytes += name.len();
        self.bytes -= self.classes.insert(id, name).bytes();
    }

    /// A vtable of a class.
    pub(crate) fn vtable(&mut self, id: u64, class: u64) {
        self.vtables.insert(id, class);
    }

    /// Names a thread.
    pub(crate) fn name_thread(&mut self, id: u64, name: &[u8]) {
        let name = text(name);
        self.bytes += name.len();
        self.bytes -= self.threads.insert(id, name).bytes();
    }

    /// A thread has ended, and all its events are counted.
    pub(crate) fn forget_thread(&mut self, id: u64) {
        let length = |name: Option<&Box<str>>| name.map_or(0, |name| name.len());
        let Table { young, old, .. } = &self.threads;
        self.bytes -= length(young.get(&id)) + length(old.get(&id));
        self.threads.remove(id);
    }

    /// Names a domain: the first one is called as the program.
    pub(crate) fn name_domain(&mut self, name: &[u8]) {
        if self.program.is_none() && !name.is_empty() {
            self.program = Some(text(name));
        }
    }

    /// Full name of a method: `Namespace.Class:Method (arguments)`.
    pub(super) fn method(&self, id: u64) -> Option<&str> {
        self.methods.get(id).map(|name| &**name)
    }

    /// Name of a class.
    pub(super) fn class(&self, id: u64) -> Option<&str> {
        self.classes.get(id).map(|name| &**name)
    }

    /// Name of the class of a vtable.
    pub(super) fn class_of(&self, vtable: u64) -> Option<&str> {
        self.class(*self.vtables.get(vtable)?)
    }

    /// Name of a thread.
    pub(super) fn thread(&self, id: u64) -> Option<&str> {
        self.threads.get(id).map(|name| &**name)
    }

    /// The program, once its domain has a name.
    pub(crate) fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }
}

fn text(name: &[u8]) -> Box<str> {
    let name = name.get(..limits::METHOD_NAME.min(name.len())).unwrap_or_default();
    cut(&String::from_utf8_lossy(name), limits::METHOD_NAME).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_of_an_id_is_its_name() {
        let mut names = Names::default();
        names.name_method(7, b"A:first ()");
        names.name_method(7, b"A:first ()");
        names.name_method(7, b"B:second (int)");
        assert_eq!(names.method(7), Some("B:second (int)"));
        assert_eq!(names.bytes, "B:second (int)".len());
        names.vtable(1, 2);
        assert_eq!(names.class_of(1), None, "the class has no name yet");
        names.name_class(2, b"Apple");
        assert_eq!(names.class_of(1), Some("Apple"));
        names.name_thread(3, "Zähler".as_bytes());
        assert_eq!(names.thread(3), Some("Zähler"));
        names.forget_thread(3);
        assert_eq!((names.thread(3), names.bytes), (None, "B:second (int)Apple".len()));
        names.name_domain(b"Truth.exe");
        names.name_domain(b"other");
        assert_eq!(names.program(), Some("Truth.exe"));
    }

    #[test]
    fn names_are_cut_and_the_oldest_are_forgotten() {
        let mut names = Names::default();
        names.name_method(0, &[b'x'; 100_000]);
        names.name_method(1, "é".repeat(limits::METHOD_NAME).as_bytes());
        let lengths = [0, 1].map(|id| names.method(id).map_or(0, str::len));
        assert!(lengths.iter().all(|length| *length <= limits::METHOD_NAME), "{lengths:?}");
        let most = limits::METHODS as u64;
        for id in 2..2 * most {
            names.name_method(id, b"m");
        }
        assert_eq!(names.method(0), None);
        assert_eq!(names.method(2 * most - 1), Some("m"));
        let kept = (0..2 * most).filter(|id| names.method(*id).is_some()).count();
        assert!((limits::METHODS / 2..=limits::METHODS).contains(&kept), "{kept}");
        assert_eq!(names.bytes, kept);
    }
}
