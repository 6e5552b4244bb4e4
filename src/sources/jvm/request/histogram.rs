//! `GC.class_histogram`: the classes whose objects take most memory.

use std::collections::HashMap;

use super::super::{limits, metrics as m};
use crate::contract::Peer;
use crate::meter::clean;
use crate::model::HeapSize;

/// Objects and bytes of a class.
type Counts = (u64, u64);

/// The classes with most bytes, and the sums of all.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    rows: Vec<(String, Counts)>,
    classes: usize,
    objects: u64,
    bytes: u64,
}

impl Histogram {
    /// Reads lines `NUMBER: OBJECTS BYTES CLASS (MODULE)`.
    pub(super) fn read(answer: &[u8]) -> Result<Self, String> {
        let mut found = Self::default();
        // Several class loaders may have a class of one name.
        let mut names = HashMap::<String, Counts>::new();
        for line in answer.split(|&b| b == b'\n').filter_map(|line| std::str::from_utf8(line).ok())
        {
            let mut words = line.split_ascii_whitespace();
            let is_row = words.next().and_then(|word| word.strip_suffix(':'));
            if is_row.is_none_or(|number| number.parse::<u64>().is_err()) {
                continue;
            }
            let mut number = || words.next()?.parse::<u64>().ok();
            let (Some(objects), Some(bytes)) = (number(), number()) else { continue };
            let Some(class) = words.next() else { continue };
            found.classes += 1;
            found.objects = found.objects.saturating_add(objects);
            found.bytes = found.bytes.saturating_add(bytes);
            let name = clean(&readable(class), limits::METHOD);
            if names.len() < limits::CLASS_NAMES || names.contains_key(&name) {
                let (all, size) = names.entry(name).or_default();
                *all = all.saturating_add(objects);
                *size = size.saturating_add(bytes);
            }
        }
        if found.classes == 0 {
            return Err("its answer has no classes".to_owned());
        }
        found.rows = names.into_iter().collect();
        found.rows.sort_unstable_by(|(a, (_, s)), (b, (_, t))| t.cmp(s).then_with(|| a.cmp(b)));
        found.rows.truncate(limits::CLASSES);
        found.rows.shrink_to_fit();
        Ok(found)
    }

    /// Shows it in the place of the one before.
    pub(super) fn show(&self, instance: &str, peer: &mut Peer) -> String {
        peer.forget_rows(m::CLASS_ROWS);
        for (slot, (class, (objects, bytes))) in (0..).zip(&self.rows) {
            peer.row_of_process(m::CLASS_ROWS, slot, instance, ("class", class));
            peer.row_set(slot, m::CLASS_OBJECTS, *objects);
            peer.row_set(slot, m::CLASS_BYTES, *bytes);
        }
        let Self { rows, classes, objects, bytes } = self;
        let shown = rows.len();
        format!(
            "done: {objects} objects of {classes} classes, {bytes} bytes; {shown} classes have rows"
        )
    }
}

impl HeapSize for Histogram {
    fn heap_size(&self) -> usize {
        let names = self.rows.iter().map(|(name, _)| name.capacity()).sum::<usize>();
        size_of_val(&*self.rows) + names
    }
}

/// `java.lang.String[]` for `[Ljava.lang.String;`.
fn readable(class: &str) -> String {
    let element = class.trim_start_matches('[');
    let dimensions = class.len() - element.len();
    let object = element.strip_prefix('L').and_then(|name| name.strip_suffix(';'));
    let name = match (dimensions, element) {
        (0, name) => name,
        (_, "B") => "byte",
        (_, "C") => "char",
        (_, "D") => "double",
        (_, "F") => "float",
        (_, "I") => "int",
        (_, "J") => "long",
        (_, "S") => "short",
        (_, "Z") => "boolean",
        (_, name) => object.unwrap_or(name),
    };
    [name, &"[]".repeat(dimensions.min(255))].concat()
}

#[cfg(test)]
impl Histogram {
    pub(super) const fn rows_and_classes(&self) -> (usize, usize) {
        (self.rows.len(), self.classes)
    }
}
