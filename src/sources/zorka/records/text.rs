//! Texts of peers in parameters: whole characters, bounded, addresses without secrets.

use std::fmt::Write;

use crate::model::cut;

/// Appends bytes as text, at most `max` bytes of it; those that are not UTF-8 become U+FFFD.
pub(super) fn push(to: &mut String, bytes: &[u8], max: usize) {
    let end = to.len() + max;
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        let room = end.saturating_sub(to.len());
        let kept = cut(valid, room);
        to.push_str(kept);
        if kept.len() < valid.len() {
            return;
        }
        if !chunk.invalid().is_empty() {
            if to.len() + char::REPLACEMENT_CHARACTER.len_utf8() > end {
                return;
            }
            to.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// 16 hexadecimal digits.
pub(super) fn push_id(to: &mut String, id: u64) {
    let _ = write!(to, "{id:016x}");
}

/// The parts of an address without its secrets: user and password, and all from the first `?`, `;`
/// or `#` on. `jdbc:oracle:thin:scott/tiger@host` has them too.
pub(super) fn public(url: &[u8]) -> [&[u8]; 2] {
    let end = memchr::memchr3(b'?', b';', b'#', url).unwrap_or(url.len());
    let url = url.get(..end).unwrap_or_default();
    let scheme = memchr::memmem::find(url, b"://").map(|at| at + 3);
    let is_web = url.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"http"));
    // In an address of the web, an @ may also be part of the path.
    let authority = match scheme {
        Some(start) if is_web => {
            let path = url.iter().skip(start).position(|b| *b == b'/');
            path.map_or(url.len(), |path| start + path)
        }
        None if url.first() == Some(&b'/') => 0,
        _ => url.len(),
    };
    let Some(at) = url.get(..authority).and_then(|part| memchr::memrchr(b'@', part)) else {
        return [url, b""];
    };
    let user = url.get(..at).unwrap_or_default();
    let start = scheme.filter(|start| *start <= at).unwrap_or_else(|| {
        let colons = user.iter().position(|b| *b == b'/').and_then(|slash| user.get(..slash));
        memchr::memrchr(b':', colons.unwrap_or(user)).map_or(0, |colon| colon + 1)
    });
    [url.get(..start).unwrap_or_default(), url.get(at + 1..).unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_characters_and_mended() {
        let pushed = |bytes: &[u8], max| {
            let mut text = "x".to_owned();
            push(&mut text, bytes, max);
            text
        };
        assert_eq!(pushed("aé".as_bytes(), 2), "xa");
        assert_eq!(pushed("aé".as_bytes(), 3), "xaé");
        assert_eq!(pushed(b"a\xffb\xc3", 100), "xa\u{fffd}b\u{fffd}");
        assert_eq!(pushed(b"a\xffb", 3), "xa");
        assert_eq!((pushed(b"", 9), pushed(b"a", 0)), ("x".to_owned(), "x".to_owned()));
        let mut id = String::new();
        push_id(&mut id, 0xab);
        assert_eq!(id, "00000000000000ab");
    }

    #[test]
    fn addresses_have_no_passwords() {
        for (url, shown) in [
            ("http://127.0.0.1:18680/order?q=remote", "http://127.0.0.1:18680/order"),
            ("https://joe:pa:ss@shop/x/@me", "https://shop/x/@me"),
            ("http://shop/@me", "http://shop/@me"),
            ("/order;jsessionid=17", "/order"),
            ("/order/@me#pass", "/order/@me"),
            ("jdbc:h2:mem:shop", "jdbc:h2:mem:shop"),
            ("jdbc:h2:mem:shop;USER=sa;PASSWORD=x", "jdbc:h2:mem:shop"),
            ("jdbc:mysql://db:3306/shop?user=a&password=b", "jdbc:mysql://db:3306/shop"),
            ("jdbc:mysql://a:b/c@db/shop", "jdbc:mysql://db/shop"),
            ("jdbc:oracle:thin:scott/tiger@db:1521:orcl", "jdbc:oracle:thin:db:1521:orcl"),
            ("jdbc:oracle:thin:scott/ti:ger@//db/x", "jdbc:oracle:thin://db/x"),
            ("mongodb://u:p@ss@h1,h2/db", "mongodb://h1,h2/db"),
            ("joe:secret@host", "joe:host"),
            ("HTTP://a@b", "HTTP://b"),
            ("@", ""),
            ("", ""),
        ] {
            assert_eq!(public(url.as_bytes()).concat(), shown.as_bytes(), "{url}");
        }
    }
}
