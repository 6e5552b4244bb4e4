//! A client's choice of instances (`pmProfile`).

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::slice;
use std::sync::Arc;

use crate::pcp::sys;

/// The profile of the context that a fetch is for; by default all instances.
#[derive(Clone, Copy, Debug)]
pub(in crate::pcp) struct Profile<'a>(Option<&'a sys::pmProfile>);

impl<'a> Profile<'a> {
    /// What pmcd sent last for this context.
    ///
    /// # Safety
    /// `profile` must be null or libpcp_pmda's decoded profile, unchanged for `'a`.
    pub(in crate::pcp) const unsafe fn new(profile: *const sys::pmProfile) -> Self {
        // SAFETY: as the caller promises.
        Self(unsafe { profile.as_ref() })
    }

    /// No instance of any domain is left out.
    pub(super) const fn is_all(self) -> bool {
        self.0.is_none()
    }

    /// Whether all but some instances of a domain are wanted, and which those some are (else: only
    /// they).
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

    /// Which of the instances of a domain are wanted: the lists are sorted once, and looked into by
    /// halves.
    pub(super) fn wanted<T>(
        self,
        indom: sys::pmInDom,
        instances: Option<&BTreeMap<u32, Arc<T>>>,
    ) -> Wanted {
        let (all, some) = self.of(indom);
        if all && some.is_empty() {
            return Wanted::All;
        }
        let mut some: Vec<u32> = some.iter().map(|i| i.cast_unsigned()).collect();
        some.sort_unstable();
        some.dedup();
        let Some(instances) = instances else { return Wanted::These(Vec::new()) };
        Wanted::These(if all {
            instances.keys().copied().filter(|inst| some.binary_search(inst).is_err()).collect()
        } else {
            some.retain(|inst| instances.contains_key(inst));
            some
        })
    }
}

/// The instances of one domain that a fetch asks for.
#[derive(Debug)]
pub(super) enum Wanted {
    /// All that there are.
    All,
    /// Some that there are, in the order of their numbers.
    These(Vec<u32>),
}

impl Wanted {
    /// Calls `f` for each instance that is wanted, in the order of their numbers, until it says
    /// `false`.
    pub(super) fn visit<'t, T>(
        &self,
        instances: Option<&'t BTreeMap<u32, Arc<T>>>,
        mut f: impl FnMut(u32, &'t T) -> bool,
    ) {
        let Some(instances) = instances else { return };
        match self {
            Self::All => drop(instances.iter().all(|(inst, of)| f(*inst, of))),
            Self::These(these) => {
                let mut wanted = these.iter().filter_map(|inst| instances.get_key_value(inst));
                let _ = wanted.all(|(inst, of)| f(*inst, of));
            }
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
    use super::*;
    use crate::catalogue::testkit;
    use crate::pcp::state::Instances;
    use crate::store::{Limits, Store};

    #[test]
    fn only_what_the_profile_asks_for_is_visited() {
        let store = Store::new(testkit::catalogue(), 400, Limits::default(), 1 << 20);
        let peer = store
            .restore_peer(testkit::TOY, "x:1", std::time::Duration::ZERO, std::time::Duration::ZERO)
            .expect("room");
        let instances: Instances = [1, 5, 9].map(|i| (i, peer.clone())).into();
        let seen = |state: u32, list: &mut [c_int], default: u32, indom| {
            let mut domain = sys::pmInDomProfile {
                indom: 77,
                state: state.cast_signed(),
                instances_len: c_int::try_from(list.len()).unwrap_or(0),
                instances: list.as_mut_ptr(),
            };
            let profile = sys::pmProfile {
                state: default.cast_signed(),
                profile_len: 1,
                profile: &raw mut domain,
            };
            let mut seen = Vec::new();
            // SAFETY: the profile and what it points to live until the end of this closure.
            let profile = unsafe { Profile::new(&raw const profile) };
            profile.wanted(indom, Some(&instances)).visit(Some(&instances), |i, _| {
                seen.push(i);
                true
            });
            seen
        };
        let (include, exclude) = (sys::PM_PROFILE_INCLUDE, sys::PM_PROFILE_EXCLUDE);
        assert_eq!(seen(exclude, &mut [9, 1, 4, 1], include, 77), [1, 9]);
        assert_eq!(seen(include, &mut [9, 4], include, 77), [1, 5]);
        assert_eq!(seen(include, &mut [], exclude, 78), [0; 0]);
        assert_eq!(seen(exclude, &mut [1], include, 78), [1, 5, 9]);
        let mut all = Vec::new();
        // SAFETY: null is allowed.
        let profile = unsafe { Profile::new(std::ptr::null()) };
        profile.wanted(77, Some(&instances)).visit(Some(&instances), |i, _| {
            all.push(i);
            i < 5
        });
        assert_eq!(all, [1, 5], "until it is told to stop");
    }
}
