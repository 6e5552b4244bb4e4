//! Parses tokens into an expression: recursive descent of limited depth.

use super::error::{DEPTH_MAX, FilterError, NAMES_MAX, PARAMETERS_MAX, STARS_MAX, TERMS_MAX};
use super::expression::{Comparison, Expr, Operand};
use super::lex::{Lexer, Token};
use super::names::ParameterNames;
use crate::types::ids::ValueType;

/// A parsed filter.
pub(super) struct Parsed {
    pub(super) expr: Expr,
    /// Names by slot.
    pub(super) slots: Vec<String>,
    /// Parameters that the names refer to, and the slots of the names.
    pub(super) parameters: Vec<(u32, u16)>,
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    at: usize,
    token: Token,
    names: &'t dyn ParameterNames,
    depth: usize,
    terms: usize,
    stars: usize,
    /// Names by slot, with the known types of their parameters.
    slots: Vec<Name>,
    parameters: Vec<(u32, u16)>,
}

#[derive(Clone)]
struct Name {
    name: String,
    text: bool,
    number: bool,
    time: Time,
}

/// Whether an operand is a time.
#[derive(Clone, Copy, PartialEq)]
enum Time {
    /// It is none, or has another unit in another record.
    No,
    /// A number with a unit, in nanoseconds.
    Written(i128),
    /// A parameter with this unit, in nanoseconds.
    Unit(u64),
}

/// An operand, its position, and the types of its parameters.
struct Placed {
    operand: Operand,
    at: usize,
    name: String,
    /// Whether it can be a text, and whether it can be a number.
    text: bool,
    number: bool,
    time: Time,
}

