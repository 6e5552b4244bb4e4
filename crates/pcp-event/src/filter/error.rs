//! Errors and limits of filters.

/// Limit of a filter's text in bytes.
pub const FILTER_MAX: usize = 4096;
/// Limit of nested parentheses and `!`.
pub(super) const DEPTH_MAX: usize = 64;
/// Limit of comparisons in a filter.
pub(super) const TERMS_MAX: usize = 128;
/// Limit of different names in a filter.
pub(super) const NAMES_MAX: usize = 32;
/// Limit of `*` in the texts of a filter.
pub(super) const STARS_MAX: usize = 128;
/// Limit of parameters that the names of a filter refer to in all.
pub(super) const PARAMETERS_MAX: usize = 16 << 10;

/// The reason why a filter is rejected, and its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
#[non_exhaustive]
pub struct FilterError {
    /// Column of the first wrong character, from 1 on.
    pub column: usize,
    /// The expected text.
    pub message: String,
}
