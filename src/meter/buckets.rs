//! Ranges of a histogram, given by their lower bounds in rising order, of which the first is 0.

/// Names of the ranges: `lo-hi`, and `lo-inf` for the last.
#[must_use]
pub fn bucket_names(edges: &[u64]) -> Vec<String> {
    let upper = edges.iter().skip(1).map(ToString::to_string).chain(["inf".to_owned()]);
    edges.iter().zip(upper).map(|(lo, hi)| format!("{lo}-{hi}")).collect()
}

/// The position of the range that has `value`.
#[must_use]
pub fn bucket_of(edges: &[u64], value: u64) -> usize {
    edges.partition_point(|edge| *edge <= value).saturating_sub(1)
}
