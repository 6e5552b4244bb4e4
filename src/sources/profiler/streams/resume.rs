//! A stream comes in payloads that cut its records anywhere (spec B). A [`Machine`] reads whole
//! tokens; what is left of a cut one, less than [`limits::TOKEN`] bytes, is kept here until more
//! has come.

use super::record::Corrupt;
use super::scan::Scan;
use crate::sources::profiler::limits;

/// A decoder of one kind of stream. `V` is who takes its records.
pub(crate) trait Machine<V: ?Sized> {
    /// Reads tokens until none is whole; the state says what comes next. With [`limits::TOKEN`]
    /// bytes there always is one.
    ///
    /// Borrowed bytes are gone when it returns, so it keeps a copy of what it still needs.
    fn step(&mut self, scan: &mut Scan<'_>, visitor: &mut V) -> Result<(), Corrupt>;

    /// Nothing of a record has been read: the stream may end here.
    fn at_boundary(&self) -> bool;
}

/// Feeds a machine with pieces.
#[derive(Debug)]
pub(crate) struct Resume<M> {
    pub(crate) machine: M,
    tail: [u8; limits::TOKEN],
    held: usize,
    /// Bytes that the machine has taken.
    taken: u64,
}

impl<M> Resume<M> {
    pub(crate) const fn new(machine: M) -> Self {
        Self { machine, tail: [0; limits::TOKEN], held: 0, taken: 0 }
    }

    /// Bytes of the file before the token that is being read, or at which a fault shows.
    pub(crate) const fn offset(&self) -> u64 {
        self.taken
    }

    /// The file may end here.
    pub(crate) fn is_whole<V: ?Sized>(&self) -> bool
    where
        M: Machine<V>,
    {
        self.held == 0 && self.machine.at_boundary()
    }

    /// The next piece of the file. After an error there must not be another.
    pub(crate) fn feed<V: ?Sized>(
        &mut self,
        mut bytes: &[u8],
        visitor: &mut V,
    ) -> Result<(), Corrupt>
    where
        M: Machine<V>,
    {
        while self.held > 0 {
            // The cut token again, with as much behind it as a token can need.
            let held = self.held;
            let (_, free) = self.tail.split_at_mut(held);
            let joined = free.len().min(bytes.len());
            free.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            let (tail, _) = self.tail.split_at(held + joined);
            let taken = Self::run(&mut self.machine, &mut self.taken, tail, visitor)?;
            if let Some(into) = taken.checked_sub(held) {
                self.held = 0;
                (_, bytes) = bytes.split_at(into);
            } else if joined == 0 {
                return if bytes.is_empty() { Ok(()) } else { Err(Corrupt::Token) };
            } else {
                self.tail.copy_within(taken..held + joined, 0);
                self.held = held + joined - taken;
                (_, bytes) = bytes.split_at(joined);
            }
        }
        let taken = Self::run(&mut self.machine, &mut self.taken, bytes, visitor)?;
        let (_, cut) = bytes.split_at(taken);
        let (tail, _) = self.tail.split_at_mut_checked(cut.len()).ok_or(Corrupt::Token)?;
        tail.copy_from_slice(cut);
        self.held = cut.len();
        Ok(())
    }

    fn run<V: ?Sized>(
        machine: &mut M,
        offset: &mut u64,
        bytes: &[u8],
        visitor: &mut V,
    ) -> Result<usize, Corrupt>
    where
        M: Machine<V>,
    {
        let mut scan = Scan::new(bytes, *offset);
        let result = machine.step(&mut scan, visitor);
        *offset = scan.offset();
        result.map(|()| bytes.len() - scan.rest().len())
    }
}
