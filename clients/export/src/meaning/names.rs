//! Names of spans: few values, as the conventions ask for, because backends make lists of them.

use std::borrow::Cow;

use crate::model::Value;

use super::{Item, database};

impl Item<'_> {
    /// The name of the span or instant; never empty.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        let record = self.record;
        let own = Cow::Borrowed(&*record.origin.full);
        let named = |name: Cow<'_, str>, or: &str| match &*name {
            "" => Cow::Owned(or.to_owned()),
            name => Cow::Owned(name.to_owned()),
        };
        match (&*record.origin.source, &*record.origin.kind) {
            ("zorka", "span") => self.zorka(),
            ("lttng", _) | ("dotnet", "application") => match record.get("event") {
                Some(Value::Text(event)) if !event.is_empty() => printable(event),
                _ => own,
            },
            (_, "exception") => Cow::Borrowed("exception"),
            (_, "pause") => Cow::Borrowed("pause"),
            (_, "gc") => match record.first(&["generation", "type"]) {
                Some(which) => Cow::Owned(printable(&format!("gc {which}")).into_owned()),
                None => Cow::Borrowed("gc"),
            },
            // Of other runtimes it is an address, of which there are many.
            ("jvm", "contention") => format!("wait {}", short(&record.text("lock"))).into(),
            (_, "contention") => Cow::Borrowed("wait"),
            ("dotnet", "method") => format!("jit {}", short(&record.text("name"))).into(),
            _ => match short(&record.text("method")) {
                method if !method.is_empty() => Cow::Owned(method),
                _ => named(printable(&record.text("title")), &own),
            },
        }
    }

    fn zorka(&self) -> Cow<'static, str> {
        let record = self.record;
        let method = short(&record.text("method"));
        let statement = record.text("db.statement");
        if !statement.is_empty() {
            return database::summary(&statement).into();
        }
        let http = record.text("http.method");
        // There is no route, and a URL has too many values.
        match (http.is_empty(), method.is_empty()) {
            (false, false) => format!("{} {method}", http.to_ascii_uppercase()).into(),
            (false, true) => http.to_ascii_uppercase().into(),
            (true, false) => method.into(),
            (true, true) => match &*record.text("type") {
                "" => "span".into(),
                kind => kind.to_owned().into(),
            },
        }
    }
}

/// `Class.method` of `package.Class.method(arguments)`.
fn short(method: &str) -> String {
    let end = method.find(['(', ' ']).filter(|end| *end > 0).unwrap_or(method.len());
    let name = method.get(..end).unwrap_or(method);
    let start = name.rmatch_indices(['.', ':', '/']).nth(1).map_or(0, |(at, dot)| at + dot.len());
    printable(name.get(start..).unwrap_or(name)).into_owned()
}

/// The text without what a terminal or a page would not show.
fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        let shown: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        return Cow::Owned(shown.trim().to_owned());
    }
    Cow::Borrowed(text)
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn methods_are_short() {
        assert_eq!(short("shop.orders.OrderController.list"), "OrderController.list");
        assert_eq!(short("Shop:Refuse(int)"), "Shop:Refuse");
        assert_eq!(short("main"), "main");
        assert_eq!(short("com.a.B.<init>(Ljava/lang/String;)V"), "B.<init>");
        assert_eq!(short("a\nb.c"), "a b.c");
        assert_eq!(short(""), "");
    }
}
