//! Why a filter is refused, and the bounds of filters.

/// Most bytes of a filter's text.
pub const FILTER_MAX: usize = 4096;
/// Most parentheses and `!` inside each other.
pub(super) const DEPTH_MAX: usize = 64;
/// Most comparisons in a filter.
pub(super) const TERMS_MAX: usize = 128;
/// Most different names in a filter.
pub(super) const NAMES_MAX: usize = 32;
/// Most `*` in the texts of a filter.
pub(super) const STARS_MAX: usize = 128;
/// Most parameters that all names of a filter stand for together.
pub(super) const PARAMETERS_MAX: usize = 16 << 10;

/// Why a filter is refused, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
#[non_exhaustive]
pub struct FilterError {
    /// Column of the first character that does not fit, from 1 on.
    pub column: usize,
    /// The text that was expected there.
    pub message: String,
}
