//! Streams of phrases (docs/protocols/java-profiler.md B.1): a phrase is a length in bytes,
//! followed by whole records of that length.
//!
//! | stream | records | section |
//! |---|---|---|
//! | `dictionary` | words; ids count up from 0 | B.2 |
//! | `posDictionary` | ids and words | B.2 |
//! | `params` | the version begins the first phrase; then definitions of parameters | B.3 |
//! | `suspend` | the time base begins the first phrase; then pairs of varints: distance between the ends of two pauses, duration | B.4 |
//!
//! The streams `xml` and `sql` (B.7) are strings without phrases, one behind the other.

use super::Output;
use super::record::{BigValue, Definition, Observer, Pause};
use super::scan::{DecodeError, Machine, Numbers, Scan, TextReader};
use crate::sources::profiler::dictionary::Text;
use crate::sources::profiler::limits;

/// Reads the lengths of phrases and passes the records to `M`.
#[derive(Debug, Default)]
pub(crate) struct Phrases<M> {
    records: M,
    /// Bytes of the open phrase that have not been read.
    left: usize,
}

impl<M> Phrases<M> {
    pub(crate) const fn new(records: M) -> Self {
        Self { records, left: 0 }
    }
}

impl<M: Machine> Machine for Phrases<M> {
    fn step<O: Observer + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        out: &mut Output<'_, O>,
    ) -> Result<(), DecodeError> {
        loop {
            if self.left == 0 {
                if !self.records.at_boundary() {
                    return Err(DecodeError::Crosses);
                }
                let Some(length) = scan.i32() else { return Ok(()) };
                let sound = u32::try_from(length).ok().filter(|n| *n <= limits::PHRASE);
                self.left = sound.ok_or(DecodeError::Phrase(length))? as usize;
                continue;
            }
            let offset = scan.offset();
            let (phrase, _) = scan.rest().split_at(self.left.min(scan.rest().len()));
            let mut inner = Scan::new(phrase, offset);
            let result = self.records.step(&mut inner, out);
            let taken = phrase.len() - inner.rest().len();
            scan.up_to(taken);
            self.left -= taken;
            result?;
            if self.left > 0 {
                // The next token is not whole. If the phrase ends here, the record crosses its end.
                let all = phrase.len() - taken == self.left;
                return if all { Err(DecodeError::Crosses) } else { Ok(()) };
            }
        }
    }

    fn at_boundary(&self) -> bool {
        self.left == 0 && self.records.at_boundary()
    }
}

/// Decodes words.
#[derive(Debug, Default)]
pub(crate) struct DictionaryReader {
    positional: bool,
    /// The id of the word that is being read.
    reading: Option<Option<u32>>,
    text: TextReader,
}

impl DictionaryReader {
    /// `positional`: words have ids (`posDictionary`).
    pub(crate) fn new(positional: bool) -> Self {
        Self { positional, ..Self::default() }
    }
}

impl Machine for DictionaryReader {
    fn step<O: Observer + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        out: &mut Output<'_, O>,
    ) -> Result<(), DecodeError> {
        loop {
            if let Some(id) = self.reading {
                let Some(word) = self.text.take(scan) else { return Ok(()) };
                out.word(id, word);
                self.text.end();
                self.reading = None;
            }
            let mut token = *scan;
            let id = if self.positional {
                let Some(id) = token.varint() else { return Ok(()) };
                Some(id)
            } else {
                None
            };
            let Some(units) = token.varint() else { return Ok(()) };
            *scan = token;
            self.text.begin(units, limits::TEXT)?;
            self.reading = Some(id);
        }
    }

    fn at_boundary(&self) -> bool {
        self.reading.is_none()
    }
}

/// The only known version.
const VERSION: u8 = 1;

#[derive(Debug, Default, PartialEq, Eq)]
enum Expect {
    #[default]
    Version,
    NameLength,
    Name,
    Flags,
    Signature,
}

/// Decodes definitions. Agents send each once a connection, so copying is cheap enough.
#[derive(Debug, Default)]
pub(crate) struct DefinitionReader {
    expect: Expect,
    text: TextReader,
    name: Vec<u8>,
    name_units: u32,
    indexed: bool,
    list: bool,
    order: u32,
}

