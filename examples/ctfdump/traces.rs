//! Traces in directories: a file `metadata` and, beside it, files of packets.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ctf::schema::Uuid;
use ctf::{Packet, Trace};

/// A trace and its streams.
pub(crate) struct Loaded {
    /// Its metadata, compiled.
    pub(crate) trace: Trace,
    /// Name and bytes of each stream. Files of one stream (tracers begin new ones when they are
    /// full) are put together.
    pub(crate) streams: Vec<(String, Vec<u8>)>,
}

/// Traces, and what is wrong with some.
pub(crate) type Read = (Vec<Loaded>, Vec<String>);

/// Directories with a file `metadata`, at any depth.
fn find(dir: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    if dir.join("metadata").is_file() {
        found.push(dir.to_owned());
    }
    let told = |e| format!("{}: {e}", dir.display());
    let mut inner = Vec::new();
    for entry in fs::read_dir(dir).map_err(told)? {
        let entry = entry.map_err(told)?;
        if entry.file_type().is_ok_and(|t| t.is_dir()) && entry.file_name() != "index" {
            inner.push(entry.path());
        }
    }
    inner.sort();
    inner.iter().try_for_each(|dir| find(dir, found))
}

/// The metadata of a trace.
pub(crate) fn metadata(bytes: &[u8]) -> Result<Trace, String> {
    let mut trace = Trace::new();
    trace.metadata(bytes).map_err(|e| e.to_string())?;
    if trace.unfinished() {
        return Err("metadata ends within a declaration".to_owned());
    }
    Ok(trace)
}

fn streams(dir: &Path) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && name != "metadata" && !name.starts_with('.') {
            files.push((entry.path().display().to_string(), fs::read(entry.path())?));
        }
    }
    files.sort();
    files.retain(|(_, bytes)| !bytes.is_empty());
    Ok(files)
}

/// One trace of a directory, or of several with one UUID: those that a session wrote one after the
/// other.
struct Group {
    metadata: Vec<u8>,
    files: Vec<(String, Vec<u8>)>,
}

/// Reads all traces below directories.
pub(crate) fn read(dirs: &[PathBuf]) -> Result<Read, String> {
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    for dir in dirs {
        find(dir, &mut found)?;
    }
    if found.is_empty() {
        return Err("no file metadata in there".to_owned());
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut by_uuid: BTreeMap<Uuid, usize> = BTreeMap::new();
    for dir in found {
        let bytes =
            fs::read(dir.join("metadata")).map_err(|e| format!("{}: {e}", dir.display()))?;
        let files = streams(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let trace = match metadata(&bytes) {
            Ok(trace) => trace,
            Err(e) => {
                faults.push(format!("{}: {e}", dir.display()));
                continue;
            }
        };
        let n = trace
            .schema()
            .uuid
            .map_or(groups.len(), |uuid| *by_uuid.entry(uuid).or_insert(groups.len()));
        if let Some(group) = groups.get_mut(n) {
            if bytes.len() > group.metadata.len() {
                group.metadata = bytes;
            }
            group.files.extend(files);
        } else {
            groups.push(Group { metadata: bytes, files });
        }
    }
    let mut traces = Vec::new();
    for group in groups {
        let trace = metadata(&group.metadata)?;
        let streams = together(&trace, group.files);
        traces.push(Loaded { trace, streams });
    }
    Ok((traces, faults))
}

/// Files of a stream, with the clock at their beginning.
type Parts = Vec<(u64, Vec<u8>)>;

/// Puts files of one stream together, by the time of their first packets.
fn together(trace: &Trace, files: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    let mut streams: Vec<(String, Parts)> = Vec::new();
    let mut known: BTreeMap<(usize, u64), usize> = BTreeMap::new();
    for (name, bytes) in files {
        let first = Packet::open(trace, &bytes, 0).ok().map(|packet| packet.info().clone());
        let stream = first.as_ref().and_then(|info| Some((info.stream, info.stream_id?)));
        let begin = first.and_then(|info| info.begin).unwrap_or_default();
        let n =
            stream.map_or(streams.len(), |stream| *known.entry(stream).or_insert(streams.len()));
        match streams.get_mut(n) {
            Some((_, parts)) => parts.push((begin, bytes)),
            None => streams.push((name, vec![(begin, bytes)])),
        }
    }
    let join = |mut parts: Parts| {
        parts.sort_by_key(|(begin, _)| *begin);
        let mut parts = parts.into_iter().map(|(_, bytes)| bytes);
        let first = parts.next().unwrap_or_default();
        parts.fold(first, |whole, part| [whole, part].concat())
    };
    streams.into_iter().map(|(name, parts)| (name, join(parts))).collect()
}
