//! What several fuzz targets share.

pub mod profiler_streams;
