//! Which .NET processes there are and who may read them, without I/O: texts of /proc, names of
//! sockets, and the words for those that cannot be read
//! (docs/protocols/dotnet.md 1).

mod access;
mod names;
mod proc_text;

pub(crate) use access::{Advice, Look, Socket, access};
pub(crate) use names::{parse_socket_name, program_name, socket_name};
pub(crate) use proc_text::{command_line, tmpdir};
