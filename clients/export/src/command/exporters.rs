//! Formats with their places, as they were asked for.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::options::{Options, is_url};
use super::profiles::Trees;
use crate::chrome::Chrome;
use crate::exporter::Exporter;
use crate::meaning::{Ids, without_user};
use crate::otlp::{Choice, Endpoint, Journal, Layout, Otlp, Patience, Said};
use crate::perfetto::Perfetto;
use crate::timeline::Timeline;

/// A format, and its place as it was asked for.
pub(super) type Placed = (String, Box<dyn Exporter>);

/// All exporters. `shift`: ns that are added to all times.
pub(super) fn exporters(options: &Options, shift: i64) -> Result<Vec<Placed>, String> {
    let mut found: Vec<Placed> = Vec::new();
    let choice = Choice { all: options.all, shift };
    for place in targets(options) {
        let exporter = otlp(options, &place, choice)?;
        let shown = if place.is_empty() { "OTLP".to_owned() } else { without_user(&place) };
        found.push((shown, Box::new(exporter)));
    }
    for to in &options.perfetto {
        let file = create(to).map_err(|e| format!("{to}: {e}"))?;
        found.push((to.clone(), Box::new(Timeline::new(Perfetto::new(file)))));
    }
    for to in &options.chrome {
        let file = create(to).map_err(|e| format!("{to}: {e}"))?;
        found.push((to.clone(), Box::new(Timeline::new(Chrome::new(file)))));
    }
    if options.has_stacks() {
        found.push(("stacks".into(), Box::new(Trees::new(options))));
    }
    Ok(found)
}

/// Has all exporters do something, also after one has failed. The first error is kept in `failed`.
pub(super) fn each(
    exporters: &mut [Placed],
    failed: &mut Result<(), String>,
    mut act: impl FnMut(&str, &mut dyn Exporter) -> io::Result<()>,
) {
    for (place, exporter) in exporters {
        if let Err(e) = act(place, exporter.as_mut())
            && failed.is_ok()
        {
            *failed = Err(format!("{place}: {e}"));
        }
    }
}

/// Where OTLP goes to; `""`: as the environment says.
fn targets(options: &Options) -> Vec<String> {
    let others = !options.perfetto.is_empty() || !options.chrome.is_empty();
    let others = others || options.has_stacks();
    if options.otlp.is_empty() && !others { vec![String::new()] } else { options.otlp.clone() }
}

/// Checks what can be checked without a file or a receiver.
pub(super) fn check(options: &Options) -> Result<(), String> {
    receivers(options).iter().try_for_each(|to| endpoint(options, to).map(drop))
}

fn receivers(options: &Options) -> Vec<String> {
    let mut found = targets(options);
    found.retain(|to| is_receiver(to));
    found
}

fn is_receiver(to: &str) -> bool {
    to.is_empty() || is_url(to)
}

/// Where it is noted what the receiver of a URL has: each of several has a file of its own.
fn state(path: &Path, url: &str, several: bool) -> PathBuf {
    if !several {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{:016x}", Ids::number(&[url])));
    name.into()
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
    if is_receiver(to) {
        let patience = if options.is_service() { Patience::Always } else { Patience::Tries };
        let endpoint = endpoint(options, to)?;
        let journal = match &options.state {
            Some(path) => {
                let path = state(path, &endpoint.url, receivers(options).len() > 1);
                Some(Journal::open(&path).map_err(|e| format!("{}: {e}", path.display()))?)
            }
            None => None,
        };
        let url = endpoint.shown();
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::exporter::Summary;
    use crate::model::Record;

    /// It fails in its `finish`, or not; says that it was called.
    struct Odd(bool, std::rc::Rc<std::cell::Cell<u32>>);

    impl Exporter for Odd {
        fn add(&mut self, _: &Record, _: Instant) -> io::Result<()> {
            Ok(())
        }

        fn tick(&mut self, _: Instant) -> io::Result<()> {
            Ok(())
        }

        fn finish(&mut self) -> io::Result<Summary> {
            self.1.set(self.1.get() + 1);
            if self.0 { Err(io::Error::other("full")) } else { Ok(Summary::default()) }
        }
    }

    #[test]
    fn one_that_fails_does_not_stop_the_others() {
        let finished = std::rc::Rc::default();
        let mut exporters: Vec<Placed> = Vec::new();
        for (place, fails) in [("a", false), ("b", true), ("c", true), ("d", false)] {
            exporters.push((place.into(), Box::new(Odd(fails, std::rc::Rc::clone(&finished)))));
        }
        let mut failed = Ok(());
        each(&mut exporters, &mut failed, |_, exporter| exporter.finish().map(drop));
        assert_eq!((finished.get(), failed), (4, Err("b: full".into())));
    }

    #[test]
    fn each_of_several_receivers_has_a_state_of_its_own() {
        let folder = std::env::temp_dir().join(format!("states-{}", std::process::id()));
        let noted = |otlp: &[&str]| {
            std::fs::create_dir(&folder).expect("a folder");
            let otlp = otlp.iter().map(|url| (*url).to_owned()).collect();
            let state = Some(folder.join("state.a"));
            let options = Options { otlp, state, ..Options::default() };
            for (_, mut exporter) in exporters(&options, 0).expect("files") {
                exporter.finish().expect("nothing is sent");
            }
            let files = std::fs::read_dir(&folder).expect("the folder");
            let names = files.map(|file| file.expect("a file").file_name());
            let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
            std::fs::remove_dir_all(&folder).expect("the folder");
            names.sort();
            names
        };
        assert_eq!(noted(&["http://a"]), ["state.a"]);
        let [a, b] = ["http://a/v1/traces", "http://b/v1/traces"]
            .map(|url| format!("state.a.{:016x}", Ids::number(&[url])));
        let mut both = [a, b];
        both.sort();
        assert_eq!(noted(&["http://a", "http://b"]), both);
    }
}