impl Machine for DefinitionReader {
    fn step<O: Observer + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        out: &mut Output<'_, O>,
    ) -> Result<(), DecodeError> {
        while self.token(scan, out)?.is_some() {}
        Ok(())
    }

    fn at_boundary(&self) -> bool {
        matches!(self.expect, Expect::Version | Expect::NameLength)
    }
}

impl DefinitionReader {
    fn token<O: Observer + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        out: &mut Output<'_, O>,
    ) -> Result<Option<()>, DecodeError> {
        self.expect = match self.expect {
            Expect::Version => match scan.u8() {
                None => return Ok(None),
                Some(VERSION) => Expect::NameLength,
                Some(other) => return Err(DecodeError::ParamsVersion(other)),
            },
            Expect::NameLength => {
                let Some(units) = scan.varint() else { return Ok(None) };
                self.text.begin(units, limits::PARAM_NAME)?;
                Expect::Name
            }
            Expect::Name => {
                let Some(name) = self.text.take(scan) else { return Ok(None) };
                self.name.clear();
                self.name.extend_from_slice(name.as_utf16());
                self.name_units = name.units();
                Expect::Flags
            }
            Expect::Flags => {
                let Some((indexed, list, order, units)) = flags(scan) else { return Ok(None) };
                (self.indexed, self.list, self.order) = (indexed != 0, list != 0, order);
                self.text.begin(units, limits::PARAM_NAME)?;
                Expect::Signature
            }
            Expect::Signature => {
                let Some(signature) = self.text.take(scan) else { return Ok(None) };
                let name = Text::new(&self.name, self.name_units);
                let Self { indexed, list, order, .. } = *self;
                out.observer.definition(&Definition { name, indexed, list, order, signature });
                Expect::NameLength
            }
        };
        Ok(Some(()))
    }
}

/// Reads the flags index and list, the order, and the length of the signature.
fn flags(scan: &mut Scan<'_>) -> Option<(u8, u8, u32, u32)> {
    let mut token = *scan;
    let flags = (token.u8()?, token.u8()?, token.varint()?, token.varint()?);
    *scan = token;
    Some(flags)
}

/// Decodes pauses.
#[derive(Debug, Default)]
pub(crate) struct PauseReader {
    /// End of the last pause, once the base is known.
    end_ms: Option<i64>,
}

impl Machine for PauseReader {
    fn step<O: Observer + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        out: &mut Output<'_, O>,
    ) -> Result<(), DecodeError> {
        let mut end_ms = match self.end_ms {
            Some(end_ms) => end_ms,
            None => match scan.u64() {
                Some(base) => base.cast_signed(),
                None => return Ok(()),
            },
        };
        let mut token = *scan;
        while let (Some(distance), Some(duration_ms)) = (token.varint(), token.varint()) {
            // Negative when the clock was set back.
            end_ms = end_ms.wrapping_add(distance.cast_signed().into());
            out.observer.pause(&Pause { end_ms, duration_ms });
            *scan = token;
        }
        self.end_ms = Some(end_ms);
        Ok(())
    }

    fn at_boundary(&self) -> bool {
        true
    }
}

/// Decodes one file.
#[derive(Debug)]
pub(crate) struct ValueReader {
    xml: bool,
    /// Sequence of the file + 1.
    file: u32,
    /// Offset of the value that is being read.
    reading: Option<u64>,
    text: TextReader,
}

impl ValueReader {
    /// A reader of one file, of `xml` or `sql`; `file` is its sequence + 1.
    pub(crate) fn new(xml: bool, file: u32) -> Self {
        Self { xml, file, reading: None, text: TextReader::default() }
    }
}

impl Machine for ValueReader {
    fn step<O: Observer + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        out: &mut Output<'_, O>,
    ) -> Result<(), DecodeError> {
        loop {
            if let Some(offset) = self.reading {
                let Some(text) = self.text.take(scan) else { return Ok(()) };
                let value = BigValue { file: self.file, offset, text };
                if self.xml {
                    out.observer.xml(&value)
                } else {
                    out.observer.sql(&value)
                };
                self.text.end();
                self.reading = None;
            }
            let offset = scan.offset();
            let Some(units) = scan.varint() else { return Ok(()) };
            self.text.begin(units, limits::TEXT)?;
            self.reading = Some(offset);
        }
    }

    fn at_boundary(&self) -> bool {
        self.reading.is_none()
    }
}
