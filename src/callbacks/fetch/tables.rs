//! Cache of the tables of newest records: the same text is shown until there are new records or
//! names.

use std::collections::HashMap;
use std::sync::Arc;

/// Most bytes of cached texts.
const KEPT: usize = 4 << 20;

/// Number of records ever appended, and of known names.
type Version = (u64, usize);

/// Texts by stream.
#[derive(Debug, Default)]
pub(super) struct Tables {
    texts: HashMap<u64, (Version, Arc<str>)>,
    bytes: usize,
}

impl Tables {
    /// The text of a stream if it is up to date.
    pub(super) fn get(&self, stream: u64, version: Version) -> Option<Arc<str>> {
        self.texts.get(&stream).filter(|(of, _)| *of == version).map(|(_, text)| Arc::clone(text))
    }

    /// Caches a text. When there is no room, all other texts are dropped first.
    pub(super) fn put(&mut self, stream: u64, version: Version, text: &Arc<str>) {
        if self.bytes + text.len() > KEPT {
            *self = Self::default();
        }
        self.bytes += text.len();
        if let Some((_, old)) = self.texts.insert(stream, (version, Arc::clone(text))) {
            self.bytes -= old.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_while_nothing_is_new() {
        let mut tables = Tables::default();
        let text: Arc<str> = "a".repeat(KEPT / 3).into();
        tables.put(1, (5, 7), &text);
        assert!(tables.get(1, (5, 7)).is_some_and(|kept| Arc::ptr_eq(&kept, &text)));
        assert!(
            tables.get(1, (6, 7)).is_none()
                && tables.get(1, (5, 8)).is_none()
                && tables.get(2, (5, 7)).is_none()
        );
        (0..10).for_each(|n| tables.put(1, (n, 7), &text));
        assert_eq!((tables.bytes, tables.texts.len()), (text.len(), 1));
        (2..9).for_each(|stream| tables.put(stream, (1, 1), &text));
        assert!(
            tables.bytes <= KEPT
                && tables.get(8, (1, 1)).is_some()
                && tables.get(2, (1, 1)).is_none()
        );
    }
}
