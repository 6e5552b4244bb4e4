//! Formats with their places, as they were asked for.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::options::{Options, is_url};
use crate::chrome::Chrome;
use crate::otlp::{Choice, Endpoint, Journal, Layout, Otlp, Patience, Said};
use crate::perfetto::Perfetto;
use crate::sink::Sink;
use crate::timeline::Timeline;

/// A format, and its place as it was asked for.
pub(super) type Placed = (String, Box<dyn Sink>);

/// All sinks. `shift`: ns that are added to all times.
pub(super) fn sinks(options: &Options, shift: i64) -> Result<Vec<Placed>, String> {
    let mut found: Vec<Placed> = Vec::new();
    let choice = Choice { all: options.all, shift };
    for place in targets(options) {
        let sink = otlp(options, &place, choice)?;
        found.push((if place.is_empty() { "OTLP".to_owned() } else { place }, Box::new(sink)));
    }
    for to in &options.perfetto {
        let file = create(to).map_err(|e| format!("{to}: {e}"))?;
        found.push((to.clone(), Box::new(Timeline::new(Perfetto::new(file)))));
    }
    for to in &options.chrome {
        let file = create(to).map_err(|e| format!("{to}: {e}"))?;
        found.push((to.clone(), Box::new(Timeline::new(Chrome::new(file)))));
    }
    Ok(found)
}

/// Where OTLP goes to; `""`: as the environment says.
fn targets(options: &Options) -> Vec<String> {
    let others = !options.perfetto.is_empty() || !options.chrome.is_empty();
    if options.otlp.is_empty() && !others { vec![String::new()] } else { options.otlp.clone() }
}

/// Checks what can be checked without a file or a receiver.
pub(super) fn check(options: &Options) -> Result<(), String> {
    targets(options)
        .iter()
        .filter(|to| to.is_empty() || is_url(to))
        .try_for_each(|to| endpoint(options, to).map(drop))
}

fn endpoint(options: &Options, to: &str) -> Result<Endpoint, String> {
    let said = Said {
        url: to.to_owned(),
        headers: options.headers.clone(),
        json: options.json,
        compression: options.compression.clone(),
    };
    Endpoint::new(&said, |name| std::env::var(name).ok())
}

fn otlp(options: &Options, to: &str, choice: Choice) -> Result<Otlp, String> {
    if to.is_empty() || is_url(to) {
        let patience = if options.is_service() { Patience::Always } else { Patience::Tries };
        let journal = match &options.state {
            Some(path) => {
                Some(Journal::open(path).map_err(|e| format!("{}: {e}", path.display()))?)
            }
            None => None,
        };
        let endpoint = endpoint(options, to)?;
        let url = endpoint.url.clone();
        return Otlp::receiver(endpoint, choice, patience, journal)
            .map_err(|e| format!("{url}: {e}"));
    }
    let plain = to.strip_suffix(".gz").unwrap_or(to);
    let binary = [".pb", ".bin", ".binpb"].iter().any(|end| plain.ends_with(end));
    let layout = match (binary && !options.json, options.follow) {
        (true, _) => Layout::Protobuf,
        // Lines are whole whenever it ends.
        (false, true) => Layout::Lines,
        (false, false) => Layout::Document,
    };
    let file = create(to).map_err(|e| format!("{to}: {e}"))?;
    Otlp::file(file, layout, choice).map_err(|e| format!("{to}: {e}"))
}

/// A file to write; `-` is the standard output. One whose name ends with `.gz` is packed.
pub(super) fn create(to: &str) -> io::Result<Box<dyn Write>> {
    if to.ends_with(".gz") {
        // It is whole when it is dropped.
        let file = BufWriter::new(File::create(Path::new(to))?);
        return Ok(Box::new(flate2::write::GzEncoder::new(file, flate2::Compression::default())));
    }
    plain(to)
}

/// The same without packing.
pub(super) fn plain(to: &str) -> io::Result<Box<dyn Write>> {
    Ok(match to {
        "-" => Box::new(BufWriter::new(io::stdout())),
        to => Box::new(BufWriter::new(File::create(Path::new(to))?)),
    })
}
