//! speedscope's JSON: a profile for each service.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Value as Json, json};

use super::Profile;

/// Writes a profile.
///
/// # Errors
/// `out` fails.
pub fn speedscope(profile: &Profile, mut out: impl Write) -> io::Result<()> {
    let mut frames: Vec<Json> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut profiles = Vec::new();
    for (service, sum) in profile.services() {
        let (mut samples, mut weights) = (Vec::new(), Vec::new());
        for stack in profile.stacks.iter().filter(|stack| &*stack.service == service) {
            let sample: Vec<usize> = stack
                .frames
                .iter()
                .map(|frame| {
                    *known.entry(frame).or_insert_with(|| {
                        frames.push(json!({ "name": frame }));
                        frames.len() - 1
                    })
                })
                .collect();
            samples.push(sample);
            weights.push(stack.value);
        }
        profiles.push(json!({
            "type": "sampled",
            "name": service,
            "unit": "nanoseconds",
            "startValue": 0,
            "endValue": sum,
            "samples": samples,
            "weights": weights,
        }));
    }
    let file = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": "pcp apm",
        "exporter": concat!("pmdaapm-export ", env!("CARGO_PKG_VERSION")),
        "activeProfileIndex": 0,
        "shared": { "frames": frames },
        "profiles": profiles,
    });
    serde_json::to_writer(&mut out, &file)?;
    out.write_all(b"\n")?;
    out.flush()
}
