//! Tokens of TSDL (CTF 1.8, appendix C.1), one at a time.

use crate::error::{DeclarationError, bounded, malformed};
use crate::limits;

/// The kinds of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// Identifier or keyword.
    Name(&'a str),
    /// Integer constant without its sign.
    Integer(u64),
    /// String or character constant, escapes resolved.
    Text(String),
    /// Punctuation.
    Punctuation(&'static str),
    /// The end of the text.
    End,
}

/// A token and its byte offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) word: Word<'a>,
    pub(super) at: usize,
}

/// Longer ones first.
const PUNCTUATION: [&str; 19] = [
    "...", "->", ":=", "[", "]", "(", ")", "{", "}", "*", "+", "-", "<", ">", ":", ";", ".", "=",
    ",",
];

#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
}

fn name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

impl<'a> Lexer<'a> {
    pub(super) const fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next token, or the byte offset of an error.
    pub(super) fn next(&mut self) -> Result<Token<'a>, (usize, DeclarationError)> {
        self.skip_blanks()?;
        let at = self.at;
        let word = self.word().map_err(|fault| (at, fault))?;
        Ok(Token { word, at })
    }

    fn word(&mut self) -> Result<Word<'a>, DeclarationError> {
        let rest = self.rest();
        match rest {
            [] => Ok(Word::End),
            [b'L', b'"' | b'\'', ..] => {
                self.at += 1;
                self.text_constant()
            }
            [b'"' | b'\'', ..] => self.text_constant(),
            [b'0'..=b'9', ..] => self.integer(),
            [b, ..] if name_byte(*b) => {
                let length = rest.iter().position(|b| !name_byte(*b)).unwrap_or(rest.len());
                bounded("length of a name", length as u64, limits::NAME)?;
                self.at += length;
                let name = rest.get(..length).and_then(|name| std::str::from_utf8(name).ok());
                Ok(Word::Name(name.unwrap_or_default()))
            }
            [b, ..] => {
                let Some(mark) = PUNCTUATION.iter().find(|m| rest.starts_with(m.as_bytes())) else {
                    return malformed!("byte {b:#04x} is no part of the language");
                };
                self.at += mark.len();
                Ok(Word::Punctuation(mark))
            }
        }
    }

    fn skip_blanks(&mut self) -> Result<(), (usize, DeclarationError)> {
        loop {
            let rest = self.rest();
            let skipped = match rest {
                [b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c, ..] => 1,
                [b'/', b'/', ..] => rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len()),
                [b'/', b'*', inner @ ..] => match inner.windows(2).position(|w| w == b"*/") {
                    Some(n) => n + 4,
                    None => {
                        return Err((
                            self.at,
                            DeclarationError::Malformed("comment without an end".into()),
                        ));
                    }
                },
                _ => return Ok(()),
            };
            self.at += skipped;
        }
    }

    fn integer(&mut self) -> Result<Word<'a>, DeclarationError> {
        let rest = self.rest();
        let length = rest.iter().position(|b| !name_byte(*b)).unwrap_or(rest.len());
        let text = rest.get(..length).and_then(|t| std::str::from_utf8(t).ok()).unwrap_or_default();
        self.at += length;
        let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
        let value = if let Some(hex) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
            u64::from_str_radix(hex, 16)
        } else if let Some(binary) = digits.strip_prefix("0b").or(digits.strip_prefix("0B")) {
            u64::from_str_radix(binary, 2)
        } else if digits.len() > 1 && digits.starts_with('0') {
            u64::from_str_radix(digits, 8)
        } else {
            digits.parse()
        };
        // Only the beginning, since the number may have millions of digits.
        let shown = text.get(..text.len().min(40)).unwrap_or_default();
        value
            .map(Word::Integer)
            .map_err(|_| DeclarationError::Malformed(format!("{shown} is no integer of 64 bits")))
    }

    fn text_constant(&mut self) -> Result<Word<'a>, DeclarationError> {
        let unfinished = || DeclarationError::Malformed("string without an end".into());
        let (quote, mut rest) = self.rest().split_first().ok_or_else(unfinished)?;
        let mut bytes = Vec::new();
        loop {
            let (b, after) = rest.split_first().ok_or_else(unfinished)?;
            rest = after;
            match b {
                b if b == quote => break,
                b'\\' => rest = escape(rest, &mut bytes)?,
                b => bytes.push(*b),
            }
            bounded("length of a string", bytes.len() as u64, limits::NAME)?;
        }
        self.at = self.text.len() - rest.len();
        Ok(Word::Text(
            String::from_utf8(bytes)
                .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()),
        ))
    }
}

