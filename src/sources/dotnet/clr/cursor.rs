//! Reads a packed payload.

use crate::sources::dotnet::utf16::Utf16;

/// The payload is shorter than its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the payload is shorter than its layout")]
pub struct Short;

/// The bytes of a payload that are not read yet. Methods have the names of the types in
/// docs/protocols/dotnet.md 5.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    pointer_size: u32,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(payload: &'a [u8], pointer_size: u32) -> Self {
        Self { rest: payload, pointer_size }
    }

    /// Bytes that are left.
    pub(super) const fn left(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Short)?;
        self.rest = rest;
        Ok(*bytes)
    }

    pub(super) fn skip(&mut self, bytes: usize) -> Result<(), Short> {
        self.rest = self.rest.get(bytes..).ok_or(Short)?;
        Ok(())
    }

    #[inline]
    pub(super) fn u1(&mut self) -> Result<u8, Short> {
        self.take().map(u8::from_le_bytes)
    }

    #[inline]
    pub(super) fn u2(&mut self) -> Result<u16, Short> {
        self.take().map(u16::from_le_bytes)
    }

    #[inline]
    pub(super) fn u4(&mut self) -> Result<u32, Short> {
        self.take().map(u32::from_le_bytes)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Result<u64, Short> {
        self.take().map(u64::from_le_bytes)
    }

    #[inline]
    pub(super) fn f8(&mut self) -> Result<f64, Short> {
        self.take().map(f64::from_le_bytes)
    }

    /// A pointer.
    #[inline]
    pub(super) fn p(&mut self) -> Result<u64, Short> {
        if self.pointer_size == 4 { self.u4().map(u64::from) } else { self.u8() }
    }

    /// A text.
    #[inline]
    pub(super) fn s(&mut self) -> Result<Utf16<'a>, Short> {
        let (text, rest) = Utf16::split(self.rest).ok_or(Short)?;
        self.rest = rest;
        Ok(text)
    }

    /// A GUID.
    #[inline]
    pub(super) fn g(&mut self) -> Result<[u8; 16], Short> {
        self.take()
    }

    /// Pointers of an array with a count before it.
    pub(super) fn ps(&mut self, each: usize) -> Result<u32, Short> {
        let count = self.u4()?;
        let size = if self.pointer_size == 4 { 4 } else { 8 };
        self.skip((count as usize).saturating_mul(each * size))?;
        Ok(count)
    }

    /// Numbers of 32 bits with a count before them.
    pub(super) fn ns(&mut self) -> Result<u32, Short> {
        let count = self.u4()?;
        self.skip((count as usize).saturating_mul(4))?;
        Ok(count)
    }

    /// Bytes with a count before them.
    pub(super) fn b(&mut self) -> Result<u32, Short> {
        let count = self.u4()?;
        self.skip(count as usize)?;
        Ok(count)
    }
}
