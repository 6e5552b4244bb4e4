//! The bytes of an array that are known to be one.

use std::ops::Deref;

use crate::check::{CheckError, check};
use crate::layout::Resolution;

/// The bytes of a whole event array of either resolution. All lengths and counts in it are in
/// bounds, so that libpcp can walk it without a check.
///
/// [`Stream::read`](crate::Stream::read) delivers such arrays; others are checked by
/// [`EventArray::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventArray(Vec<u8>);

impl EventArray {
    /// Checks an array of resolution `R`, for example that of
    /// [`Array::into_bytes`](crate::Array::into_bytes).
    ///
    /// # Errors
    /// [`CheckError`] with the offset of the first violation.
    pub fn new<R: Resolution>(bytes: Vec<u8>) -> Result<Self, CheckError> {
        check::<R>(&bytes)?;
        Ok(Self(bytes))
    }

    /// For an array of records that this crate has packed.
    pub(crate) const fn packed(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Deref for EventArray {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Array, HighRes, LowRes, Stamp};

    #[test]
    fn only_whole_arrays_of_the_resolution_are_accepted() {
        let mut array = Array::<HighRes>::new();
        array.add_missed(Stamp::default(), 5).expect("fits");
        let bytes = array.into_bytes();
        assert_eq!(*EventArray::new::<HighRes>(bytes.clone()).expect("whole"), *bytes);
        assert!(EventArray::new::<LowRes>(bytes.clone()).is_err());
        assert!(EventArray::new::<HighRes>(bytes[..bytes.len() - 4].to_vec()).is_err());
        assert!(EventArray::new::<HighRes>(Vec::new()).is_err());
    }
}
