//! A gzip stream in pieces, of which each gives a bounded number of bytes.

use bytes::{Buf, BytesMut};
use flate2::{Decompress, FlushDecompress, Status};

use super::super::MlpdError;

const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Bytes of the fixed part of a member's header.
const HEAD: usize = 10;
/// Bytes of sum and length behind a member.
const TAIL: usize = 8;
/// Bytes unzipped at once.
const PIECE: usize = 32 << 10;
/// Bytes of the inflater: its window and its tables.
const INFLATER: usize = 48 << 10;
/// Most bytes of a member's header, with a file name.
const LONGEST_HEAD: usize = 64 << 10;

/// The state of a file that may be zipped.
#[derive(Debug, Default)]
pub(super) struct Unzip {
    state: State,
    piece: Vec<u8>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Unknown,
    Plain,
    Head,
    Body(Box<Decompress>),
    Tail,
    /// What follows is no gzip member.
    Ended,
}

impl Unzip {
    /// The file is not zipped, or not known to be.
    pub(super) fn is_plain(&mut self, input: &[u8]) -> bool {
        if let (State::Unknown, Some(start)) = (&self.state, input.first_chunk()) {
            self.state = if *start == MAGIC { State::Head } else { State::Plain };
        }
        match self.state {
            State::Plain => true,
            // One byte: the decoder of plain streams refuses it if it starts neither.
            State::Unknown => input.first().is_some_and(|byte| *byte != MAGIC[0]),
            _ => false,
        }
    }

    pub(super) const fn zipped(&self) -> bool {
        !matches!(self.state, State::Unknown | State::Plain)
    }

    pub(super) fn memory(&self) -> usize {
        let inflater = if matches!(self.state, State::Body(_)) { INFLATER } else { 0 };
        self.piece.capacity() + inflater
    }

    /// The next bytes. `None`: more input is needed, or the gzip stream has ended.
    pub(super) fn next(&mut self, input: &mut BytesMut) -> Result<Option<&[u8]>, MlpdError> {
        loop {
            match &mut self.state {
                State::Head => {
                    let Some(length) = head(input)? else { return Ok(None) };
                    input.advance(length);
                    self.state = State::Body(Box::new(Decompress::new(false)));
                }
                State::Body(inflater) => {
                    self.piece.resize(PIECE, 0);
                    let (read, written) = (inflater.total_in(), inflater.total_out());
                    let status = inflater
                        .decompress(input, &mut self.piece, FlushDecompress::None)
                        .map_err(|_| MlpdError::Gzip)?;
                    let progress = |from: u64, to: u64| usize::try_from(to - from).unwrap_or(0);
                    let consumed = progress(read, inflater.total_in());
                    let bytes = progress(written, inflater.total_out());
                    input.advance(consumed.min(input.len()));
                    if status == Status::StreamEnd {
                        self.state = State::Tail;
                    }
                    if bytes > 0 {
                        return Ok(self.piece.get(..bytes));
                    }
                    if consumed == 0 && matches!(self.state, State::Body(_)) {
                        return Ok(None);
                    }
                }
                State::Tail if input.len() >= TAIL => {
                    input.advance(TAIL);
                    self.state = State::Ended;
                }
                State::Ended => {
                    let Some(start) = input.first_chunk() else { return Ok(None) };
                    if *start != MAGIC {
                        input.clear();
                        return Ok(None);
                    }
                    self.state = State::Head;
                }
                State::Tail | State::Unknown | State::Plain => return Ok(None),
            }
        }
    }
}

/// The length of a member's header, once it is whole.
fn head(bytes: &[u8]) -> Result<Option<usize>, MlpdError> {
    let Some(fixed) = bytes.get(..HEAD) else { return Ok(None) };
    let [0x1f, 0x8b, 8, flags, ..] = *fixed else { return Err(MlpdError::Gzip) };
    let mut end = HEAD;
    if flags & 4 != 0 {
        let Some(&[low, high]) = bytes.get(end..end + 2) else { return Ok(None) };
        end += 2 + usize::from(u16::from_le_bytes([low, high]));
    }
    for text in [8, 16] {
        if flags & text != 0 {
            let rest = bytes.get(end..).unwrap_or_default();
            match rest.iter().position(|byte| *byte == 0) {
                Some(length) => end += length + 1,
                None if rest.len() > LONGEST_HEAD => return Err(MlpdError::Gzip),
                None => return Ok(None),
            }
        }
    }
    end += if flags & 2 == 0 { 0 } else { 2 };
    Ok((bytes.len() >= end).then_some(end))
}
