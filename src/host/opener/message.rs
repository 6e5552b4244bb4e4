//! What the PMDA asks of the opener, and what that answers.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use pmda::process::{PASSED, receive_with, send_with};
use rustix::io::Errno;

use crate::host::known::Mapped;

/// Bytes of a path.
pub(super) const PATH: usize = 1024;
/// Sockets of one question: the answer has a bit for each.
pub(in crate::host) const SOCKETS: usize = 64;
/// Processes of one message that asks for files of them: the answer has a byte for each.
pub(in crate::host) const OPENS: usize = 8;
/// Bytes of each of them.
const OPEN: usize = 1 + 12 + 1;
/// Bytes of the longest message: kind, process, file and path.
const SIZE: usize = 1 + 12 + 32 + PATH;

/// Kinds of places.
const MAPPED: u8 = 1;
const NAMED: u8 = 2;

/// A process: its id, and the inode of its folder in /proc. Who holds that folder keeps the number from being another
/// process's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) struct Process {
    pub(in crate::host) pid: u32,
    pub(in crate::host) inode: u64,
}

/// A file of a process's folder in /proc that is only for those who may debug it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum Part {
    Maps,
    Environ,
    Auxv,
    /// The folder of its open files.
    Files,
    /// Its root directory, not open for reading.
    Root,
    /// Its namespaces, not open for reading.
    Users,
    Network,
    /// Its memory, where the configuration says so.
    Memory,
}

/// Some of them, which are opened together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::host) struct Parts(u8);

/// Where a file of a process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::host) enum Place {
    /// Mapped in this range of addresses.
    Mapped(u64, u64),
    /// Of this path below its root.
    Path(PathBuf),
}

/// What is asked about a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::host) enum Request {
    /// Opens files of /proc. The answer's number says which. A message may have several of these, and no other ones.
    Open(Parts),
    /// Finds a file; it is not open for reading.
    Find(Place),
    /// Opens a file for reading, if it is this one.
    Read(Place, Mapped),
    /// Connects to a socket.
    Connect(PathBuf),
    /// Says which of these sockets it has open.
    Holds(Vec<u64>),
    /// Says whether it has this file open, by device and inode.
    HoldsFile(u64, u64),
}

const PARTS: [Part; 8] = [
    Part::Maps,
    Part::Environ,
    Part::Auxv,
    Part::Files,
    Part::Root,
    Part::Users,
    Part::Network,
    Part::Memory,
];

impl Part {
    /// Its name, as the PMDA asks for it.
    pub(in crate::host) const fn name(self) -> &'static str {
        match self {
            Self::Maps => "maps",
            Self::Environ => "environ",
            Self::Auxv => "auxv",
            Self::Files => "fd",
            Self::Root => "root",
            Self::Users => "ns/user",
            Self::Network => "ns/net",
            Self::Memory => "mem",
        }
    }

    pub(in crate::host) fn of(name: &str) -> Option<Self> {
        PARTS.into_iter().find(|part| part.name() == name)
    }
}

impl Parts {
    pub(in crate::host) const fn of(number: u64) -> Self {
        Self(number.to_le_bytes()[0])
    }

    pub(in crate::host) fn with(self, part: Part) -> Self {
        Self(self.0 | 1 << part as u8)
    }

    pub(in crate::host) const fn has(self, part: Part) -> bool {
        self.0 & 1 << part as u8 != 0
    }

    pub(in crate::host) const fn number(self) -> u64 {
        self.0 as u64
    }

    /// Each of them.
    pub(in crate::host) fn all(self) -> impl Iterator<Item = Part> {
        PARTS.into_iter().filter(move |part| self.has(*part))
    }
}

impl From<Part> for Parts {
    fn from(part: Part) -> Self {
        Self::default().with(part)
    }
}

