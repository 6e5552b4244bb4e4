//! Splits text into tokens.

use std::iter::Peekable;
use std::str::CharIndices;

use super::error::FilterError;

/// A token of a filter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Integer(i128),
    Float(f64),
    /// `100ms`, in nanoseconds.
    Time(i128),
    /// The pieces between `*`.
    Text(Vec<String>),
    /// `==`, `(`, `&&` …
    Sign(&'static str),
    End,
}

impl Token {
    /// The token as quoted in errors.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Integer(n) => format!("`{n}`"),
            Self::Float(n) => format!("`{n}`"),
            Self::Time(n) => format!("`{n}ns`"),
            Self::Text(_) => "a text".into(),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end".into(),
        }
    }
}

/// Longer signs first.
const SIGNS: &[&str] = &["==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", "-"];

pub(super) struct Lexer<'t> {
    text: &'t str,
    chars: Peekable<CharIndices<'t>>,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, chars: text.char_indices().peekable() }
    }

    /// The column of a byte offset.
    pub(super) fn column(&self, at: usize) -> usize {
        self.text.get(..at).map_or(0, |before| before.chars().count()) + 1
    }

    fn error<T>(&self, at: usize, message: impl Into<String>) -> Result<T, FilterError> {
        Err(FilterError { column: self.column(at), message: message.into() })
    }

    /// The next token and its byte offset.
    pub(super) fn next(&mut self) -> Result<(usize, Token), FilterError> {
        while self.chars.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        let Some(&(at, first)) = self.chars.peek() else {
            return Ok((self.text.len(), Token::End));
        };
        let token = match first {
            '"' => self.string(at)?,
            '0'..='9' | '.' => self.number(at)?,
            'a'..='z' | 'A'..='Z' | '_' | '$' => self.name(),
            _ => {
                let rest = self.text.get(at..).unwrap_or_default();
                let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) else {
                    let expected = "expected a name, a number, a text in double quotes, a comparison, && or ||";
                    return self.error(at, format!("{expected}, found `{first}`"));
                };
                for _ in sign.chars() {
                    self.chars.next();
                }
                Token::Sign(sign)
            }
        };
        Ok((at, token))
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let mut word = String::new();
        while let Some((_, c)) = self.chars.next_if(|(_, c)| belongs(*c)) {
            word.push(c);
        }
        word
    }

    fn name(&mut self) -> Token {
        // Tracers write the context of an event as `$ctx.vtid`.
        self.chars.next_if(|(_, c)| *c == '$');
        Token::Name(self.word(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.'))
    }

    fn number(&mut self, at: usize) -> Result<Token, FilterError> {
        let mut word = self.word(|c| c.is_ascii_alphanumeric() || c == '.');
        if word.ends_with(['e', 'E']) && !word.starts_with("0x") {
            word += &self
                .chars
                .next_if(|(_, c)| *c == '-' || *c == '+')
                .map_or(String::new(), |(_, c)| c.to_string());
            word += &self.word(|c| c.is_ascii_digit());
        }
        let integer = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            Some(hex) => i128::from_str_radix(hex, 16),
            None if word.len() > 1 && word.starts_with('0') && !word.contains(['.', 'e', 'E']) => {
                i128::from_str_radix(&word, 8)
            }
            None => word.parse(),
        };
        if let Some(time) = time(&word) {
            return Ok(Token::Time(time));
        }
        match (integer, word.parse::<f64>()) {
            (Ok(n), _) => Ok(Token::Integer(n)),
            (Err(_), Ok(n)) if word.contains(['.', 'e', 'E']) => Ok(Token::Float(n)),
            _ => self.error(
                at,
                format!(
                    "`{word}` is not a number: 12, 0x1f, 017, 2.5 or 1e6 are, and times: 5ns, 10us, 100ms, 1.5s"
                ),
            ),
        }
    }

    fn string(&mut self, at: usize) -> Result<Token, FilterError> {
        self.chars.next();
        let (mut pieces, mut piece) = (Vec::new(), String::new());
        loop {
            match self.chars.next() {
                Some((_, '"')) => break,
                Some((_, '*')) => pieces.push(std::mem::take(&mut piece)),
                Some((at, '\\')) => match self.chars.next() {
                    Some((_, c @ ('*' | '"' | '\\'))) => piece.push(c),
                    _ => return self.error(at, "expected \\*, \\\" or \\\\"),
                },
                Some((_, c)) => piece.push(c),
                None => return self.error(at, "expected a double quote at the end of this text"),
            }
        }
        pieces.push(piece);
        Ok(Token::Text(pieces))
    }
}

/// Units of time, longer names first, in nanoseconds.
const TIMES: &[(&str, u32)] = &[("ns", 1), ("us", 1000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Nanoseconds of a number with a unit of time.
fn time(word: &str) -> Option<i128> {
    let (number, unit) =
        TIMES.iter().find_map(|(name, unit)| Some((word.strip_suffix(name)?, *unit)))?;
    if number.bytes().all(|c| c.is_ascii_digit()) {
        return number.parse::<u64>().ok().map(|n| i128::from(n) * i128::from(unit));
    }
    // Digits and one dot: 1.5 s is 1500000000 ns.
    let (whole, part) = number.split_once('.')?;
    let (whole, part) =
        (if whole.is_empty() { "0" } else { whole }, part.get(..part.len().min(9))?);
    let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    if !digits(whole) || !digits(number.get(number.find('.')? + 1..)?) || part.is_empty() {
        return None;
    }
    let scale = 10_i128.pow(u32::try_from(part.len()).ok()?);
    let all =
        i128::from(whole.parse::<u64>().ok()?) * scale + i128::from(part.parse::<u64>().ok()?);
    Some(all * i128::from(unit) / scale)
}
