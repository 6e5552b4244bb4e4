//! Form bodies `host=...&data=...` of the public note (docs/protocols/zorka.md 3.5).

/// The fields that have the body.
const DATA: [&str; 3] = ["data", "zdata", "ldata"];

/// Longest name of a field.
const NAME: usize = 32;

/// The value of a field; `None`: there is no such field, or the body is no form. A blank is a plus
/// sign, because values are base64.
#[must_use]
pub fn field(body: &[u8], name: &str) -> Option<Vec<u8>> {
    let end = body.iter().take(NAME).position(|byte| *byte == b'=')?;
    let first = body.get(..end)?;
    if !first.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return None;
    }
    let mut fields = body.split(|byte| *byte == b'&');
    fields.find_map(|field| field.strip_prefix(name.as_bytes())?.strip_prefix(b"=")).map(decode)
}

/// The value of the field that has the body.
pub(super) fn data(body: &[u8]) -> Option<Vec<u8>> {
    DATA.iter().find_map(|name| field(body, name))
}

/// Undoes `%XX`.
fn decode(value: &[u8]) -> Vec<u8> {
    let digit = |at: usize| value.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(value.len());
    let mut at = 0;
    while let Some(byte) = value.get(at) {
        let byte = match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                at += 2;
                u8::try_from(high << 4 | low).unwrap_or_default()
            }
            (b' ', ..) => b'+',
            _ => *byte,
        };
        decoded.push(byte);
        at += 1;
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_and_decoded() {
        let body = b"host=a%20b&zdata=x%2By z%zz%2";
        assert_eq!(field(body, "host").unwrap(), b"a b");
        assert_eq!(data(body).unwrap(), b"x+y+z%zz%2");
        assert_eq!(field(b"zdata=", "zdata").unwrap(), b"");
        assert_eq!(field(body, "data"), None);
        assert_eq!(data(b"host=x"), None);
        assert_eq!(data(b"\xc1\x82=&data=1"), None);
        assert_eq!(data(b""), None);
    }
}