impl Request {
    /// `None`: a path is too long, or there are too many sockets.
    pub(super) fn encode(&self, process: Process) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(SIZE);
        let mut head = |kind: u8| {
            bytes.push(kind);
            bytes.extend(process.pid.to_le_bytes());
            bytes.extend(process.inode.to_le_bytes());
        };
        match self {
            Self::Open(Parts(parts)) => {
                head(b'o');
                bytes.push(*parts);
            }
            Self::Find(at) | Self::Read(at, _) => {
                head(if matches!(self, Self::Find(_)) { b'f' } else { b'r' });
                bytes.push(match at {
                    Place::Mapped(..) => MAPPED,
                    Place::Path(_) => NAMED,
                });
                if let Self::Read(_, ((major, minor), inode)) = self {
                    bytes.extend(major.to_le_bytes());
                    bytes.extend(minor.to_le_bytes());
                    bytes.extend(inode.to_le_bytes());
                }
                match at {
                    Place::Mapped(from, to) => {
                        bytes.extend([*from, *to].map(u64::to_le_bytes).as_flattened());
                    }
                    Place::Path(path) => bytes.extend(path.as_os_str().as_bytes()),
                }
            }
            Self::Connect(path) => {
                head(b'c');
                bytes.extend(path.as_os_str().as_bytes());
            }
            Self::Holds(sockets) => {
                head(b's');
                let sockets = sockets.get(..).filter(|all| all.len() <= SOCKETS)?;
                sockets.iter().for_each(|inode| bytes.extend(inode.to_le_bytes()));
            }
            Self::HoldsFile(device, inode) => {
                head(b'h');
                bytes.extend([*device, *inode].map(u64::to_le_bytes).as_flattened());
            }
        }
        (bytes.len() <= SIZE).then_some(bytes)
    }

    /// What a message asks for: one request, or some for files of /proc. `None`: it is none.
    pub(super) fn decode_all(bytes: &[u8]) -> Option<Vec<(Process, Self)>> {
        if bytes.first() != Some(&b'o') {
            return Some(vec![Self::decode(bytes)?]);
        }
        let (all, []) = bytes.as_chunks::<OPEN>() else { return None };
        let files: u32 = all.iter().map(|one| one[OPEN - 1].count_ones()).sum();
        if all.len() > OPENS || files as usize > PASSED || all.iter().any(|one| one[0] != b'o') {
            return None;
        }
        all.iter().map(|one| Self::decode(one)).collect()
    }

    /// `None`: it is no request.
    fn decode(bytes: &[u8]) -> Option<(Process, Self)> {
        let mut rest = Rest(bytes);
        let kind = rest.u8()?;
        let process = Process { pid: rest.u32()?, inode: rest.u64()? };
        let request = match kind {
            b'o' => Self::Open(Parts(rest.u8()?)),
            b'f' => {
                let place = rest.u8()?;
                Self::Find(rest.place(place)?)
            }
            b'r' => {
                let place = rest.u8()?;
                let file = ((rest.u32()?, rest.u32()?), rest.u64()?);
                Self::Read(rest.place(place)?, file)
            }
            b'c' => Self::Connect(rest.path()?),
            b's' => {
                let (inodes, []) = std::mem::take(&mut rest.0).as_chunks() else { return None };
                let inodes: Vec<_> =
                    inodes.iter().map(|inode| u64::from_le_bytes(*inode)).collect();
                Self::Holds(Some(inodes).filter(|all| all.len() <= SOCKETS)?)
            }
            b'h' => Self::HoldsFile(rest.u64()?, rest.u64()?),
            _ => return None,
        };
        rest.0.is_empty().then_some((process, request))
    }
}

/// What is left of a message.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn place(&mut self, kind: u8) -> Option<Place> {
        match kind {
            MAPPED => Some(Place::Mapped(self.u64()?, self.u64()?)),
            NAMED => self.path().map(Place::Path),
            _ => None,
        }
    }

    fn path(&mut self) -> Option<PathBuf> {
        let path = std::mem::take(&mut self.0);
        let path = Some(path).filter(|path| path.len() <= PATH && !path.contains(&0))?;
        let path = PathBuf::from(std::ffi::OsString::from_vec(path.to_vec()));
        Path::is_absolute(&path).then_some(path)
    }
}

