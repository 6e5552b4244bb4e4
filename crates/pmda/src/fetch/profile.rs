//! A context's profile (`pmProfile`): the instances that its fetches select.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::slice;

use pcp_sys as sys;

use crate::ids::InDom;

/// The profile of the fetching context; by default all instances.
#[derive(Clone, Copy, Debug)]
pub struct Profile<'a>(Option<&'a sys::pmProfile>);

impl<'a> Profile<'a> {
    /// All instances of all domains.
    pub(crate) const ALL: Self = Self(None);

    /// The profile that pmcd sent last for this context.
    ///
    /// # Safety
    /// `profile` must be null or libpcp_pmda's decoded profile, unchanged for `'a`.
    pub(crate) const unsafe fn new(profile: *const sys::pmProfile) -> Self {
        // SAFETY: as the caller promises.
        Self(unsafe { profile.as_ref() })
    }

    /// Whether all instances of all domains are selected.
    #[must_use]
    pub const fn is_all(self) -> bool {
        self.0.is_none()
    }

    /// A domain's list: with `true` the instances to leave out, else the only ones to include.
    fn of(self, indom: InDom) -> (bool, &'a [c_int]) {
        let all = |state: c_int| state == sys::PM_PROFILE_INCLUDE.cast_signed();
        let Some(profile) = self.0 else { return (true, &[]) };
        // SAFETY: a decoded profile has profile_len entries.
        let domains = unsafe { array(profile.profile, profile.profile_len) };
        match domains.iter().find(|d| d.indom == indom.0) {
            None => (all(profile.state), &[]),
            // SAFETY: an entry has instances_len instances.
            Some(d) => (all(d.state), unsafe { array(d.instances, d.instances_len) }),
        }
    }

    /// Whether an instance that comes later is selected.
    #[must_use]
    pub fn includes_new(self, indom: InDom) -> bool {
        self.of(indom).0
    }

    /// The selection for one instance domain. The profile's list is sorted once.
    #[must_use]
    pub fn wanted<T>(self, indom: InDom, instances: &BTreeMap<u32, T>) -> Wanted {
        let (all, some) = self.of(indom);
        if all && some.is_empty() {
            return Wanted::All;
        }
        let mut some: Vec<u32> = some.iter().map(|i| i.cast_unsigned()).collect();
        some.sort_unstable();
        some.dedup();
        Wanted::These(if all {
            instances.keys().copied().filter(|inst| some.binary_search(inst).is_err()).collect()
        } else {
            some.retain(|inst| instances.contains_key(inst));
            some
        })
    }

    /// The selected ones among `instances`.
    #[must_use]
    pub fn select(self, indom: InDom, mut instances: Vec<u32>) -> Vec<u32> {
        let (all, some) = self.of(indom);
        instances.retain(|inst| some.contains(&inst.cast_signed()) != all);
        instances
    }
}

/// The instances of one domain that a fetch selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All instances.
    All,
    /// These existing instances, in ascending order.
    These(Vec<u32>),
}

impl Wanted {
    /// How many of `instances` are visited.
    #[must_use]
    pub fn count<T>(&self, instances: &BTreeMap<u32, T>) -> usize {
        match self {
            Self::All => instances.len(),
            Self::These(these) => these.len(),
        }
    }

    /// Calls `f` for each selected instance, in ascending order, until `f` returns `false`.
    pub fn visit<'t, T>(
        &self,
        instances: &'t BTreeMap<u32, T>,
        mut f: impl FnMut(u32, &'t T) -> bool,
    ) {
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

    #[test]
    fn only_instances_of_the_profile_are_visited() {
        let instances: BTreeMap<u32, ()> = [1, 5, 9].map(|i| (i, ())).into();
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
            profile.wanted(InDom(indom), &instances).visit(&instances, |i, ()| {
                seen.push(i);
                true
            });
            assert_eq!(seen, profile.select(InDom(indom), vec![1, 5, 9]));
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
        profile.wanted(InDom(77), &instances).visit(&instances, |i, ()| {
            all.push(i);
            i < 5
        });
        assert_eq!(all, [1, 5], "until the visitor ends it");
    }
}
