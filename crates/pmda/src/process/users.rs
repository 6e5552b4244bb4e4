//! Look-ups in the user and group databases of this host: files, LDAP, SSSD.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::MaybeUninit;

/// Bytes for the strings of one entry; a larger entry counts as unknown.
const ENTRY_BYTES: usize = 64 << 10;
/// Most groups of a user that are read.
const GROUPS_MAX: usize = 1024;

/// User id of a user name; `None` if this host does not know the name.
#[must_use]
pub fn user_id(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    user(|entry, buffer, length, found| {
        // SAFETY: getpwnam_r(3): `name` is a C string, `entry`, `buffer` of `length` bytes and
        // `found` are writable.
        unsafe { libc::getpwnam_r(name.as_ptr(), entry, buffer, length, found) }
    })
    .map(|user| user.id)
}

/// Name of a user id; `None` if this host does not know the id.
#[must_use]
pub fn user_name(id: u32) -> Option<String> {
    Some(user_of(id)?.name.to_string_lossy().into_owned())
}

/// Group id of a group name; `None` if this host does not know the name.
#[must_use]
pub fn group_id(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    group(|entry, buffer, length, found| {
        // SAFETY: getgrnam_r(3): as of getpwnam_r in `user_id`.
        unsafe { libc::getgrnam_r(name.as_ptr(), entry, buffer, length, found) }
    })
    .map(|(id, _)| id)
}

/// Name of a group id; `None` if this host does not know the id.
#[must_use]
pub fn group_name(id: u32) -> Option<String> {
    let (_, name) = group(|entry, buffer, length, found| {
        // SAFETY: getgrgid_r(3): as of getpwnam_r in `user_id`.
        unsafe { libc::getgrgid_r(id, entry, buffer, length, found) }
    })?;
    Some(name.to_string_lossy().into_owned())
}

/// Primary and supplementary groups of a user id, at most 1024; empty if this host does not know
/// the id.
#[must_use]
pub fn groups_of(id: u32) -> Vec<u32> {
    let Some(user) = user_of(id) else { return Vec::new() };
    let mut groups = vec![0; GROUPS_MAX];
    let mut count = c_int::try_from(groups.len()).unwrap_or_default();
    // SAFETY: getgrouplist(3): `groups` has room for `count` ids; `count` becomes their number.
    unsafe {
        libc::getgrouplist(user.name.as_ptr(), user.group, groups.as_mut_ptr(), &raw mut count)
    };
    groups.truncate(usize::try_from(count).unwrap_or_default());
    groups
}

/// Effective user id of this process, the one that counts for permissions.
#[must_use]
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The fields of `struct passwd` that are used here.
struct User {
    id: u32,
    group: u32,
    name: CString,
}

fn user_of(id: u32) -> Option<User> {
    user(|entry, buffer, length, found| {
        // SAFETY: getpwuid_r(3): as of getpwnam_r in `user_id`.
        unsafe { libc::getpwuid_r(id, entry, buffer, length, found) }
    })
}

/// Runs a look-up of the getpw*_r(3) family.
fn user(
    look_up: impl Fn(*mut libc::passwd, *mut c_char, usize, *mut *mut libc::passwd) -> c_int,
) -> Option<User> {
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let (mut buffer, mut found) = (vec![0; ENTRY_BYTES], std::ptr::null_mut());
    let status = look_up(entry.as_mut_ptr(), buffer.as_mut_ptr(), buffer.len(), &raw mut found);
    if status != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the look-up succeeded, so the entry is filled.
    let entry = unsafe { entry.assume_init() };
    // SAFETY: `pw_name` is a C string in `buffer`.
    let name = unsafe { CStr::from_ptr(entry.pw_name) };
    Some(User { id: entry.pw_uid, group: entry.pw_gid, name: name.to_owned() })
}

/// Runs a look-up of the getgr*_r(3) family: id and name.
fn group(
    look_up: impl Fn(*mut libc::group, *mut c_char, usize, *mut *mut libc::group) -> c_int,
) -> Option<(u32, CString)> {
    let mut entry = MaybeUninit::<libc::group>::uninit();
    let (mut buffer, mut found) = (vec![0; ENTRY_BYTES], std::ptr::null_mut());
    let status = look_up(entry.as_mut_ptr(), buffer.as_mut_ptr(), buffer.len(), &raw mut found);
    if status != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the look-up succeeded, so the entry is filled.
    let entry = unsafe { entry.assume_init() };
    // SAFETY: `gr_name` is a C string in `buffer`.
    let name = unsafe { CStr::from_ptr(entry.gr_name) };
    Some((entry.gr_gid, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_known_both_ways() {
        assert_eq!((user_id("root"), user_name(0).as_deref()), (Some(0), Some("root")));
        assert_eq!((group_id("root"), group_name(0).as_deref()), (Some(0), Some("root")));
        assert!(groups_of(0).contains(&0));
    }

    #[test]
    fn unknown_names_and_ids_are_none() {
        assert_eq!(user_id("no such user").or(group_id("no such group")), None);
        assert_eq!(user_id("a\0b").or(group_id("a\0b")), None);
        assert_eq!(user_name(4_000_000_000).or(group_name(4_000_000_000)), None);
        assert!(groups_of(4_000_000_000).is_empty());
    }
}
