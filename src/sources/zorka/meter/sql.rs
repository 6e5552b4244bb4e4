//! SQL without its literals. No dialect is known, so where dialects disagree about the end of a
//! literal or comment, the rest of the statement is dropped: nothing of a literal is shown.

use std::borrow::Cow;

use super::skip::{self, Ambiguous, is_name};
use crate::model::cut;

/// Bytes of a statement that are read. Agents since 1.90.7 send 8192 (docs/protocols/zorka.md 8).
const INPUT: usize = 16 << 10;
/// Bytes of a result before it is cut.
const OUTPUT: usize = 220;
/// What takes the place of a literal.
const LITERAL: &str = "?";
/// The end of a statement whose rest is dropped.
const DROPPED: &str = "…";
/// Words that SQL statements begin with.
const VERBS: &[&str] = &[
    "select",
    "insert",
    "update",
    "delete",
    "merge",
    "replace",
    "upsert",
    "with",
    "values",
    "call",
    "exec",
    "execute",
    "create",
    "alter",
    "drop",
    "truncate",
    "comment",
    "grant",
    "revoke",
    "begin",
    "start",
    "commit",
    "rollback",
    "savepoint",
    "release",
    "set",
    "show",
    "describe",
    "desc",
    "explain",
    "analyze",
    "vacuum",
    "copy",
    "declare",
    "fetch",
    "close",
    "lock",
    "unlock",
    "use",
    "table",
];

/// A statement with `?` in place of literals, without comments and with single blanks. Lists of
/// literals are one `?`. A long one is cut and ends in a number made of all of it.
pub(crate) fn normalise(statement: &str, kind: Option<&str>) -> String {
    let mut lexer = Lexer::new(statement);
    if !kind.is_none_or(is_sql) || !lexer.is_sql() {
        return Lexer::new(statement).verb();
    }
    lexer.run();
    lexer.finish()
}

/// Whether `db.type` is one of SQL: OpenTracing has `sql` for all, but agents are configured by
/// hand.
fn is_sql(kind: &str) -> bool {
    const NAMES: &[&str] =
        &["jdbc", "oracle", "db2", "h2", "derby", "mariadb", "postgres", "cassandra", "hana", "db"];
    let kind = kind.to_ascii_lowercase();
    kind.contains("sql") || NAMES.iter().any(|name| kind.starts_with(name))
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    out: String,
    /// Depth of parentheses.
    depth: u32,
    /// Lower case of the last word, if nothing but blanks followed.
    word: Word,
    /// The word before the last was IDENTIFIED, so that after BY follows a password.
    identified: bool,
    /// A password has come: others may follow behind a comma or REPLACE.
    password: bool,
    dropped: bool,
    /// Up to here there are no quotes in the line.
    unquoted: usize,
}