pub(super) fn parse(text: &str, names: &dyn ParameterNames) -> Result<Parsed, FilterError> {
    let mut lexer = Lexer::new(text);
    let (at, token) = lexer.next()?;
    let mut parser = Parser {
        lexer,
        at,
        token,
        names,
        depth: 0,
        terms: 0,
        stars: 0,
        slots: Vec::new(),
        parameters: Vec::new(),
    };
    let expr = parser.or()?;
    match parser.token {
        Token::End => {
            let slots = parser.slots.into_iter().map(|n| n.name).collect();
            Ok(Parsed { expr, slots, parameters: parser.parameters })
        }
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
            return self.error(
                self.at,
                format!("more than {DEPTH_MAX} parentheses and ! inside each other"),
            );
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
        self.terms += 1;
        if self.terms > TERMS_MAX {
            return self.error(self.at, format!("more than {TERMS_MAX} comparisons"));
        }
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
        let (left, right) = self.in_units(left, right)?;
        let (numbers, texts) = (left.number && right.number, left.text && right.text);
        if !numbers && !matches!(how, Comparison::Equal | Comparison::NotEqual) {
            return self.error(sign_at, "texts can be compared with == and != only");
        }
        if numbers || texts {
            return Ok(Expr::Compare(left.operand, how, right.operand));
        }
        let named = if left.name.is_empty() { right } else { left };
        let (is, expected) = if named.text {
            ("a text", "a text in double quotes")
        } else {
            ("a number", "a number")
        };
        let what = if named.name.is_empty() { "this".into() } else { format!("`{}`", named.name) };
        self.error(named.at, format!("{what} is {is}: expected {expected} on the other side"))
    }

    /// Both sides, a written time in the unit of the other side.
    fn in_units(&self, left: Placed, right: Placed) -> Result<(Placed, Placed), FilterError> {
        match (left.time, right.time) {
            (Time::Written(time), Time::Unit(unit)) => Ok((left.of(in_unit(time, unit)), right)),
            (Time::Unit(unit), Time::Written(time)) => {
                let right = right.of(in_unit(time, unit));
                Ok((left, right))
            }
            (Time::Written(_), other) | (other, Time::Written(_)) => {
                let (written, named) =
                    if left.name.is_empty() { (&left, &right) } else { (&right, &left) };
                let what = match other {
                    Time::Written(_) => "a time has no other time beside it".to_owned(),
                    _ if named.name.is_empty() => "expected a name beside a time".to_owned(),
                    _ => format!(
                        "the values of `{}` have no unit of time: expected a plain number",
                        named.name
                    ),
                };
                self.error(written.at, what)
            }
            _ => Ok((left, right)),
        }
    }

    fn operand(&mut self) -> Result<Placed, FilterError> {
        let minus = self.sign("-")?;
        let placed = |operand, at, text| Placed {
            operand,
            at,
            name: String::new(),
            text,
            number: !text,
            time: Time::No,
        };
        if !matches!(self.token, Token::Integer(_) | Token::Float(_) | Token::Time(_)) && minus {
            return self.expected("a number");
        }
        if !matches!(
            self.token,
            Token::Integer(_) | Token::Float(_) | Token::Time(_) | Token::Text(_) | Token::Name(_)
        ) {
            return self.expected("a name, a number or a text in double quotes");
        }
        let (at, token) = self.take()?;
        Ok(match token {
            Token::Integer(n) => placed(Operand::Integer(if minus { -n } else { n }), at, false),
            Token::Float(n) => placed(Operand::Float(if minus { -n } else { n }), at, false),
            Token::Time(n) => {
                let n = if minus { -n } else { n };
                Placed { time: Time::Written(n), ..placed(Operand::Integer(n), at, false) }
            }
            Token::Text(pieces) => {
                self.stars += pieces.len().saturating_sub(1);
                if self.stars > STARS_MAX {
                    return self.error(at, format!("more than {STARS_MAX} times *"));
                }
                placed(Operand::Text(pieces), at, true)
            }
            Token::Name(name) => return self.named(at, name),
            Token::Sign(_) | Token::End => {
                return self.expected("a name, a number or a text in double quotes");
            }
        })
    }

    fn named(&mut self, at: usize, name: String) -> Result<Placed, FilterError> {
        let built_in = match name.as_str() {
            "timestamp" => Some((Operand::Timestamp, false)),
            "flags" => Some((Operand::Flags, false)),
            "instance" => Some((Operand::Instance, true)),
            _ => None,
        };
        if let Some((operand, text)) = built_in {
            return Ok(Placed { operand, at, name, text, number: !text, time: Time::No });
        }
        let (slot, Name { text, number, time, .. }) = self.slot(at, &name)?;
        Ok(Placed { operand: Operand::Slot(slot), at, name, text, number, time })
    }

    /// The slot of a name, and what it can be. Each name is looked up once.
    fn slot(&mut self, at: usize, name: &str) -> Result<(u16, Name), FilterError> {
        if let Some((slot, known)) = (0..).zip(&self.slots).find(|(_, known)| known.name == name) {
            return Ok((slot, known.clone()));
        }
        if self.slots.len() == NAMES_MAX {
            return self.error(at, format!("more than {NAMES_MAX} different names"));
        }
        let found = self.names.find(name, 0);
        if found.is_empty() && !self.names.grows() {
            return self.error(
                at,
                format!("no parameter is called `{name}`: expected one that pmevent shows, timestamp, flags or instance"),
            );
        }
        if self.parameters.len() + found.len() > PARAMETERS_MAX {
            return self.error(
                at,
                format!(
                    "`{name}` and the names before it stand for more than {PARAMETERS_MAX} parameters"
                ),
            );
        }
        let slot = u16::try_from(self.slots.len()).unwrap_or(u16::MAX);
        let is_text =
            |(_, ty): &(_, ValueType)| matches!(ty, ValueType::Text | ValueType::Aggregate);
        // What has not come yet can be anything.
        let any = found.is_empty();
        let (text, number) = (any || found.iter().any(is_text), any || !found.iter().all(is_text));
        let mut units = found.iter().map(|(pmid, _)| self.names.time_unit(*pmid));
        let time = match units.next().flatten() {
            Some(unit) if units.all(|other| other == Some(unit)) => Time::Unit(unit),
            _ => Time::No,
        };
        self.parameters.extend(found.iter().map(|(pmid, _)| (pmid.0, slot)));
        let known = Name { name: name.to_owned(), text, number, time };
        self.slots.push(known.clone());
        Ok((slot, known))
    }
}

impl Placed {
    fn of(self, operand: Operand) -> Self {
        Self { operand, ..self }
    }
}

/// A time in a unit, both in nanoseconds.
#[allow(clippy::cast_precision_loss, reason = "a fraction of a unit")]
fn in_unit(time: i128, unit: u64) -> Operand {
    let unit = i128::from(unit.max(1));
    match time % unit {
        0 => Operand::Integer(time / unit),
        _ => Operand::Float(time as f64 / unit as f64),
    }
}
