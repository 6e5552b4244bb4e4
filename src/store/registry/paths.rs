//! Names of dynamic metrics and parameters below a source's prefix.

use std::collections::HashSet;

/// The names of a source. None is given twice, and none is also a node of others, which PCP's name
/// space refuses.
#[derive(Debug, Default)]
pub(super) struct Paths {
    leaves: HashSet<String>,
    nodes: HashSet<String>,
}

impl Paths {
    /// With the source's static names.
    pub(super) fn new<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut paths = Self::default();
        names.for_each(|name| paths.insert(name));
        paths
    }

    /// Adds a path below each of `nodes`. Two raw names may be equal after sanitising: a component
    /// that is taken gets a number. Returns the path.
    pub(super) fn add(&mut self, nodes: &[&str], path: &str) -> String {
        let mut free = String::new();
        let mut parts = path.split('.').peekable();
        while let Some(part) = parts.next() {
            let last = parts.peek().is_none();
            let dot = if free.is_empty() { "" } else { "." };
            let mut name = format!("{free}{dot}{part}");
            let mut n = 1;
            while nodes.iter().any(|node| self.is_taken(&format!("{node}.{name}"), last)) {
                n += 1;
                name = format!("{free}{dot}{part}_{n}");
            }
            free = name;
        }
        nodes.iter().for_each(|node| self.insert(&format!("{node}.{free}")));
        free
    }

    fn is_taken(&self, name: &str, leaf: bool) -> bool {
        self.leaves.contains(name) || leaf && self.nodes.contains(name)
    }

    fn insert(&mut self, name: &str) {
        self.leaves.insert(name.to_owned());
        let above = name.match_indices('.').filter_map(|(at, _)| name.get(..at));
        for node in above {
            if !self.nodes.contains(node) {
                self.nodes.insert(node.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_that_is_taken_gets_a_number() {
        let mut paths = Paths::new(["meter.limited", "param.id", "gc.count"].into_iter());
        for (nodes, path, free) in [
            (&["meter"] as &[&str], "kestrel.requests", "kestrel.requests"),
            (&["meter"], "kestrel.requests", "kestrel.requests_2"),
            (&["meter"], "kestrel.requests", "kestrel.requests_3"),
            (&["counter"], "kestrel.requests", "kestrel.requests"),
            (&["meter"], "kestrel", "kestrel_2"),
            (&["meter"], "limited", "limited_2"),
            (&["meter"], "limited.size", "limited_3.size"),
            (&["meter"], "kestrel_2.size", "kestrel_2_2.size"),
            (&["meter"], "kestrel.requests.count", "kestrel.requests_4.count"),
            (&["counter", "param"], "id", "id_2"),
            (&["param"], "kestrel.requests", "kestrel.requests"),
        ] {
            assert_eq!(paths.add(nodes, path), free, "{nodes:?} {path}");
        }
    }
}