/// Words after which the meaning of what follows is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    None,
    /// A name follows: `INTO`, `JOIN`, `UPDATE`, `TABLE`, `AS`.
    Naming,
    /// A name follows, but in parentheses also a literal (`TRIM(FROM 'x')`).
    From,
    Identified,
    /// A character follows (`LIKE 'x' ESCAPE '\'`).
    Escape,
    Other,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        let text = cut(text, INPUT);
        Self {
            text,
            at: 0,
            out: String::with_capacity(text.len().min(2 * OUTPUT)),
            depth: 0,
            word: Word::None,
            identified: false,
            password: false,
            dropped: false,
            unquoted: 0,
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or_default()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The first word is one of SQL's.
    fn is_sql(&mut self) -> bool {
        let begin = |c: char| c.is_whitespace() || matches!(c, '(' | '{' | '?' | '=' | ';');
        loop {
            let rest = self.rest().trim_start_matches(begin);
            self.at = self.text.len() - rest.len();
            if rest.starts_with("/*") || rest.starts_with("--") {
                if self.comment().is_err() {
                    return false;
                }
                continue;
            }
            let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
            self.at = 0;
            return VERBS.iter().any(|verb| verb.eq_ignore_ascii_case(word));
        }
    }

    /// Only the first word: the text is no SQL.
    fn verb(mut self) -> String {
        let text = self.text.trim_start();
        let word = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let follows = text.get(word.len()..).and_then(|rest| rest.chars().next());
        if word.len() <= 20 && follows.is_none_or(char::is_whitespace) {
            self.out.push_str(word);
        }
        if self.out.len() < text.trim_end().len() {
            self.literal();
        }
        self.finish()
    }

    fn run(&mut self) {
        while self.at < self.text.len() {
            if self.token().is_err() {
                self.dropped = true;
                return;
            }
        }
    }

    fn token(&mut self) -> Result<(), Ambiguous> {
        let byte = self.peek(0);
        match byte {
            b'\'' => self.string(byte)?,
            b'"' => self.quoted()?,
            b'`' => self.backquoted()?,
            b'-' if self.peek(1) == b'-' => self.comment()?,
            b'/' if self.peek(1) == b'*' => self.comment()?,
            b'#' => self.hash()?,
            b'$' => self.dollar()?,
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() && !self.out.ends_with(is_name) => self.number(),
            b'?' => {
                self.at += 1;
                self.at += self.rest().bytes().take_while(u8::is_ascii_digit).count();
                self.literal();
            }
            _ => match self.rest().chars().next() {
                None => return Err(Ambiguous),
                Some(c) if c.is_whitespace() || c.is_control() => {
                    self.at += c.len_utf8();
                    self.blank();
                }
                Some(c) if is_name(c) => self.word()?,
                Some(c) => self.sign(c),
            },
        }
        Ok(())
    }

    /// A blank, unless one is there or none is wanted.
    fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with([' ', '(']) {
            self.out.push(' ');
        }
    }

    /// `?`, and in a list of them only the first.
    fn literal(&mut self) {
        self.word = Word::None;
        // A sign belongs to a number, if no value precedes it.
        let before = self.out.trim_end_matches([' ', '-', '+']);
        if before.len() < self.out.len() && before.ends_with(['=', '<', '>', '(', ',', '*', '/']) {
            let blank = self.out.get(before.len()..).is_some_and(|s| s.starts_with(' '));
            self.out.truncate(before.len());
            if blank {
                self.blank();
            }
        }
        let before = self.out.trim_end_matches(' ');
        if let Some(list) = before.strip_suffix(',').map(|l| l.trim_end_matches(' '))
            && let Some(before) = list.strip_suffix(LITERAL)
            && before
                .trim_end_matches(' ')
                .ends_with(|c: char| is_name(c) || matches!(c, '(' | ','))
        {
            self.out.truncate(list.len());
        } else {
            if self.out.ends_with(|c: char| is_name(c) || c == '?') {
                self.blank();
            }
            self.out.push_str(LITERAL);
        }
    }

    /// Any other character.
    fn sign(&mut self, c: char) {
        self.at += c.len_utf8();
        self.word = Word::None;
        match c {
            '(' => self.depth += 1,
            ')' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if matches!(c, ',' | ')') {
            self.out.truncate(self.out.trim_end_matches(' ').len());
        }
        self.out.push(c);
        if c == ',' {
            self.blank();
        }
        // Rows of literals: only the first.
        for row in [", (?)", ",(?)"] {
            if let Some(before) = self.out.strip_suffix(row).filter(|b| b.ends_with("(?)")) {
                self.out.truncate(before.len());
            }
        }
    }

    fn number(&mut self) {
        let mut last = 0;
        while let byte @ (b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'.' | b'+' | b'-') =
            self.peek(0)
        {
            if matches!(byte, b'+' | b'-') && !matches!(last, b'e' | b'E') {
                break;
            }
            last = byte;
            self.at += 1;
        }
        self.literal();
    }

    /// A string; `quote` is at the front.
    fn string(&mut self, quote: u8) -> Result<(), Ambiguous> {
        let escape = self.word == Word::Escape;
        self.at += 1;
        self.literal();
        // One backslash, in the standard's form and in that of MySQL.
        if let (true, [b'\\', b'\'', rest @ ..] | [b'\\', b'\\', b'\'', rest @ ..]) =
            (escape, self.rest().as_bytes())
            && rest.first() != Some(&b'\'')
        {
            self.at = self.text.len() - rest.len();
            return Ok(());
        }
        self.at += skip::string(self.rest(), quote)?;
        Ok(())
    }

    /// A name in double quotes; in some dialects a string. It is kept where only a name can be.
    fn quoted(&mut self) -> Result<(), Ambiguous> {
        self.at += 1;
        let start = self.at;
        let named = self.out.ends_with('.')
            || self.word == Word::Naming
            || self.word == Word::From && self.depth == 0;
        self.at += skip::string(self.rest(), b'"')?;
        let name = self.text.get(start..self.at - 1).unwrap_or_default();
        let plain =
            name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name.chars().all(is_name);
        if plain && (named || self.peek(0) == b'.') {
            self.push_name(name);
            return Ok(());
        }
        self.literal();
        Ok(())
    }

    fn backquoted(&mut self) -> Result<(), Ambiguous> {
        let rest = self.rest().get(1..).unwrap_or_default();
        let Some((name, _)) = rest.split_once('`') else { return Err(Ambiguous) };
        self.at += name.len() + 2;
        if name.chars().all(|c| is_name(c) || matches!(c, ' ' | '-' | '.')) {
            self.push_name(name);
            return Ok(());
        }
        self.literal();
        Ok(())
    }

    fn push_name(&mut self, name: &str) {
        self.word = Word::None;
        if self.out.ends_with(|c: char| is_name(c) || c == '?') {
            self.blank();
        }
        self.out.push_str(name);
    }

    /// A comment: one blank.
    fn comment(&mut self) -> Result<(), Ambiguous> {
        self.at += skip::comment(self.rest())?;
        let word = self.word;
        self.blank();
        self.word = word;
        Ok(())
    }

    /// `#`: a comment, an operator, or the name of a temporary table.
    fn hash(&mut self) -> Result<(), Ambiguous> {
        match self.rest().get(1..).and_then(|rest| rest.chars().next()) {
            Some('>' | '-' | '=' | '#') | None => self.sign('#'),
            Some(c) if is_name(c) => {
                // A line is searched once, however many such names it has.
                let mut is_ambiguous = false;
                if self.at >= self.unquoted {
                    let line = skip::line(self.rest());
                    self.unquoted = self.at + line.len();
                    is_ambiguous = skip::has_quote(line);
                }
                self.at += 1;
                self.push_name("#");
                self.word()?;
                if is_ambiguous {
                    return Err(Ambiguous);
                }
            }
            Some(_) => {
                self.at += skip::line(self.rest()).len();
                self.blank();
            }
        }
        Ok(())
    }

    /// `$tag$text$tag$`, or a parameter `$1`.
    fn dollar(&mut self) -> Result<(), Ambiguous> {
        let rest = self.rest().get(1..).unwrap_or_default();
        let tag = rest.find(|c: char| !is_name(c) || c == '$').unwrap_or(rest.len());
        if rest.as_bytes().first().is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            self.number();
            return Ok(());
        }
        if rest.as_bytes().get(tag) != Some(&b'$') {
            self.sign('$');
            return Ok(());
        }
        let tag = self.rest().get(..tag + 2).unwrap_or_default();
        let text = self.rest().get(tag.len()..).unwrap_or_default();
        let Some(end) = text.find(tag) else { return Err(Ambiguous) };
        self.at += end + 2 * tag.len();
        self.literal();
        Ok(())
    }

    /// A word, or the prefix of a string.
    fn word(&mut self) -> Result<(), Ambiguous> {
        let rest = self.rest();
        let word = rest.get(..rest.find(|c| !is_name(c)).unwrap_or(rest.len())).unwrap_or_default();
        self.at += word.len();
        let is = |text: &str| word.eq_ignore_ascii_case(text);
        match self.peek(0) {
            b'\'' if is("q") || is("nq") => {
                self.at += skip::alternative_quote(self.rest())?;
                self.literal();
                return Ok(());
            }
            b'\'' if word.len() <= 2 || word.starts_with('_') => return self.string(b'\''),
            b'&' if is("u") && self.peek(1) == b'\'' => {
                self.at += 1;
                return self.string(b'\'');
            }
            _ => {}
        }
        let listed = self.password && self.out.trim_end_matches(' ').ends_with("?,");
        if listed || self.identified && self.word == Word::Identified {
            self.identified = false;
            self.password = true;
            self.literal();
            return Ok(());
        }
        let known = match () {
            () if ["into", "join", "update", "table", "as"].into_iter().any(is) => Word::Naming,
            () if is("from") => Word::From,
            () if is("identified") => Word::Identified,
            () if is("escape") => Word::Escape,
            () if is("replace") && self.password => {
                self.identified = true;
                Word::Identified
            }
            () if is("by") && self.word == Word::Identified => {
                self.identified = true;
                Word::Identified
            }
            () => Word::Other,
        };
        self.push_name(word);
        self.word = known;
        Ok(())
    }

    fn finish(self) -> String {
        let Self { mut out, dropped, .. } = self;
        out.truncate(out.trim_end_matches([' ', ';']).len());
        if dropped {
            out.push_str(DROPPED);
        }
        if out.is_empty() {
            out.push_str(LITERAL);
        }
        if out.len() > OUTPUT {
            let number = fnv(out.as_bytes());
            out.truncate(cut(&out, OUTPUT).len());
            out.push_str(&format!("{DROPPED}#{number:08x}"));
        }
        out
    }
}

/// The text as an instance name: without blanks.
pub(crate) fn key(statement: &str) -> Cow<'_, str> {
    if statement.contains(char::is_whitespace) {
        statement.replace(char::is_whitespace, "_").into()
    } else {
        statement.into()
    }
}

/// FNV-1a: the same in all processes, so that instances keep their names.
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, b| (hash ^ u32::from(*b)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
#[path = "tests/sql.rs"]
mod tests;
