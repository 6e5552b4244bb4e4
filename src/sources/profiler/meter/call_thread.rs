//! One thread's way through its call tree: the methods it is in, and the time that waits for the
//! end of its root.

/// Times of one root that wait for its end; beyond, they count at once.
pub(crate) const PENDING: usize = 256;

#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) node: u32,
    pub(crate) entered_ms: i64,
    pub(crate) children_ms: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Thread {
    pub(crate) id: u64,
    pub(crate) frames: Vec<Frame>,
    /// Methods entered beyond the depth.
    pub(crate) beyond: u32,
    /// Methods entered since the root was, itself included.
    pub(crate) entered: u32,
    /// `call.info` came: the next EXIT is that of the root.
    pub(crate) ends: bool,
    /// More tags came behind it.
    pub(crate) sound: bool,
    /// Time of nodes, of a root that has not ended.
    pub(crate) pending: Vec<(u32, u64)>,
    pub(crate) rounds: u8,
}

impl Thread {
    /// Keeps time for the end of the root; false if that cannot be.
    #[inline]
    pub(crate) fn hold(&mut self, node: u32, ms: u64) -> bool {
        if let Some((_, sum)) = self.pending.last_mut().filter(|(last, _)| *last == node) {
            *sum = sum.saturating_add(ms);
            return true;
        }
        let room = self.pending.len() < PENDING;
        if room {
            self.pending.push((node, ms));
        }
        room
    }

    /// What was kept counts: `add` takes it.
    #[inline]
    pub(crate) fn count(&mut self, mut add: impl FnMut(u32, u64)) {
        self.rounds = 0;
        self.pending.drain(..).for_each(|(node, ms)| add(node, ms));
        self.pending.shrink_to(PENDING / 8);
    }

    /// Nothing is open any more, and what was kept does not count.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.pending.clear();
        (self.beyond, self.entered, self.rounds) = (0, 0, 0);
        (self.ends, self.sound) = (false, false);
    }

    /// It is in no method: there is nothing to remember.
    pub(crate) const fn is_idle(&self) -> bool {
        self.frames.is_empty()
    }

    /// Nodes that it will go on with.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = u32> {
        self.frames.iter().map(|f| f.node).chain(self.pending.iter().map(|(node, _)| *node))
    }

    /// Nothing has come for a while: gives up room, and gives its nodes their new numbers.
    pub(crate) fn rest(&mut self, number: impl Fn(u32) -> u32) {
        self.frames.iter_mut().for_each(|f| f.node = number(f.node));
        self.pending.iter_mut().for_each(|(node, _)| *node = number(*node));
        self.frames.shrink_to_fit();
        self.pending.shrink_to_fit();
    }
}
