//! Messages of a diagnostics socket: answers in any pieces, what processes say about themselves,
//! advertisements of reverse connections.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pmdaapm::sources::dotnet::wire::ipc::{ADVERTISE, Advertise, Answer, Info, InfoCommand};
use pmdaapm::sources::dotnet::limits;

fuzz_target!(|data: &[u8]| {
    match Answer::parse(data) {
        Ok(Some((answer, length))) => {
            assert!(length <= data.len());
            // No shorter piece is another answer, and no piece is an error.
            for end in 0..length.min(64) {
                assert_eq!(Answer::parse(&data[..end]), Ok(None));
            }
            assert_eq!(Answer::parse(&data[..length]), Ok(Some((answer, length))));
            let _ = answer.session();
        }
        Ok(None) => assert!(data.len() < 65_536),
        Err(_) => {}
    }
    for command in [InfoCommand::One, InfoCommand::Two, InfoCommand::Three] {
        if let Some(info) = Info::parse(command, data) {
            assert!(info.command.len() <= limits::TEXT);
        }
    }
    if let Some(advertise) = data.first_chunk::<ADVERTISE>() {
        let _ = Advertise::parse(advertise);
    }
});
