//! Whether a process is one of .NET and can be read, and the words for those that cannot.

use std::path::PathBuf;
use std::sync::Arc;

use crate::sources::dotnet::target::{Access, Via};

/// What a look at a process has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Clock ticks since boot.
    pub start: u64,
    /// Name of the program's file or of the main thread.
    pub comm: Vec<u8>,
    /// Effective user.
    pub uid: u32,
    /// Its socket.
    pub socket: Socket,
    /// Whether it has mapped a .NET runtime; `None`: not looked or not allowed to.
    pub runtime: Option<bool>,
}

impl Look {
    /// Whether this is a process of .NET, whatever its socket.
    fn is_dotnet(&self) -> bool {
        self.runtime == Some(true) || (self.runtime.is_none() && self.comm == b"dotnet")
    }
}

/// The socket of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Socket {
    /// There is one. `open`: this user may connect.
    Present { open: bool },
    /// There is a file of that name, but it is no socket of the process's user or of root.
    Fake { owner: u32 },
    /// There is none.
    Absent,
    /// There is none in our own directories, and those of the process may not be looked into.
    Unknown,
}

/// What to do for processes that cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advice {
    /// Where the PMDA listens.
    pub listen: Option<PathBuf>,
}

impl Advice {
    fn what_to_do(&self) -> String {
        let port = match &self.listen {
            Some(path) => {
                format!(
                    "start the process with DOTNET_DiagnosticPorts={},nosuspend (.NET 5 and later)",
                    path.display()
                )
            }
            None => {
                "set dotnet.listen and start the process with DOTNET_DiagnosticPorts=PATH,nosuspend (.NET 5 and later)"
                    .to_owned()
            }
        };
        format!("run the PMDA as root, or give it CAP_DAC_OVERRIDE and CAP_SYS_PTRACE, or {port}")
    }
}

/// Whether a process can be read; `None`: it is none of .NET, as far as this user can see. `owner`
/// is the name of its user. `before`: it had a socket earlier.
pub(crate) fn access(
    look: &Look,
    owner: impl FnOnce() -> String,
    before: bool,
    advice: &Advice,
) -> Option<Access> {
    let denied =
        |why: String| Some(Access::Denied(Arc::from(format!("{why}: {}", advice.what_to_do()))));
    match look.socket {
        Socket::Present { open: true } => Some(Access::Open(Via::Socket)),
        Socket::Present { open: false } => {
            denied(format!("only its user {} may connect to its socket", owner()))
        }
        // Anybody can make such a file for any process: it does not make the process one of .NET.
        Socket::Fake { owner: other } if before || look.is_dotnet() => {
            Some(Access::Off(Arc::from(format!(
                "the file with the name of its socket is of user {other}, or no socket, and not used"
            ))))
        }
        Socket::Absent if before => Some(Access::Off(Arc::from(
            "its socket was removed, by a cleaner of temporary files perhaps: restart the process",
        ))),
        Socket::Absent if look.runtime == Some(true) => Some(Access::Off(Arc::from(
            "it has no diagnostics socket: DOTNET_EnableDiagnostics=0 or DOTNET_EnableDiagnostics_IPC=0 \
             switches it off, and .NET Framework, Mono and versions before 3.0 have none",
        ))),
        Socket::Unknown if before || look.is_dotnet() => {
            denied(format!("the directories of user {} may not be looked into", owner()))
        }
        Socket::Absent | Socket::Fake { .. } | Socket::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let look =
            |socket, runtime| Look { start: 1, comm: b"dotnet".to_vec(), uid: 33, socket, runtime };
        let advice = Advice { listen: Some(PathBuf::from("/run/x.sock")) };
        let ask = |look: &Look, before| access(look, || "www-data".into(), before, &advice);
        let open = look(Socket::Present { open: true }, None);
        assert_eq!(ask(&open, false), Some(Access::Open(Via::Socket)));
        let Some(Access::Denied(why)) = ask(&look(Socket::Present { open: false }, None), false)
        else {
            panic!("not denied")
        };
        assert_eq!(
            &*why,
            "only its user www-data may connect to its socket: run the PMDA as root, or give it \
             CAP_DAC_OVERRIDE and CAP_SYS_PTRACE, or start the process with \
             DOTNET_DiagnosticPorts=/run/x.sock,nosuspend (.NET 5 and later)"
        );
        assert!(matches!(ask(&look(Socket::Unknown, None), false), Some(Access::Denied(_))));
        let shell = Look { comm: b"sh".to_vec(), ..look(Socket::Unknown, None) };
        assert_eq!(ask(&shell, false), None);
        assert_eq!(ask(&look(Socket::Absent, Some(false)), false), None);
        assert_eq!(ask(&look(Socket::Fake { owner: 1 }, Some(false)), false), None);
        for (socket, runtime, before) in [
            (Socket::Absent, Some(true), false),
            (Socket::Absent, None, true),
            (Socket::Fake { owner: 1 }, None, false),
        ] {
            assert!(matches!(ask(&look(socket, runtime), before), Some(Access::Off(_))));
        }
    }
}
