//! Words to expression: recursive descent, bounded.

use super::eval::{Comparison, Expr, Operand};
use super::lex::{Lexer, Token};
use super::{DEPTH_MAX, FilterError, Names};
use crate::model::ValueType;

struct Parser<'t> {
    lexer: Lexer<'t>,
    at: usize,
    token: Token,
    names: &'t dyn Names,
    depth: usize,
}

/// An operand, where it is, and the types that its parameters have.
struct Placed {
    operand: Operand,
    at: usize,
    name: String,
    /// It can be a text, it can be a number.
    text: bool,
    number: bool,
}

pub(super) fn parse(text: &str, names: &dyn Names) -> Result<Expr, FilterError> {
    let mut lexer = Lexer::new(text);
    let (at, token) = lexer.next()?;
    let mut parser = Parser { lexer, at, token, names, depth: 0 };
    let expr = parser.or()?;
    match parser.token {
        Token::End => Ok(expr),
        _ => parser.expected("&&, || or the end"),
    }
}

impl Parser<'_> {
    fn error<T>(&self, at: usize, message: impl Into<String>) -> Result<T, FilterError> {
        Err(FilterError { column: self.lexer.column(at), message: message.into() })
    }

    fn expected<T>(&self, what: &str) -> Result<T, FilterError> {
        self.error(self.at, format!("expected {what}, found {}", self.token.shown()))
    }

    fn take(&mut self) -> Result<(usize, Token), FilterError> {
        let (at, token) = self.lexer.next()?;
        Ok((std::mem::replace(&mut self.at, at), std::mem::replace(&mut self.token, token)))
    }

    fn sign(&mut self, sign: &str) -> Result<bool, FilterError> {
        let found = matches!(self.token, Token::Sign(s) if s == sign);
        if found {
            self.take()?;
        }
        Ok(found)
    }

    fn or(&mut self) -> Result<Expr, FilterError> {
        let mut any = vec![self.and()?];
        while self.sign("||")? {
            any.push(self.and()?);
        }
        Ok(Expr::Any(any))
    }

    fn and(&mut self) -> Result<Expr, FilterError> {
        let mut all = vec![self.unary()?];
        while self.sign("&&")? {
            all.push(self.unary()?);
        }
        Ok(Expr::All(all))
    }

    fn unary(&mut self) -> Result<Expr, FilterError> {
        if self.depth == DEPTH_MAX {
            return self.error(self.at, format!("more than {DEPTH_MAX} parentheses and ! inside each other"));
        }
        self.depth += 1;
        let expr = if self.sign("!")? {
            Expr::Not(Box::new(self.unary()?))
        } else if self.sign("(")? {
            let inner = self.or()?;
            if !self.sign(")")? {
                return self.expected("&&, || or )");
            }
            inner
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn comparison(&mut self) -> Result<Expr, FilterError> {
        let left = self.operand()?;
        let how = match self.token {
            Token::Sign("==") => Comparison::Equal,
            Token::Sign("!=") => Comparison::NotEqual,
            Token::Sign("<") => Comparison::Less,
            Token::Sign("<=") => Comparison::LessOrEqual,
            Token::Sign(">") => Comparison::Greater,
            Token::Sign(">=") => Comparison::GreaterOrEqual,
            _ if left.name.is_empty() => return self.expected("== != < <= > or >="),
            _ => return Ok(Expr::True(left.operand)),
        };
        let (sign_at, _) = self.take()?;
        let right = self.operand()?;
        let (numbers, texts) = (left.number && right.number, left.text && right.text);
        if !numbers && !matches!(how, Comparison::Equal | Comparison::NotEqual) {
            return self.error(sign_at, "texts can be compared with == and != only");
        }
        if numbers || texts {
            return Ok(Expr::Compare(left.operand, how, right.operand));
        }
        let named = if left.name.is_empty() { right } else { left };
        let (is, expected) = if named.text { ("a text", "a text in double quotes") } else { ("a number", "a number") };
        let what = if named.name.is_empty() { "this".into() } else { format!("`{}`", named.name) };
        self.error(named.at, format!("{what} is {is}: expected {expected} on the other side"))
    }

    fn operand(&mut self) -> Result<Placed, FilterError> {
        let minus = self.sign("-")?;
        let placed = |operand, at, text| Placed { operand, at, name: String::new(), text, number: !text };
        if !matches!(self.token, Token::Integer(_) | Token::Float(_)) && minus {
            return self.expected("a number");
        }
        if !matches!(self.token, Token::Integer(_) | Token::Float(_) | Token::Text(_) | Token::Name(_)) {
            return self.expected("a name, a number or a text in double quotes");
        }
        let (at, token) = self.take()?;
        Ok(match token {
            Token::Integer(n) => placed(Operand::Integer(if minus { -n } else { n }), at, false),
            Token::Float(n) => placed(Operand::Float(if minus { -n } else { n }), at, false),
            Token::Text(pieces) => placed(Operand::Text(pieces), at, true),
            Token::Name(name) => return self.named(at, name),
            Token::Sign(_) | Token::End => return self.expected("a name, a number or a text in double quotes"),
        })
    }

    fn named(&self, at: usize, name: String) -> Result<Placed, FilterError> {
        let built_in = match name.as_str() {
            "timestamp" => Some((Operand::Timestamp, false)),
            "flags" => Some((Operand::Flags, false)),
            "instance" => Some((Operand::Instance, true)),
            _ => None,
        };
        if let Some((operand, text)) = built_in {
            return Ok(Placed { operand, at, name, text, number: !text });
        }
        let found = self.names.find(&name);
        if found.is_empty() {
            return self.error(
                at,
                format!("no parameter is called `{name}`: expected one that pmevent shows, timestamp, flags or instance"),
            );
        }
        let text = found.iter().any(|(_, ty)| matches!(ty, ValueType::Text | ValueType::Aggregate));
        let number = found.iter().any(|(_, ty)| !matches!(ty, ValueType::Text | ValueType::Aggregate));
        let mut pmids: Vec<u32> = found.iter().map(|(pmid, _)| pmid.0).collect();
        pmids.sort_unstable();
        Ok(Placed { operand: Operand::Parameter(pmids), at, name, text, number })
    }
}
