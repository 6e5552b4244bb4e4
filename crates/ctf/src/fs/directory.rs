//! Directories: assigns files to traces and streams.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::files::{StreamFiles, TraceFiles};
use super::stream::StreamReader;
use crate::error::MetadataError;
use crate::schema::Uuid;
use crate::trace::Trace;

/// Bytes of metadata per read.
const PIECE: usize = 64 << 10;

/// The traces in and below directories, and the errors of those with unusable metadata.
pub(super) fn traces(dirs: &[impl AsRef<Path>]) -> Result<(Vec<TraceFiles>, Vec<Error>), Error> {
    let mut found = Vec::new();
    for dir in dirs {
        find(dir.as_ref(), &mut found)?;
    }
    if found.is_empty() {
        let path = dirs.first().map(|dir| dir.as_ref().to_owned()).unwrap_or_default();
        return Err(Error::NoTrace { path });
    }
    let (mut groups, mut errors): (Vec<Group>, Vec<Error>) = (Vec::new(), Vec::new());
    let mut by_uuid: BTreeMap<Uuid, usize> = BTreeMap::new();
    for dir in found {
        let path = dir.join("metadata");
        let (trace, bytes) = match metadata(&path) {
            Ok(read) => read,
            Err(error @ Error::Metadata { .. }) => {
                errors.push(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        let files = stream_files(&dir)?;
        let next = groups.len();
        let n = trace.schema().uuid.map_or(next, |uuid| *by_uuid.entry(uuid).or_insert(next));
        match groups.get_mut(n) {
            Some(group) => {
                if bytes > group.bytes {
                    (group.trace, group.bytes) = (trace, bytes);
                }
                group.files.extend(files);
            }
            None => groups.push(Group { trace, bytes, files }),
        }
    }
    let mut traces = Vec::new();
    for Group { trace, files, .. } in groups {
        let streams = streams(&trace, files)?;
        traces.push(TraceFiles { trace, streams });
    }
    Ok((traces, errors))
}

/// Directories with the same UUID.
struct Group {
    trace: Trace,
    /// Size of the metadata in bytes; the longest metadata of the group is used.
    bytes: u64,
    files: Vec<PathBuf>,
}

/// Adds the directories with a file `metadata`, at any depth. The tracer's `index` directories do
/// not contain one.
fn find(dir: &Path, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    if dir.join("metadata").is_file() {
        found.push(dir.to_owned());
    }
    let error = |error| Error::Io { path: dir.to_owned(), error };
    let mut inner = Vec::new();
    for entry in fs::read_dir(dir).map_err(error)? {
        let entry = entry.map_err(error)?;
        if entry.file_type().is_ok_and(|t| t.is_dir()) && entry.file_name() != "index" {
            inner.push(entry.path());
        }
    }
    inner.sort();
    inner.iter().try_for_each(|dir| find(dir, found))
}

/// A trace and the size of its metadata file.
fn metadata(path: &Path) -> Result<(Trace, u64), Error> {
    let io = |error| Error::Io { path: path.to_owned(), error };
    let malformed = |error| Error::Metadata { path: path.to_owned(), error };
    let mut file = File::open(path).map_err(io)?;
    let (mut trace, mut bytes, mut piece) = (Trace::new(), 0, vec![0; PIECE]);
    loop {
        let count = file.read(&mut piece).map_err(io)?;
        if count == 0 {
            break;
        }
        bytes += count as u64;
        trace.metadata(piece.get(..count).unwrap_or_default()).map_err(malformed)?;
    }
    if trace.unfinished() {
        return Err(malformed(MetadataError::Incomplete));
    }
    Ok((trace, bytes))
}

/// The non-empty files beside the metadata.
fn stream_files(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let error = |error| Error::Io { path: dir.to_owned(), error };
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(error)? {
        let entry = entry.map_err(error)?;
        let name = entry.file_name();
        let hidden = name.to_string_lossy().starts_with('.');
        let about = entry.metadata().map_err(error)?;
        if about.is_file() && about.len() > 0 && !hidden && name != "metadata" {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Groups the files of each stream, in the order of their first packets.
fn streams(trace: &Trace, files: Vec<PathBuf>) -> Result<Vec<StreamFiles>, Error> {
    let mut streams: Vec<Vec<(u64, PathBuf)>> = Vec::new();
    let mut known: BTreeMap<(usize, u64), usize> = BTreeMap::new();
    for path in files {
        let only = StreamFiles { paths: vec![path] };
        // A file whose first packet is malformed becomes a separate stream; its reader reports it.
        let mut reader = StreamReader::new(trace, &only);
        let first = match reader.next_packet(None) {
            Err(error @ Error::Io { .. }) => return Err(error),
            Ok(Some((packet, _))) => Some(packet.info().clone()),
            Ok(None) | Err(_) => None,
        };
        let key = first.as_ref().and_then(|info| Some((info.stream, info.stream_id?)));
        let begin = first.and_then(|info| info.begin).unwrap_or_default();
        let next = streams.len();
        let n = key.map_or(next, |key| *known.entry(key).or_insert(next));
        let files = only.paths.into_iter().map(|path| (begin, path));
        match streams.get_mut(n) {
            Some(stream) => stream.extend(files),
            None => streams.push(files.collect()),
        }
    }
    let paths = |mut files: Vec<(u64, PathBuf)>| {
        files.sort_by_key(|(begin, _)| *begin);
        StreamFiles { paths: files.into_iter().map(|(_, path)| path).collect() }
    };
    Ok(streams.into_iter().map(paths).collect())
}