/// Decodes the escape after a backslash. Returns the text after it.
fn escape<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], DeclarationError> {
    let digits = |max: usize, radix: u32, rest: &[u8]| {
        let is_digit = |b: &u8| char::from(*b).is_digit(radix);
        rest.iter().take(max).take_while(|b| is_digit(b)).count()
    };
    if let [mark @ (b'u' | b'U'), hex @ ..] = rest {
        let wanted = if *mark == b'u' { 4 } else { 8 };
        let text = hex.get(..wanted).filter(|_| digits(wanted, 16, hex) == wanted);
        let code = text.and_then(|t| u32::from_str_radix(std::str::from_utf8(t).ok()?, 16).ok());
        // An escape of an invalid character stays unchanged, as in babeltrace2.
        let (used, c) = code.and_then(char::from_u32).map_or((0, '\\'), |c| (1 + wanted, c));
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        return Ok(rest.get(used..).unwrap_or_default());
    }
    let (used, byte) = match rest {
        [b'x', hex @ ..] if digits(2, 16, hex) > 0 => {
            let n = digits(2, 16, hex);
            (n + 1, number(hex, n, 16)?)
        }
        [b'0'..=b'7', ..] => {
            let n = digits(3, 8, rest);
            (n, number(rest, n, 8)?)
        }
        [b, ..] => (
            1,
            match b {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'a' => 0x07,
                b'b' => 0x08,
                b'f' => 0x0c,
                b'v' => 0x0b,
                b'\\' | b'\'' | b'"' | b'?' => *b,
                _ => return malformed!("escape of byte {b:#04x}"),
            },
        ),
        [] => return malformed!("string without an end"),
    };
    out.push(byte);
    Ok(rest.get(used..).unwrap_or_default())
}

fn number(digits: &[u8], count: usize, radix: u32) -> Result<u8, DeclarationError> {
    let text = digits.get(..count).and_then(|d| std::str::from_utf8(d).ok()).unwrap_or_default();
    u8::from_str_radix(text, radix)
        .map_err(|_| DeclarationError::Malformed(format!("escape of {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Vec<Word<'_>>, (usize, DeclarationError)> {
        let mut lexer = Lexer::new(text.as_bytes());
        let mut words = Vec::new();
        loop {
            match lexer.next()?.word {
                Word::End => return Ok(words),
                word => words.push(word),
            }
        }
    }

    #[test]
    fn every_kind_of_token() {
        use Word::{Integer, Name, Punctuation, Text};
        assert_eq!(
            words(
                "_a1 := 0x1FuLL /* * / */ 017 // end\r\n 9l ... . -> L\"a\\n\\\"\\x41\\101\\\\\" 'q'"
            ),
            Ok(vec![
                Name("_a1"),
                Punctuation(":="),
                Integer(31),
                Integer(15),
                Integer(9),
                Punctuation("..."),
                Punctuation("."),
                Punctuation("->"),
                Text("a\n\"AA\\".into()),
                Text("q".into()),
            ])
        );
        assert_eq!(words("18446744073709551615 0"), Ok(vec![Integer(u64::MAX), Integer(0)]));
        assert_eq!(words("0b101 0B0u"), Ok(vec![Integer(5), Integer(0)]));
        assert_eq!(
            words(r#""\u00e9\U0001d11e \u yeah \ud800""#),
            Ok(vec![Text("é𝄞 \\u yeah \\ud800".into())])
        );
    }

    #[test]
    fn faults_say_where() {
        for (text, at) in [
            ("a 18446744073709551616", 2),
            ("a 09", 2),
            ("ab \"x", 3),
            ("/* x", 0),
            ("a\n  @", 4),
            ("\"\\q\"", 0),
            ("1x", 0),
            ("0b", 0),
            ("0b2", 0),
            ("\"\\777\"", 0),
        ] {
            assert_eq!(words(text).map_err(|(at, _)| at), Err(at), "{text}");
        }
    }
}
