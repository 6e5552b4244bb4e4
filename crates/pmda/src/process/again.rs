//! A second process of this program.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Descriptors from here on are not those of standard input, output and errors.
const FIRST: libc::c_uint = 3;

/// Starts this program again with these arguments. It has `input` as standard input and no other descriptor of this
/// process, and it is in a session of its own: what is sent to this process's group does not reach it. What asks a whole
/// service to end (SIGTERM, SIGINT, SIGHUP) is ignored: this process ends first, and then it.
///
/// # Errors
/// No process can be started.
pub fn start_again<'a>(
    arguments: impl IntoIterator<Item = &'a str>,
    input: OwnedFd,
) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0(std::env::args_os().next().unwrap_or_else(|| OsString::from("pmdaapm")));
    command.args(arguments).stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: what runs between fork and exec makes system calls, and neither allocates nor locks.
    unsafe { command.pre_exec(apart) };
    command.spawn()
}

/// A session of its own, and neither these signals nor a descriptor that survives exec but the three.
fn apart() -> io::Result<()> {
    rustix::process::setsid()?;
    for asks in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        // SAFETY: signal(2) with SIG_IGN, which exec keeps, installs no function.
        unsafe { libc::signal(asks, libc::SIG_IGN) };
    }
    // SAFETY: close_range(2) with CLOEXEC closes nothing now. A kernel that does not know it says so.
    unsafe {
        libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    const WAITS: &str = "what_is_started_waits";

    /// The tests of that name are what is started: this program is a test program.
    #[test]
    fn what_is_started_waits() {
        if std::env::args().nth(1).as_deref() == Some(WAITS) {
            io::stdin().read_to_end(&mut Vec::new()).expect("a pipe");
        }
    }

    #[test]
    fn it_is_apart_with_one_descriptor_of_ours_and_outlives_what_asks_to_end() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let (_other, passed) = io::pipe().expect("a pipe");
        // One that a library has opened without CLOEXEC.
        rustix::io::fcntl_setfd(&passed, rustix::io::FdFlags::empty()).expect("ours");
        let mut child = start_again([WAITS], reader.into()).expect("it starts");
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", child.id()));
        let files = std::fs::read_dir(format!("/proc/{}/fd", child.id())).expect("it waits");
        let names = files.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
        let pipes = names.filter(|name| name.to_string_lossy().starts_with("pipe:")).count();
        assert_eq!(pipes, 1, "its input, and not what was open");
        let status = read("status").expect("it waits");
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("Linux");
        let ignored = u64::from_str_radix(ignored.trim(), 16).expect("a mask");
        assert_eq!(ignored & 0x4003, 0x4003, "SIGHUP, SIGINT, SIGTERM");
        let stat = read("stat").expect("it waits");
        let session = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(3));
        assert_eq!(session, Some(child.id().to_string().as_str()));
        drop(writer);
        assert!(child.wait().expect("ours").success());
    }
}
