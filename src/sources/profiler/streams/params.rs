//! The stream `params` (spec B.3): the first phrase begins with the version, then come definitions
//! of parameters.

use super::record::{Corrupt, Definition};
use super::resume::Machine;
use super::scan::Scan;
use super::text::{Reader, Text};
use crate::sources::profiler::limits;

/// Takes definitions.
pub(crate) trait Visitor {
    /// One parameter.
    fn definition(&mut self, definition: &Definition<'_>);
}

/// The only version that there is.
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

/// Reads one file. It is written once per connection, so it copies.
#[derive(Debug, Default)]
pub(crate) struct Params {
    expect: Expect,
    text: Reader,
    name: Vec<u8>,
    name_units: u32,
    indexed: bool,
    list: bool,
    order: u32,
}

impl<V: Visitor + ?Sized> Machine<V> for Params {
    fn step(&mut self, scan: &mut Scan<'_>, visitor: &mut V) -> Result<(), Corrupt> {
        while self.token(scan, visitor)?.is_some() {}
        Ok(())
    }

    fn at_boundary(&self) -> bool {
        matches!(self.expect, Expect::Version | Expect::NameLength)
    }
}

impl Params {
    fn token<V: Visitor + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        visitor: &mut V,
    ) -> Result<Option<()>, Corrupt> {
        self.expect = match self.expect {
            Expect::Version => match scan.u8() {
                None => return Ok(None),
                Some(VERSION) => Expect::NameLength,
                Some(other) => return Err(Corrupt::ParamsVersion(other)),
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
                visitor.definition(&Definition { name, indexed, list, order, signature });
                Expect::NameLength
            }
        };
        Ok(Some(()))
    }
}

/// Index, list, order and length of the signature.
fn flags(scan: &mut Scan<'_>) -> Option<(u8, u8, u32, u32)> {
    let mut token = *scan;
    let flags = (token.u8()?, token.u8()?, token.varint()?, token.varint()?);
    *scan = token;
    Some(flags)
}
