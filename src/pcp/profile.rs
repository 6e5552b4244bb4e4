//! A client's choice of instances (`pmProfile`).

use super::sys;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::slice;
use std::sync::Arc;

/// The profile of the context that a fetch is for; by default all instances.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile<'a>(Option<&'a sys::pmProfile>);

impl<'a> Profile<'a> {
    /// What pmcd sent last for this context.
    ///
    /// # Safety
    /// `profile` must be null or libpcp_pmda's decoded profile, unchanged for `'a`.
    pub(super) const unsafe fn new(profile: *const sys::pmProfile) -> Self {
        // SAFETY: as the caller promises.
        Self(unsafe { profile.as_ref() })
    }

    /// Whether all but some instances of a domain are wanted, and which those some are (else: only they).
    fn of(self, indom: sys::pmInDom) -> (bool, &'a [c_int]) {
        let all = |state: c_int| state == sys::PM_PROFILE_INCLUDE.cast_signed();
        let Some(profile) = self.0 else { return (true, &[]) };
        // SAFETY: a decoded profile has profile_len entries.
        let domains = unsafe { array(profile.profile, profile.profile_len) };
        match domains.iter().find(|d| d.indom == indom) {
            None => (all(profile.state), &[]),
            // SAFETY: an entry has instances_len instances.
            Some(d) => (all(d.state), unsafe { array(d.instances, d.instances_len) }),
        }
    }

    /// Calls `f` for each instance that is wanted, in the order of their numbers.
    pub(super) fn visit<T>(self, indom: sys::pmInDom, instances: Option<&BTreeMap<u32, Arc<T>>>, mut f: impl FnMut(u32, &T)) {
        let Some(instances) = instances else { return };
        let (all, some) = self.of(indom);
        if all {
            let wanted = instances.iter().filter(|(inst, _)| !some.contains(&inst.cast_signed()));
            wanted.for_each(|(inst, peer)| f(*inst, peer));
        } else {
            let mut some: Vec<u32> = some.iter().map(|i| i.cast_unsigned()).collect();
            some.sort_unstable();
            some.dedup();
            some.iter().filter_map(|i| instances.get_key_value(i)).for_each(|(inst, peer)| f(*inst, peer));
        }
    }
}

/// # Safety
/// `first` must be null, or point to `count` elements that live and do not change for `'a`.
unsafe fn array<'a, T>(first: *const T, count: c_int) -> &'a [T] {
    match usize::try_from(count) {
        // SAFETY: as the caller promises.
        Ok(n) if n > 0 && !first.is_null() => unsafe { slice::from_raw_parts(first, n) },
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::Instances;
    use super::*;
    use crate::store::{Limits, Store};

    #[test]
    fn only_what_the_profile_asks_for_is_visited() {
        let store = Store::new(400, Limits::default(), 1 << 20);
        let peer = store.restore_peer(0, "x:1", std::time::Duration::ZERO).expect("room");
        let instances: Instances = [1, 5, 9].map(|i| (i, peer.clone())).into();
        let seen = |state: u32, list: &mut [c_int], default: u32, indom| {
            let mut domain = sys::pmInDomProfile {
                indom: 77,
                state: state.cast_signed(),
                instances_len: c_int::try_from(list.len()).unwrap_or(0),
                instances: list.as_mut_ptr(),
            };
            let profile = sys::pmProfile { state: default.cast_signed(), profile_len: 1, profile: &raw mut domain };
            let mut seen = Vec::new();
            // SAFETY: the profile and what it points to live until the end of this closure.
            unsafe { Profile::new(&raw const profile) }.visit(indom, Some(&instances), |i, _| seen.push(i));
            seen
        };
        let (include, exclude) = (sys::PM_PROFILE_INCLUDE, sys::PM_PROFILE_EXCLUDE);
        assert_eq!(seen(exclude, &mut [9, 1, 4, 1], include, 77), [1, 9]);
        assert_eq!(seen(include, &mut [9, 4], include, 77), [1, 5]);
        assert_eq!(seen(include, &mut [], exclude, 78), [0; 0]);
        assert_eq!(seen(exclude, &mut [1], include, 78), [1, 5, 9]);
        let mut all = Vec::new();
        // SAFETY: null is allowed.
        unsafe { Profile::new(std::ptr::null()) }.visit(77, Some(&instances), |i, _| all.push(i));
        assert_eq!(all, [1, 5, 9]);
    }
}
