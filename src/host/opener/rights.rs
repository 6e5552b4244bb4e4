//! What is kept of root's rights.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities, set_keep_capabilities,
};

use crate::model::Grants;

/// What requests need: to look at processes of other users, and into folders and files that only these may read.
const READS: CapabilitySet = CapabilitySet::SYS_PTRACE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::CHECKPOINT_RESTORE);
/// To connect to a socket means to write to its file. Nothing else is ever written.
const CONNECTS: CapabilitySet = CapabilitySet::DAC_OVERRIDE;

/// To take the ids of a user.
const BECOMES: CapabilitySet = CapabilitySet::SETUID.union(CapabilitySet::SETGID);

/// Those of these capabilities that this process has.
fn wanted(grants: Grants) -> CapabilitySet {
    let mut wanted = READS;
    wanted.set(CONNECTS, grants.connect);
    wanted.set(BECOMES, grants.others);
    capabilities(None).map_or(CapabilitySet::empty(), |own| own.permitted & wanted)
}

/// This process could see processes of other users.
pub(super) fn has_any() -> bool {
    capabilities(None).is_ok_and(|own| own.permitted.contains(CapabilitySet::SYS_PTRACE))
}

/// Becomes the user and keeps nothing but what requests need.
pub(super) fn keep(user: &str, grants: Grants) -> Result<(), String> {
    let kept = wanted(grants);
    // Those of a bounding set can be had again by a program with rights; it executes none.
    for bit in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if !kept.contains(one) {
            let _ = remove_capability_from_bounding_set(one);
        }
    }
    set_keep_capabilities(true).map_err(|e| format!("no capability can be kept: {e}"))?;
    pmda::process::become_user(user)?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: none };
    set_capabilities(None, sets).map_err(|e| format!("capabilities cannot be set: {e}"))
}

/// Gives up all capabilities of this thread, which is the only one.
///
/// # Errors
/// The kernel refuses it.
pub fn give_up() -> rustix::io::Result<()> {
    let none = CapabilitySet::empty();
    let _ = rustix::thread::clear_ambient_capability_set();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}
