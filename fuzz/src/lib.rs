//! Code shared by several fuzz targets.

pub mod filter_model;
pub mod profiler_streams;
pub mod records;
