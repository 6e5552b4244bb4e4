//! The container of the metadata: plain text, packets of text, or CTF 2 fragments. The first
//! bytes decide.

mod cursor;
mod packets;

use packets::Packets;

use crate::error::MetadataError;
use crate::json::Fragments;
use crate::schema::{Schema, Version};
use crate::tsdl::Tsdl;

/// Byte that starts each fragment of CTF 2 (RFC 7464).
const RECORD_SEPARATOR: u8 = 0x1e;

#[derive(Clone, Debug)]
enum Form {
    /// Fewer than four bytes have arrived.
    Unknown(Vec<u8>),
    Plain(Tsdl),
    Packets(Packets, Tsdl),
    Json(Fragments),
}

/// Parses growing metadata into a schema.
#[derive(Clone, Debug)]
pub(super) struct Metadata {
    form: Form,
}

impl Default for Metadata {
    fn default() -> Self {
        Self { form: Form::Unknown(Vec::new()) }
    }
}

impl Metadata {
    /// Parses at most one declaration from the front of `bytes` and removes the parsed bytes.
    /// `Ok(true)`: a declaration was parsed.
    pub(super) fn declaration(
        &mut self,
        bytes: &mut &[u8],
        schema: &mut Schema,
    ) -> Result<bool, MetadataError> {
        while let Form::Unknown(first) = &mut self.form {
            let Some((b, rest)) = bytes.split_first() else { return Ok(false) };
            first.push(*b);
            *bytes = rest;
            let first = std::mem::take(first);
            let form = self.settle(first, schema)?;
            self.form = form;
        }
        match &mut self.form {
            Form::Unknown(_) => Ok(false),
            Form::Plain(tsdl) => tsdl.declaration(bytes, schema),
            Form::Json(fragments) => fragments.read(bytes, schema),
            Form::Packets(packets, tsdl) => loop {
                let content = packets.content(bytes).map_err(|fault| {
                    let (offset, line) = tsdl.place();
                    fault.at(offset, line)
                })?;
                if content.is_empty() {
                    return Ok(false);
                }
                let mut left = content;
                let read = tsdl.declaration(&mut left, schema);
                let taken = content.len() - left.len();
                packets.took(taken);
                *bytes = bytes.get(taken..).unwrap_or_default();
                if read? {
                    return Ok(true);
                }
            },
        }
    }

    /// Chooses the form by the first bytes, and passes them to it.
    fn settle(&mut self, first: Vec<u8>, schema: &mut Schema) -> Result<Form, MetadataError> {
        let mut bytes = &first[..];
        match first.first() {
            Some(&RECORD_SEPARATOR) => {
                schema.version = Version::V2;
                let mut fragments = Fragments::default();
                fragments.read(&mut bytes, schema)?;
                Ok(Form::Json(fragments))
            }
            _ if first.len() < 4 => Ok(Form::Unknown(first)),
            _ => match Packets::new(bytes) {
                Some(mut packets) => {
                    // All four bytes belong to the header, so there is no content yet.
                    packets.content(&mut bytes).map_err(|fault| fault.at(0, 1))?;
                    Ok(Form::Packets(packets, Tsdl::default()))
                }
                None => {
                    let mut tsdl = Tsdl::default();
                    while tsdl.declaration(&mut bytes, schema)? {}
                    Ok(Form::Plain(tsdl))
                }
            },
        }
    }

    /// Whether a declaration is incomplete.
    pub(super) fn unfinished(&self) -> bool {
        match &self.form {
            Form::Unknown(first) => !first.is_empty(),
            Form::Plain(tsdl) => tsdl.unfinished(),
            Form::Packets(packets, tsdl) => packets.inside() || tsdl.unfinished(),
            Form::Json(fragments) => fragments.unfinished(),
        }
    }

    /// Byte and line of the latest declaration.
    pub(super) fn place(&self) -> (u64, u64) {
        match &self.form {
            Form::Unknown(_) => (0, 1),
            Form::Plain(tsdl) | Form::Packets(_, tsdl) => tsdl.place(),
            Form::Json(fragments) => fragments.place(),
        }
    }
}
