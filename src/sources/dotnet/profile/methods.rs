//! The methods of a process by the addresses of their code.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::HeapSize;
use crate::sources::dotnet::limits;
use crate::sources::dotnet::wire::Utf16;

/// Bytes of a method beside its name: node of the map, counts of the name.
const COST: usize = 96;

/// The code of a method.
#[derive(Debug)]
struct Code {
    /// Behind its last byte.
    end: u64,
    /// `Namespace.Type.Method`, without blanks and commas.
    name: Arc<str>,
    /// It was unloaded: its name is still needed until the end of the burst.
    unloaded: bool,
}

/// Methods by address. The newest method of an address wins.
#[derive(Debug, Default)]
pub(crate) struct Methods {
    by_start: BTreeMap<u64, Code>,
    /// Bytes of names.
    names: usize,
    /// Methods for which there was no room in this burst.
    refused: u64,
}

impl HeapSize for Methods {
    fn heap_size(&self) -> usize {
        self.by_start.len() * COST + self.names
    }
}

impl Methods {
    /// Adds the code of a method.
    pub(crate) fn load(&mut self, start: u64, size: u32, namespace: Utf16<'_>, name: Utf16<'_>) {
        let Some(end) = start.checked_add(size.into()).filter(|end| *end > start) else { return };
        let mut full = String::new();
        for (part, dot) in [(namespace, ""), (name, ".")] {
            if !full.is_empty() {
                full.push_str(dot);
            }
            let room = limits::METHOD_NAME.saturating_sub(full.len());
            part.push_to(&mut full, room);
        }
        let name = full.replace(',', ";").replace(char::is_whitespace, "_");
        if let Some(known) = self.by_start.get_mut(&start)
            && known.end == end
            && *known.name == *name
        {
            known.unloaded = false;
            return;
        }
        // What overlaps is older. Ranges do not overlap each other, so it is contiguous.
        while let Some((at, _)) =
            self.by_start.range(..end).next_back().filter(|(_, code)| code.end > start)
        {
            let at = *at;
            self.remove(at);
        }
        if self.by_start.len() >= limits::PROFILE_METHODS
            || self.names + name.len() > limits::PROFILE_NAMES
        {
            self.refused += 1;
            return;
        }
        self.names += name.len();
        self.by_start.insert(start, Code { end, name: name.into(), unloaded: false });
    }

    /// The method's code is no longer there.
    pub(crate) fn unload(&mut self, start: u64) {
        if let Some(code) = self.by_start.get_mut(&start) {
            code.unloaded = true;
        }
    }

    /// Ends a burst: forgets what was unloaded. Returns the number of methods without room.
    pub(crate) fn settle(&mut self) -> u64 {
        let unloaded: Vec<u64> =
            self.by_start.iter().filter(|(_, c)| c.unloaded).map(|(at, _)| *at).collect();
        unloaded.into_iter().for_each(|at| self.remove(at));
        std::mem::take(&mut self.refused)
    }

    fn remove(&mut self, start: u64) {
        if let Some(code) = self.by_start.remove(&start) {
            self.names -= code.name.len();
        }
    }

    /// The name of the method at an address.
    pub(crate) fn name(&self, ip: u64) -> Option<&Arc<str>> {
        let (_, code) = self.by_start.range(..=ip).next_back()?;
        (ip < code.end).then_some(&code.name)
    }

    /// Number of methods.
    pub(crate) fn len(&self) -> usize {
        self.by_start.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn load(methods: &mut Methods, start: u64, size: u32, name: &str) {
        let units = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let (space, name) = (units("N.T"), units(name));
        methods.load(start, size, Utf16::new(&space), Utf16::new(&name));
    }

    fn at(methods: &Methods, ip: u64) -> Option<&str> {
        methods.name(ip).map(|name| &**name)
    }

    #[test]
    fn the_newest_method_of_an_address_wins() {
        let mut methods = Methods::default();
        load(&mut methods, 100, 50, "a");
        load(&mut methods, 150, 50, "b[x, y]");
        load(&mut methods, 300, 10, "c");
        load(&mut methods, 0, 0, "empty");
        load(&mut methods, u64::MAX, 10, "wraps");
        assert_eq!(
            [99, 100, 149, 150, 200, 309].map(|ip| at(&methods, ip)),
            [None, Some("N.T.a"), Some("N.T.a"), Some("N.T.b[x;_y]"), None, Some("N.T.c")]
        );
        load(&mut methods, 140, 20, "new");
        assert_eq!(
            [139, 140, 159, 160].map(|ip| at(&methods, ip)),
            [None, Some("N.T.new"), Some("N.T.new"), None]
        );
        assert_eq!((methods.len(), methods.names), (2, 12));
    }

    #[test]
    fn an_unloaded_method_has_a_name_until_the_burst_ends() {
        let mut methods = Methods::default();
        for (start, name) in [(0, "a"), (10, "b"), (20, "c")] {
            load(&mut methods, start, 10, name);
        }
        [0, 10, 5].into_iter().for_each(|start| methods.unload(start));
        load(&mut methods, 10, 10, "again");
        assert_eq!(at(&methods, 3), Some("N.T.a"));
        assert_eq!(methods.settle(), 0);
        assert_eq!(
            [3, 13, 23].map(|ip| at(&methods, ip)),
            [None, Some("N.T.again"), Some("N.T.c")]
        );
    }

    #[test]
    fn names_and_methods_are_bounded() {
        let mut methods = Methods::default();
        for n in 0..limits::PROFILE_METHODS as u64 + 10 {
            load(&mut methods, n * 16, 16, "m");
        }
        assert_eq!((methods.len(), methods.settle()), (limits::PROFILE_METHODS, 10));
        let mut methods = Methods {
            names: limits::PROFILE_NAMES - 2 * limits::METHOD_NAME,
            ..Methods::default()
        };
        (0..3).for_each(|n| load(&mut methods, n * 16, 16, &"long".repeat(200)));
        assert_eq!((methods.names, methods.settle()), (limits::PROFILE_NAMES, 1));
    }
}
