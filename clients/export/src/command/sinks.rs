//! Formats with their places, as they were asked for.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::options::Options;
use crate::otlp::{Choice, Endpoint, Journal, Layout, Otlp, Patience, Said};
use crate::sink::Sink;

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
    Ok(found)
}

/// Where OTLP goes to; `""`: as the environment says.
fn targets(options: &Options) -> Vec<String> {
    if options.otlp.is_empty() { vec![String::new()] } else { options.otlp.clone() }
}

/// Checks what can be checked without a file or a receiver.
pub(super) fn check(options: &Options) -> Result<(), String> {
    targets(options)
        .iter()
        .filter(|to| is_url(to))
        .try_for_each(|to| endpoint(options, to).map(drop))
}

fn is_url(to: &str) -> bool {
    to.is_empty() || to.contains("://")
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
    if is_url(to) {
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

/// A file to write; `-` is the standard output.
pub(super) fn create(to: &str) -> io::Result<Box<dyn Write>> {
    if to == "-" {
        return Ok(Box::new(BufWriter::new(io::stdout())));
    }
    let file = BufWriter::new(File::create(Path::new(to))?);
    Ok(if to.ends_with(".gz") { Box::new(Packed::new(file)) } else { Box::new(file) })
}

/// gzip that is whole at the end.
struct Packed(Option<flate2::write::GzEncoder<BufWriter<File>>>);

impl Packed {
    fn new(file: BufWriter<File>) -> Self {
        Self(Some(flate2::write::GzEncoder::new(file, flate2::Compression::default())))
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(bytes.len()), |packed| packed.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), Write::flush)
    }
}
