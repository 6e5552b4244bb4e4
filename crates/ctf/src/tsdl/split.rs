//! Splits growing text into complete declarations: up to a `;` outside of braces, strings and
//! comments.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum In {
    #[default]
    Code,
    /// After a slash: a comment may begin.
    Slash,
    LineComment,
    BlockComment,
    /// After a star in a comment, which may end.
    Star,
    Quoted(u8),
    /// After a backslash in a string.
    Escaped(u8),
}

/// Finds ends of declarations. Each byte is examined once, in pieces of any size.
#[derive(Clone, Debug, Default)]
pub(super) struct Splitter {
    state: In,
    braces: u64,
}

impl Splitter {
    /// Number of bytes up to the end of a declaration, including the `;`. `None`: the declaration
    /// continues after these bytes.
    pub(super) fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (n, b) in bytes.iter().enumerate() {
            self.state = match (self.state, b) {
                (In::Slash, b'/') => In::LineComment,
                (In::Slash, b'*') => In::BlockComment,
                (In::LineComment, b'\n') => In::Code,
                (In::BlockComment | In::Star, b'*') => In::Star,
                (In::Star, b'/') => In::Code,
                (In::Star, _) => In::BlockComment,
                (In::Quoted(quote), b) if *b == quote => In::Code,
                (In::Quoted(quote), b'\\') => In::Escaped(quote),
                (In::Escaped(quote), _) => In::Quoted(quote),
                (In::Code | In::Slash, b) => {
                    match b {
                        b'{' => self.braces += 1,
                        b'}' => self.braces = self.braces.saturating_sub(1),
                        b';' if self.braces == 0 => {
                            self.state = In::Code;
                            return Some(n + 1);
                        }
                        _ => {}
                    }
                    match b {
                        b'/' => In::Slash,
                        b'"' | b'\'' => In::Quoted(*b),
                        _ => In::Code,
                    }
                }
                (state, _) => state,
            };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_in_any_pieces() {
        let text = b"a { b; /* ; } */ \"};\\\"\" c // } ;\n; } ; 'x;' / * ; tail";
        let ends = |piece: usize| {
            let (mut splitter, mut ends, mut at) = (Splitter::default(), Vec::new(), 0);
            for part in text.chunks(piece) {
                let mut rest = part;
                while let Some(n) = splitter.end(rest) {
                    ends.push(at + n);
                    at += n;
                    rest = &rest[n..];
                }
                at += rest.len();
            }
            ends
        };
        assert_eq!(ends(1), ends(usize::MAX));
        assert_eq!(ends(1), [38, 49]);
        assert_eq!(&text[37..38], b";");
    }
}
