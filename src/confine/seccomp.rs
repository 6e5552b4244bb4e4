//! The lists as filters of system calls.

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter, apply_filter_all_threads,
};

use super::Kind;
use super::lists::{self, List, When};

/// The list holds for all threads of this process from now on, and for those and the programs that they start.
///
/// # Errors
/// The kernel refuses.
pub(super) fn confine_process(kind: Kind) -> Result<(), String> {
    let filter = filter(list(kind)).map_err(|e| e.to_string())?;
    apply_filter_all_threads(&filter).map_err(|e| e.to_string())
}

/// The list holds for this thread from now on, beside what holds already.
///
/// # Errors
/// The kernel refuses.
pub(super) fn confine_thread(kind: Kind) -> Result<(), String> {
    let filter = filter(list(kind)).map_err(|e| e.to_string())?;
    apply_filter(&filter).map_err(|e| e.to_string())
}

/// The lists, a line `KIND CALL` for each call.
#[must_use]
pub fn print() -> String {
    let line = |list: &List, name: &str| {
        format!("{} {}\n", list.name, name.strip_prefix("SYS_").unwrap_or(name))
    };
    lists::ALL.iter().flat_map(|list| list.names().map(|name| line(list, name))).collect()
}

const fn list(kind: Kind) -> &'static List {
    match kind {
        Kind::Process => &lists::PROCESS,
        Kind::Worker => &lists::WORKER,
        Kind::Files => &lists::FILES,
        Kind::Guard => &lists::GUARD,
        Kind::Opener => &lists::OPENER,
    }
}

fn filter(list: &List) -> Result<BpfProgram, BackendError> {
    let always = list.calls.iter().copied().flatten().map(|(_, number)| (*number, Vec::new()));
    let mut rules: std::collections::BTreeMap<_, _> = always.collect();
    for ((_, number), argument, when) in list.narrow.iter().copied().flatten() {
        rules.insert(*number, narrow(*argument, *when)?);
    }
    let refused = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)?.try_into()
}

fn narrow(argument: u8, when: When) -> Result<Vec<SeccompRule>, BackendError> {
    use SeccompCmpArgLen::{Dword, Qword};
    use SeccompCmpOp::{Eq, MaskedEq};
    let rule = |width, how, value| {
        SeccompRule::new(vec![SeccompCondition::new(argument, width, how, value)?])
    };
    match when {
        When::Without(bits) => Ok(vec![rule(Qword, MaskedEq(bits), 0)?]),
        When::Null => Ok(vec![rule(Qword, Eq, 0)?]),
        When::Own => Ok(vec![rule(Dword, Eq, u64::from(std::process::id()))?]),
        // Of an int the kernel takes the lower half only.
        When::OneOf(values) => values.iter().map(|value| rule(Dword, Eq, *value)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::lists::ALL;
    use super::*;

    #[test]
    fn every_list_is_a_filter() {
        for list in ALL {
            let filter = filter(list).unwrap();
            assert!((50..4_096).contains(&filter.len()), "{} {}", list.name, filter.len());
        }
    }
}
