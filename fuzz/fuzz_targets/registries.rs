//! Files that sources keep over restarts: Zorka's agents, LTTng's sessions. A text is refused, or
//! what is understood of it is written and read again without a change, and obeys its limits.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use pmdaapm::contract::Recorded;
use pmdaapm::model::Memory;
use pmdaapm::sources::Source;
use pmdaapm::sources::lttng::control::State;
use pmdaapm::sources::zorka::collector::Collector;
use pmdaapm::sources::zorka::{Config, Zorka};

static MEMORY: LazyLock<Arc<Memory>> = LazyLock::new(|| {
    let memory = Arc::new(Memory::default());
    memory.set_limits(64 << 20, 16 << 20, 16 << 20);
    memory
});

/// What Zorka's registry makes of a text.
fn zorka(text: &str) -> Result<String, String> {
    let of = Collector::new(
        &Config::default(),
        Recorded::new(&Zorka::TABLE).maker(),
        Arc::clone(&MEMORY),
        text,
    )?;
    of.keep_state();
    Ok(of.take_state().unwrap_or_default())
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Ok(kept) = zorka(&text) {
        assert_eq!(zorka(&kept).as_ref(), Ok(&kept), "its own state");
        assert!(kept.len() <= 8 * text.len() + 256, "{} of {}", kept.len(), text.len());
    }
    if let Ok(state) = State::parse(&text) {
        assert_eq!(State::parse(&state.text()), Ok(state.clone()));
        for saved in &state.sessions {
            assert_eq!(saved.spec.check(), Ok(()));
        }
    }
});
