//! stub
use super::error::MetadataError;
use super::schema::Schema;

#[derive(Clone, Debug, Default)]
pub(super) struct Fragments;

impl Fragments {
    pub(super) fn read(&mut self, _: &mut &[u8], _: &mut Schema) -> Result<bool, MetadataError> {
        Ok(false)
    }
    pub(super) const fn unfinished(&self) -> bool {
        true
    }
    pub(super) const fn place(&self) -> (u64, u64) {
        (0, 1)
    }
}
