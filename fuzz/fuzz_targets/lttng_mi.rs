//! Answers of the lttng program and requests of users never cause a panic. A valid answer has the
//! same meaning when blanks follow it; a specification from a request is valid; a parsed state is
//! the same after writing and parsing it again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pmdaapm::sources::lttng::control::{Command, Exit, Reply, State, Step, Verb, mi};

fuzz_target!(|data: &[u8]| {
    let (answer, result) = mi::read(data);
    if result.is_ok() {
        let mut longer = data.to_vec();
        longer.extend(b" \n");
        assert_eq!(mi::read(&longer), (answer, Ok(())));
    }
    let stderr = String::from_utf8_lossy(data).into_owned();
    for step in [
        Step::List,
        Step::Create("s1".into()),
        Step::Channel,
        Step::Events,
        Step::Start,
        Step::Destroy,
    ] {
        for code in [0, 1, 4, 55] {
            let reply =
                Reply { exit: Exit::Code(code), stdout: data.to_vec(), stderr: stderr.clone() };
            let _ = reply.judge(&step);
        }
    }
    for verb in [Verb::Session, Verb::Enable, Verb::Context, Verb::Start, Verb::Stop] {
        if let Ok(Command::Create(spec)) = Command::parse(verb, &stderr) {
            assert_eq!(spec.check(), Ok(()));
        }
    }
    if let Ok(state) = State::parse(&stderr) {
        assert_eq!(State::parse(&state.text()), Ok(state));
    }
});
