//! Metadata in packets (CTF 1.8, 7.1): a header of 37 bytes, text, padding.
//!
//! | off | size | field |
//! |---|---|---|
//! | 0 | u32 | magic 0x75D11D57, in the byte order of the packet |
//! | 4 | 16 | UUID of the trace |
//! | 20 | u32 | checksum, not used |
//! | 24 | u32 | bits of header and text |
//! | 28 | u32 | bits with padding |
//! | 32 | 3 × u8 | compression, encryption, checksum scheme: 0 |
//! | 35 | 2 × u8 | version 1.8 |

use super::cursor::Cursor;
use crate::ByteOrder;
use crate::error::{DeclarationError, bounded, malformed};
use crate::limits;

const MAGIC: u32 = 0x75d1_1d57;
const HEADER: usize = 37;

/// Extracts the text of metadata packets, which arrive in pieces of any size.
#[derive(Clone, Debug)]
pub(super) struct Packets {
    order: ByteOrder,
    /// Bytes of an incomplete packet header.
    header: Vec<u8>,
    /// Bytes of text and of padding left in the current packet.
    text: usize,
    padding: usize,
    uuid: Option<[u8; 16]>,
}

impl Packets {
    /// `Some` if the first four bytes are the magic number in either byte order.
    pub(super) fn new(first: &[u8]) -> Option<Self> {
        let order = [ByteOrder::Little, ByteOrder::Big]
            .into_iter()
            .find(|order| Cursor::new(first, *order).u32() == Some(MAGIC))?;
        Some(Self { order, header: Vec::with_capacity(HEADER), text: 0, padding: 0, uuid: None })
    }

    /// Removes headers and padding from the front of `bytes` and returns the following text. An
    /// empty text: all bytes are removed.
    pub(super) fn content<'a>(
        &mut self,
        bytes: &mut &'a [u8],
    ) -> Result<&'a [u8], DeclarationError> {
        while !bytes.is_empty() {
            if self.text > 0 {
                return Ok(bytes.get(..self.text).unwrap_or(bytes));
            }
            if self.padding > 0 {
                let skipped = self.padding.min(bytes.len());
                self.padding -= skipped;
                *bytes = bytes.get(skipped..).unwrap_or_default();
                continue;
            }
            let (head, rest) =
                bytes.split_at_checked(HEADER - self.header.len()).unwrap_or((bytes, &[]));
            self.header.extend_from_slice(head);
            *bytes = rest;
            if self.header.len() == HEADER {
                let header = std::mem::take(&mut self.header);
                self.start(&header)?;
            }
        }
        Ok(&[])
    }

    /// Counts `bytes` of the text as consumed.
    pub(super) fn took(&mut self, bytes: usize) {
        self.text = self.text.saturating_sub(bytes);
    }

    /// Whether a packet is incomplete.
    pub(super) fn inside(&self) -> bool {
        self.text > 0 || self.padding > 0 || !self.header.is_empty()
    }

    fn start(&mut self, header: &[u8]) -> Result<(), DeclarationError> {
        let mut c = Cursor::new(header, self.order);
        let short = || DeclarationError::Malformed("header of a metadata packet".into());
        let magic = c.u32().ok_or_else(short)?;
        let uuid: [u8; 16] = c.bytes(16).and_then(|b| b.try_into().ok()).ok_or_else(short)?;
        let _checksum = c.u32().ok_or_else(short)?;
        let content = c.u32().ok_or_else(short)?;
        let packet = c.u32().ok_or_else(short)?;
        let (schemes, version) = (c.bytes(3).ok_or_else(short)?, c.bytes(2).ok_or_else(short)?);
        if magic != MAGIC {
            return malformed!("metadata packet of magic {magic:#x}");
        }
        if version != [1, 8] {
            return Err(DeclarationError::Unsupported(format!(
                "metadata packet of version {version:?}"
            )));
        }
        if schemes != [0, 0, 0] {
            return Err(DeclarationError::Unsupported(format!(
                "compression, encryption, checksum {schemes:?}"
            )));
        }
        if *self.uuid.get_or_insert(uuid) != uuid {
            return malformed!("metadata packet of another trace");
        }
        bounded("bytes of a metadata packet", u64::from(packet / 8), limits::METADATA_PACKET)?;
        let bytes = |bits: u32| usize::try_from(bits / 8).ok().filter(|_| bits.is_multiple_of(8));
        let (Some(content), Some(packet)) = (bytes(content), bytes(packet)) else {
            return malformed!("metadata packet of {content} in {packet} bits");
        };
        match (content.checked_sub(HEADER), packet.checked_sub(content)) {
            (Some(text), Some(padding)) => {
                (self.text, self.padding) = (text, padding);
                Ok(())
            }
            _ => malformed!("metadata packet of {content} in {packet} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(order: ByteOrder, text: &[u8], padding: usize) -> Vec<u8> {
        let word =
            |n: u32| if order == ByteOrder::Little { n.to_le_bytes() } else { n.to_be_bytes() };
        let bits = |n: usize| word(u32::try_from(n * 8).unwrap());
        let mut bytes = word(MAGIC).to_vec();
        bytes.extend([7; 16]);
        bytes.extend(word(0));
        bytes.extend(bits(HEADER + text.len()));
        bytes.extend(bits(HEADER + text.len() + padding));
        bytes.extend([0, 0, 0, 1, 8]);
        bytes.extend(text);
        bytes.extend(vec![0; padding]);
        bytes
    }

    fn text_of(bytes: &[u8], piece: usize) -> Result<Vec<u8>, DeclarationError> {
        let mut packets = Packets::new(bytes).unwrap();
        let mut text = Vec::new();
        for mut part in bytes.chunks(piece) {
            loop {
                let content = packets.content(&mut part)?;
                if content.is_empty() {
                    break;
                }
                text.extend(content);
                packets.took(content.len());
                part = &part[content.len()..];
            }
        }
        assert!(!packets.inside());
        Ok(text)
    }

    #[test]
    fn text_in_any_pieces_and_orders() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let bytes =
                [packet(order, b"trace {", 5), packet(order, b"", 0), packet(order, b"};", 1)]
                    .concat();
            for piece in [1, 2, 36, 37, 38, 1000] {
                assert_eq!(text_of(&bytes, piece).unwrap(), b"trace {};");
            }
        }
    }

    #[test]
    fn bad_headers() {
        let good = packet(ByteOrder::Little, b"x", 3);
        for at in [24, 28, 32, 33, 34, 35, 36] {
            let mut bad = good.clone();
            bad[at] ^= 0x55;
            assert!(text_of(&bad, 1000).is_err(), "byte {at}");
        }
        let other =
            [good.clone(), good.iter().map(|b| if *b == 7 { 8 } else { *b }).collect()].concat();
        assert!(text_of(&other, 1000).is_err(), "two traces");
        assert!(Packets::new(b"/* C").is_none() && Packets::new(b"\x57\x1d").is_none());
    }
}
