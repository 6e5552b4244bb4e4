//! Sums of one agent's spans by their attributes: HTTP status, kind of database.

use std::borrow::Cow;

use super::rows::{Layout, Of, Rows};
use super::text::clean;
use super::types::SpanSums;
use crate::catalogue::OTHER;
use crate::contract::Peer;
use crate::sources::zorka::limits::DB_KINDS;
use crate::sources::zorka::metrics as m;
use crate::sources::zorka::wire::body::AttributeValue;

const HTTP: Layout<1> = Layout { table: m::HTTP, items: [m::HTTP_STATUS], max: CLASSES.len() };
const DB: Layout<3> =
    Layout { table: m::DB, items: [m::DB_COUNT, m::DB_ERRORS, m::DB_TIME], max: DB_KINDS };

/// Classes of HTTP status codes.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// An attribute that sums are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Known {
    HttpStatus,
    DbType,
    DbUrl,
    Statement,
}

impl Known {
    /// By the attribute's name. Agents before 1.90.7 have other names (docs/protocols/zorka.md 12).
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name {
            "http.status_code" | "STATUS" => Some(Self::HttpStatus),
            "db.type" => Some(Self::DbType),
            "db.url" | "DB" => Some(Self::DbUrl),
            "db.statement" | "SQL" => Some(Self::Statement),
            _ => None,
        }
    }
}

/// The text of an attribute. Agents write the text `null` where there is no value.
pub(crate) fn text<'a>(value: &AttributeValue, body: &'a [u8]) -> Option<Cow<'a, str>> {
    let AttributeValue::Text(slice) = value else { return None };
    let bytes = slice.of(body);
    (!bytes.is_empty() && bytes != b"null").then(|| String::from_utf8_lossy(bytes))
}

/// The kind of a database by its URL: that of JDBC is `sql`, as `db.type` has it.
pub(crate) fn kind_of(url: &str) -> &str {
    match url.split(':').next().unwrap_or_default() {
        "jdbc" => "sql",
        scheme => scheme,
    }
}

/// Sums by attribute of one agent.
#[derive(Debug)]
pub(crate) struct Attributes {
    http: Rows<1>,
    db: Rows<3>,
}

impl Default for Attributes {
    fn default() -> Self {
        Self { http: Rows::new(HTTP), db: Rows::new(DB) }
    }
}

impl Attributes {
    /// Counts the status of a span; values that are not three digits are not counted.
    pub(crate) fn http(
        &mut self,
        agent: &str,
        value: &AttributeValue,
        body: &[u8],
        peer: &mut Peer,
    ) {
        let Some(class) = status_class(value, body) else { return };
        let slot = self.http.slot(class, peer, |slot, _, peer| {
            let key = format!("{agent}::{class}");
            peer.row(m::HTTP, slot, Some(&key));
        });
        self.http.add(slot, [1]);
    }

    /// Counts a span that uses a database.
    pub(crate) fn db(&mut self, agent: &str, kind: &str, span: SpanSums, peer: &mut Peer) {
        let slot = self.db.slot(kind, peer, |slot, of, peer| {
            let kind = if of == Of::Rest { OTHER.into() } else { clean(kind) };
            let key = format!("{agent}::{kind}");
            peer.row(m::DB, slot, Some(&key));
        });
        self.db.add(slot, [1, span.error.into(), span.duration]);
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        self.http.report(peer);
        self.db.report(peer);
    }

    /// Frees what an idle agent does not need.
    pub(crate) fn clear(&mut self, peer: &mut Peer) {
        self.http.clear(peer);
        self.db.clear(peer);
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.http.memory() + self.db.memory()
    }
}

/// `2xx` of 200, as number or text.
fn status_class(value: &AttributeValue, body: &[u8]) -> Option<&'static str> {
    let first = match value {
        AttributeValue::Int(status @ 100..=599) => usize::try_from(status / 100).ok()?,
        AttributeValue::Text(slice) => match slice.of(body) {
            &[first @ b'1'..=b'5', b'0'..=b'9', b'0'..=b'9'] => usize::from(first - b'0'),
            _ => return None,
        },
        _ => return None,
    };
    CLASSES.get(first - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::zorka::wire::body::Slice;

    #[test]
    fn a_status_has_three_digits() {
        let body = b"200 404 99 600 java.X@12";
        let of = |start, end| status_class(&AttributeValue::Text(Slice { start, end }), body);
        assert_eq!([of(0, 3), of(4, 7)], [Some("2xx"), Some("4xx")]);
        assert_eq!([of(8, 10), of(11, 14), of(15, 24), of(0, 4), of(0, 0)], [None; 5]);
        let of = |n| status_class(&AttributeValue::Int(n), b"");
        assert_eq!([of(503), of(100)], [Some("5xx"), Some("1xx")]);
        assert_eq!([of(99), of(600), of(-200), of(i64::MIN)], [None; 4]);
    }

    #[test]
    fn the_text_null_is_no_value() {
        let of = |start, end| text(&AttributeValue::Text(Slice { start, end }), b"nullsql");
        assert_eq!((of(0, 4), of(4, 7).as_deref(), of(0, 0)), (None, Some("sql"), None));
        assert_eq!(text(&AttributeValue::Null, b""), None);
    }
}
