//! The frames of stacks, and the names of methods, each of which is made once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::chunk::Chunk;
use crate::limits;
use crate::typed::class_name;
use crate::value::{Key, Value};

/// A stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// `package.Class.method`, innermost first.
    pub frames: Vec<Arc<str>>,
    /// Outer frames are missing.
    pub is_cut: bool,
}

/// The names of the methods of a chunk.
#[derive(Debug)]
pub struct Names<'c> {
    chunk: &'c Chunk<'c>,
    by_key: HashMap<Key, Arc<str>>,
    unknown: Arc<str>,
}

impl Stack {
    /// Its frames, outermost first, parted by `;`, as flame graphs want it.
    #[must_use]
    pub fn folded(&self) -> String {
        let frames: Vec<&str> = self.frames.iter().rev().map(|frame| &**frame).collect();
        frames.join(";")
    }
}

impl<'c> Names<'c> {
    /// Of a chunk.
    #[must_use]
    pub fn new(chunk: &'c Chunk<'c>) -> Self {
        Self { chunk, by_key: HashMap::new(), unknown: "?".into() }
    }

    /// The stack of a key. To ask once for each key bounds the work by the bytes of the chunk.
    pub fn stack(&mut self, key: Key) -> Stack {
        let Some(stack) = self.chunk.constant(key).record() else { return Stack::default() };
        let mut frames = Vec::new();
        let mut is_cut = stack.get("truncated").int() == Some(1);
        for frame in stack.get("frames").list().into_iter().flatten() {
            if frames.len() == limits::FRAMES {
                is_cut = true;
                break;
            }
            let method = frame.record().and_then(|frame| frame.key("method"));
            frames.push(match method {
                Some(key) => self.method(key),
                None => Arc::clone(&self.unknown),
            });
        }
        Stack { frames, is_cut }
    }

    fn method(&mut self, key: Key) -> Arc<str> {
        if self.by_key.len() >= limits::NAMES && !self.by_key.contains_key(&key) {
            return Arc::clone(&self.unknown);
        }
        let (chunk, unknown) = (self.chunk, &self.unknown);
        let name = self.by_key.entry(key).or_insert_with(|| {
            let Value::Record(method) = chunk.constant(key) else { return Arc::clone(unknown) };
            let name = method.get("name").text();
            let name = name.as_deref().unwrap_or("?");
            let name = match class_name(&method.get("type")) {
                Some(class) => [&*class, ".", name].concat(),
                None => name.to_owned(),
            };
            let ends = name.char_indices().map(|(at, c)| at + c.len_utf8());
            let end = ends.take_while(|end| *end <= limits::NAME).last().unwrap_or(0);
            name.get(..end).unwrap_or_default().into()
        });
        Arc::clone(name)
    }
}
