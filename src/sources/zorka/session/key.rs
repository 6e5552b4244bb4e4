//! Ids and keys of agents and sessions.
//!
//! The ids of a registered agent are hashes of its names and of the registration key: an agent
//! keeps them for ever, and a collector without its state file gives the same ones. They are no
//! secret to those who know the registration key.

use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};

/// 128 bits of some texts. The function must never change: agents keep what is made from it.
fn mix(texts: &[&str], salt: u64) -> [u64; 2] {
    // FNV-1a, twice, with the finisher of splitmix64.
    let fnv = |mut hash: u64| {
        for byte in texts.iter().flat_map(|text| text.bytes().chain([0xff])) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ hash >> 31
    };
    [fnv(0xcbf2_9ce4_8422_2325 ^ salt), fnv(0x9e37_79b9_7f4a_7c15 ^ salt)]
}

/// A number for some texts, as 1.90.6 wants it: 1 to 2^31 - 2.
pub(crate) fn number(texts: &[&str]) -> u64 {
    mix(texts, 1)[0] % 0x7fff_fffe + 1
}

/// A UUID for some texts.
pub(crate) fn uuid(texts: &[&str]) -> String {
    format_uuid(mix(texts, 2))
}

/// 16 capital letters for some texts.
pub(crate) fn letters(texts: &[&str]) -> String {
    let letter = |bits: u64| char::from(b'A' + (bits % 26).to_le_bytes()[0]);
    mix(texts, 3).iter().flat_map(|bits| (0..8).map(move |n| letter(bits >> (8 * n)))).collect()
}

fn format_uuid([high, low]: [u64; 2]) -> String {
    let hex = format!("{high:016x}{low:016x}");
    let mut uuid = String::with_capacity(36);
    for (n, digit) in hex.chars().enumerate() {
        if matches!(n, 8 | 12 | 16 | 20) {
            uuid.push('-');
        }
        uuid.push(digit);
    }
    uuid
}

/// Makes session ids that nobody can guess.
#[derive(Debug, Default)]
pub(crate) struct SessionIds {
    secrets: [RandomState; 2],
    made: u64,
}

impl SessionIds {
    pub(crate) fn next(&mut self) -> String {
        self.made += 1;
        format_uuid(
            [0, 1]
                .map(|n: usize| self.secrets.get(n).map_or(0, |secret| secret.hash_one(self.made))),
        )
    }
}

/// `text` with `_` for blanks and control characters, cut at a character to `max` bytes.
pub(crate) fn clean(text: &str, max: usize) -> String {
    let mut out = String::new();
    for c in text.trim().chars() {
        let c = if c.is_whitespace() || c.is_control() { '_' } else { c };
        if out.len() + c.len_utf8() > max {
            break;
        }
        out.push(c);
    }
    out
}

/// A text of 1 to `max` visible ASCII characters.
pub(crate) fn visible(bytes: &[u8], max: usize) -> Option<&str> {
    let fits = (1..=max).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
    fits.then(|| std::str::from_utf8(bytes).ok()).flatten()
}

/// The first digits of an id, to tell instances of one name apart.
pub(crate) fn digits(id: &str) -> String {
    let mut out = String::new();
    let _ = write!(out, "{:.8}", id.replace('-', ""));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_what_they_are() {
        let texts = ["zorka", "web1", "DSC", "TST"];
        assert_eq!(number(&texts), 1_639_509_762);
        assert_eq!(uuid(&texts), "ae4357ac-ddc2-17cc-01ca-fd31529e7710");
        assert_eq!(letters(&texts), "SJUJNCSNLSJXBBET");
        assert_ne!(number(&["ab", "c"]), number(&["a", "bc"]));
    }

    #[test]
    fn session_ids_differ() {
        let mut ids = SessionIds::default();
        let (a, b) = (ids.next(), ids.next());
        assert!(a != b && a.len() == 36 && visible(a.as_bytes(), 36).is_some());
        assert_eq!(digits("12345678-9abc"), "12345678");
        assert_eq!(clean(" a b\u{7}\u{e9}", 5), "a_b_");
        assert_eq!((visible(b"", 4), visible(b"a b", 4), visible(b"abc", 2)), (None, None, None));
    }
}
