//! Code shared by several fuzz targets.

pub mod profiler_streams;
