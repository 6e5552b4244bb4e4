//! The stream posDictionary of a Java profiler: see `profiler_streams`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pmdaapm_fuzz::profiler_streams::check(
    "posDictionary",
    data
));
