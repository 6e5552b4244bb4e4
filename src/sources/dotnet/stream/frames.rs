//! Stacks of a session that asked for them (`dotnet.stacks`, `dotnet.locks`), and the names of
//! their methods.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::model::HeapSize;
use crate::sources::dotnet::limits::{OPEN_PAIRS, STACKS};
use crate::sources::dotnet::profile::Methods;
use crate::sources::dotnet::records::Lookup;
use crate::sources::dotnet::wire::clr::Decoded;
use crate::sources::dotnet::wire::nettrace::Ips;

/// Methods that wait for locks, and that no lock is called by.
const WAITING: [&str; 2] = ["System.Threading.Monitor.", "System.Threading.Lock."];
/// A frame whose method is not known: compiled before the session began, or a stub.
const UNKNOWN: &str = "?";
/// Id of the stack of the wait that ends: runtimes count them from 1.
const WAITED: u32 = u32::MAX;

/// Stacks of a stream up to the next sequence point, and methods of all streams.
#[derive(Debug, Default)]
pub(super) struct Frames {
    stacks: HashMap<u32, Box<[u64]>, RandomState>,
    /// Stacks of waits for locks that have begun, by thread: the end of a wait has none (live on
    /// 9), and the sequence point may come between.
    waits: HashMap<u64, Box<[u64]>, RandomState>,
    methods: Methods,
}

impl HeapSize for Frames {
    fn heap_size(&self) -> usize {
        let all = self.stacks.values().chain(self.waits.values());
        let ips: usize = all.map(Box::heap_size).sum();
        self.stacks.heap_size() + self.waits.heap_size() + ips + self.methods.heap_size()
    }
}

impl Frames {
    /// A stack, before its first event. Those beyond [`STACKS`] have no names.
    pub(super) fn stack(&mut self, id: u32, ips: Ips<'_>) {
        if self.stacks.len() < STACKS {
            self.stacks.insert(id, ips.iter().collect());
        }
    }

    /// Ids of stacks are forgotten.
    pub(super) fn point(&mut self) {
        self.stacks.clear();
    }

    /// Another stream begins.
    pub(super) fn stream(&mut self) {
        (self.stacks, self.waits) = Default::default();
        self.methods.settle();
    }

    /// An event with this stack: a method was compiled or unloaded, a wait begins or ends. Returns
    /// the id of the stack that tells where it happened.
    pub(super) fn event(&mut self, event: &Decoded<'_>, thread: u64, stack: u32) -> u32 {
        match *event {
            Decoded::ContentionStart { .. } => {
                if self.waits.len() >= OPEN_PAIRS {
                    self.waits.clear();
                }
                if let Some(ips) = self.stacks.get(&stack) {
                    self.waits.insert(thread, ips.clone());
                }
            }
            Decoded::ContentionStop { .. } => {
                if let Some(ips) = self.waits.remove(&thread)
                    && stack == 0
                {
                    self.stacks.insert(WAITED, ips);
                    return WAITED;
                }
            }
            Decoded::MethodLoad { address, size, namespace, name, .. } => {
                self.methods.load(address, size, namespace, name);
            }
            Decoded::MethodUnload { address, .. } => self.methods.unload(address),
            _ => {}
        }
        stack
    }

    fn names(&self, stack: u32) -> impl DoubleEndedIterator<Item = Option<&str>> {
        let ips = self.stacks.get(&stack).map_or(&[][..], |ips| ips);
        ips.iter().map(|ip| self.methods.name(*ip).map(|name| &**name))
    }

    /// The method that waits for a lock: the first known one beside those that do the waiting.
    pub(super) fn waiting(&self, stack: u32) -> Option<&str> {
        let waits = |name: &&str| WAITING.iter().any(|of| name.starts_with(of));
        self.names(stack).flatten().find(|name| !waits(name))
    }

    /// Appends the stack, outermost method first; nothing if no method is known.
    fn write(&self, stack: u32, text: &mut String) {
        if self.names(stack).flatten().next().is_none() {
            return;
        }
        let mut last = "";
        for name in self.names(stack).rev() {
            let name = name.unwrap_or(UNKNOWN);
            // Unknown frames in a row are one.
            if name == UNKNOWN && last == UNKNOWN {
                continue;
            }
            if !last.is_empty() {
                text.push(',');
            }
            text.push_str(name);
            last = name;
        }
    }
}

/// Finds stacks in the stream, and all else where `beside` finds it.
pub(super) struct Named<'a> {
    pub(super) frames: Option<&'a Frames>,
    pub(super) beside: &'a mut dyn Lookup,
}

impl Lookup for Named<'_> {
    fn thread_name(&mut self, thread: u64) -> Option<String> {
        self.beside.thread_name(thread)
    }

    fn stack(&mut self, stack: u32, text: &mut String) {
        match self.frames {
            Some(frames) => frames.write(stack, text),
            None => self.beside.stack(stack, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::dotnet::wire::Utf16;

    fn load(frames: &mut Frames, address: u64, namespace: &str, name: &str) {
        let units = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let (namespace, name) = (units(namespace), units(name));
        frames.event(
            &Decoded::MethodLoad {
                method: address,
                module: 0,
                address,
                size: 16,
                token: 0,
                flags: 8,
                namespace: Utf16::new(&namespace),
                name: Utf16::new(&name),
                signature: Utf16::default(),
                clr: 0,
                rejit: 0,
            },
            1,
            0,
        );
    }

    #[test]
    fn a_lock_is_called_by_the_method_that_waits() {
        let mut frames = Frames::default();
        frames.stacks.insert(7, Box::new([0x105, 0x999, 0x201, 0x888, 0x889, 0x300]));
        let write = |frames: &Frames| {
            let mut text = String::new();
            Named { frames: Some(frames), beside: &mut () }.stack(7, &mut text);
            text
        };
        assert_eq!((write(&frames), frames.waiting(7)), (String::new(), None));
        load(&mut frames, 0x100, "System.Threading.Monitor", "Enter");
        load(&mut frames, 0x200, "Shop.Cart", "Buy");
        load(&mut frames, 0x300, "Shop.Program", "Main");
        assert_eq!(frames.waiting(7), Some("Shop.Cart.Buy"));
        let stack = "Shop.Program.Main,?,Shop.Cart.Buy,?,System.Threading.Monitor.Enter";
        assert_eq!(write(&frames), stack);
        let begin = Decoded::ContentionStart { flags: 0, clr: 0, lock: 1, object: 0, owner: 0 };
        let stop = Decoded::ContentionStop { flags: 0, clr: 0, duration: 1.0 };
        assert_eq!(frames.event(&begin, 5, 7), 7);
        frames.point();
        assert_eq!(frames.event(&stop, 6, 0), 0, "another thread");
        let waited = frames.event(&stop, 5, 0);
        assert_eq!(frames.waiting(waited), Some("Shop.Cart.Buy"));
        assert_eq!((write(&frames), frames.waiting(7)), (String::new(), None));
    }
}
