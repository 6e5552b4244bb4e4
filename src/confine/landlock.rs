//! Landlock: what a thread may not reach whatever it calls.
//!
//! It is for threads and processes that look at no other process only: a thread that Landlock restricts may not look
//! into processes outside of it (`/proc/PID/root`, `exe`, `mem`, `fd`), not even as root.

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

/// Rights as of this version of the interface are known here. A kernel with an older one refuses what it knows.
const KNOWN: ABI = ABI::V6;

/// From now on this thread, and those that it starts, opens and makes no file, connects and binds no TCP socket, and
/// reaches no process by a signal or an abstract socket. What is open stays open. Returns the kernel's version.
///
/// # Errors
/// The kernel has none, or its reason.
pub(super) fn nothing() -> Result<i32, String> {
    restrict(Ok)
}

/// The same, but files and directories are read.
///
/// # Errors
/// As [`nothing`].
pub(super) fn to_read() -> Result<i32, String> {
    restrict(|ruleset| {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        ruleset.add_rules(path_beneath_rules(["/"], read))
    })
}

fn restrict(
    rules: impl FnOnce(RulesetCreated) -> Result<RulesetCreated, RulesetError>,
) -> Result<i32, String> {
    let ruleset = || -> Result<_, RulesetError> {
        let created = Ruleset::default()
            .handle_access(AccessFs::from_all(KNOWN))?
            .handle_access(AccessNet::from_all(KNOWN))?
            .scope(Scope::from_all(KNOWN))?
            .create()?;
        rules(created)?.restrict_self()
    };
    let status = ruleset().map_err(|e| e.to_string())?;
    match status.landlock {
        LandlockStatus::NotImplemented => Err("the kernel has none".to_owned()),
        LandlockStatus::NotEnabled => Err("it is off in the kernel (lsm=)".to_owned()),
        LandlockStatus::Available { effective_abi, kernel_abi } => match status.ruleset {
            RulesetStatus::NotEnforced => Err("the kernel does not enforce it".to_owned()),
            _ => Ok(kernel_abi.unwrap_or(effective_abi as i32)),
        },
    }
}