/// The answer to a request: a number, and what was opened.
pub(super) type Answer = Result<(u64, Vec<OwnedFd>), Errno>;

/// Sends an answer without waiting.
pub(super) fn answer(socket: BorrowedFd<'_>, answer: &Answer) -> Result<(), Errno> {
    let (error, number, passed) = match answer {
        Ok((number, passed)) => (0, *number, passed.iter().map(AsFd::as_fd).collect()),
        Err(error) => (error.raw_os_error(), 0, Vec::new()),
    };
    let bytes = [&error.to_le_bytes()[..], &number.to_le_bytes()].concat();
    send_with(socket, &bytes, &passed)
}

/// Reads an answer; `None`: the opener has ended, or it is none.
pub(super) fn answered(bytes: &[u8], passed: Vec<OwnedFd>) -> Option<Answer> {
    let mut rest = Rest(bytes);
    let (error, number) = (rest.u32()?.cast_signed(), rest.u64()?);
    Some(if error == 0 { Ok((number, passed)) } else { Err(Errno::from_raw_os_error(error)) })
}

/// Receives a message without waiting; empty: the other side has ended.
pub(super) fn receive(socket: BorrowedFd<'_>) -> Result<(Vec<u8>, Vec<OwnedFd>), Errno> {
    // One byte more than a request has: a longer one is none.
    let mut bytes = vec![0; SIZE + 1];
    let (received, passed) = receive_with(socket, &mut bytes)?;
    bytes.truncate(received);
    Ok((bytes, passed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_they_were_written() {
        let process = Process { pid: 4711, inode: 1 << 40 };
        let path = || PathBuf::from("/tmp/data_shop/1");
        let all = [
            Request::Open(Part::Memory.into()),
            Request::Open(Parts::from(Part::Maps).with(Part::Root)),
            Request::Find(Place::Mapped(1, u64::MAX)),
            Request::Find(Place::Path(path())),
            Request::Read(Place::Path(path()), ((8, 1), 99)),
            Request::Read(Place::Mapped(4096, 8192), ((0, 26), 5)),
            Request::Connect(path()),
            Request::Holds(vec![1, 2, 3]),
            Request::Holds(Vec::new()),
            Request::HoldsFile(26, 5),
        ];
        for request in all {
            let bytes = request.encode(process).unwrap();
            assert_eq!(Request::decode(&bytes), Some((process, request.clone())));
            // Cut anywhere it is another one at most, and nothing is read behind its end.
            for end in 0..bytes.len() {
                assert_ne!(Request::decode(&bytes[..end]), Some((process, request.clone())));
            }
        }
        assert_eq!(Request::Holds(vec![0; SOCKETS + 1]).encode(process), None);
        assert_eq!(Request::Connect(PathBuf::from("a".repeat(2 * SIZE))).encode(process), None);
        for wrong in ["relative/path", "/with\0nul", ""] {
            let bytes = Request::Connect(PathBuf::from(wrong)).encode(process).unwrap();
            assert_eq!(Request::decode(&bytes), None, "{wrong:?}");
        }
        for part in PARTS {
            assert_eq!(Part::of(part.name()), Some(part));
        }
        assert_eq!(Part::of("stat"), None);
        let open = |parts, count| {
            let one = Request::Open(Parts::of(parts)).encode(process).unwrap();
            Request::decode_all(&one.repeat(count)).map(|all| all.len())
        };
        assert_eq!((open(1, 1), open(0b111, OPENS), open(1, OPENS + 1)), (Some(1), Some(8), None));
        assert_eq!((open(0b1111, 6), open(0b1111, 7)), (Some(6), None), "as many as are passed");
    }
}
