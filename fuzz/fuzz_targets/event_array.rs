//! The strict checker of event arrays never panics. An array that it accepts has the number of
//! records in its header, and all parameters and records lie within it (which the checker itself
//! verifies).
#![no_main]

use libfuzzer_sys::fuzz_target;
use pmdaapm::events::{HighRes, LowRes, check};

fuzz_target!(|data: &[u8]| {
    let mut whole = data.to_vec();
    if whole.len() >= 8 {
        for ty in [9u32, 10] {
            let word = whole.len() as u32 & 0x00ff_ffff | ty << 24;
            whole[..4].copy_from_slice(&word.to_ne_bytes());
            let found = if ty == 9 {
                check::<LowRes>(&whole).map(|r| r.len())
            } else {
                check::<HighRes>(&whole).map(|r| r.len())
            };
            if let Ok(n) = found {
                assert_eq!(n, i32::from_ne_bytes(whole[4..8].try_into().unwrap()) as usize);
            }
        }
    }
    let _ = check::<LowRes>(data);
    let _ = check::<HighRes>(data);
});
