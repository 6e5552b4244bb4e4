//! Which attribute a parameter is, by OpenTelemetry's semantic conventions 1.44.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::model::{Record, Value};

use super::{Attribute, Attributes, Identity, Item, database, logfmt};

/// Methods of HTTP that the conventions know.
const METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"];

impl<'a> Attributes<'a> {
    /// Sets all of an item.
    pub(super) fn fill(&mut self, item: &Item<'a>, identity: Option<&'a Identity>) {
        let record = item.record;
        for (name, value) in &record.parameters {
            self.parameter(record, name, value);
        }
        self.set_text("apm.record", &*record.origin.full);
        if let Some(text) = identity.and_then(|identity| identity.trace_text.as_deref()) {
            self.set_text("apm.trace", text);
        }
        if item.failed() {
            let kind = self.error_type();
            self.set_text("error.type", kind);
        }
    }

    /// The class of the exception, else the status of HTTP, else that it is something else.
    fn error_type(&self) -> Cow<'a, str> {
        match (self.get("exception.type"), self.get("http.response.status_code")) {
            (Some(Attribute::Text(class)), _) => class.clone(),
            (_, Some(Attribute::Int(status))) if *status >= 400 => status.to_string().into(),
            _ => "_OTHER".into(),
        }
    }

    fn parameter(&mut self, record: &'a Record, name: &'a str, value: &'a Value) {
        let (source, kind) = (&*record.origin.source, &*record.origin.kind);
        let text = || match value {
            Value::Text(text) => Cow::Borrowed(&**text),
            other => other.text(),
        };
        let is_exception = kind == "exception";
        match (source, name) {
            // What the span itself or its resource says.
            ("zorka" | "profiler" | "dotnet", "trace" | "trace.id" | "span" | "parent")
            | ("zorka", "kind" | "service")
            | (_, "duration" | "error" | "dialect" | "lost") => {}
            ("zorka" | "profiler", "http.method" | "web.method") => self.http_method(&text()),
            ("zorka", "http.status_code") => self.set("http.response.status_code", whole(value)),
            ("zorka" | "profiler", "http.url" | "web.url") => self.url(&text()),
            ("profiler", "web.query") => self.set_text("url.query", text()),
            ("profiler", "web.remote_addr") => self.set_text("client.address", text()),
            ("zorka", "db.type") => {
                self.set_text("db.system.name", database::system(&text(), &record.text("db.url")));
            }
            ("zorka", "db.statement") => {
                let statement = text();
                self.set_text("db.query.summary", database::summary(&statement));
                if let Some(operation) = database::operation(&statement) {
                    self.set_text("db.operation.name", operation);
                }
                self.set_text("db.query.text", statement);
            }
            ("zorka", "db.instance") => self.set_text("db.namespace", text()),
            ("zorka", "db.url") => match database::server(&text()) {
                Some((host, port)) => self.address("server", host, port),
                None => self.set_text("apm.db.url", text()),
            },
            ("zorka", "peer.service") => self.set_text("service.peer.name", text()),
            ("zorka", "peer.address") => {
                if let Some((host, port)) = database::address(&text()) {
                    let is_name = host.parse::<IpAddr>().is_err();
                    self.address(if is_name { "server" } else { "network.peer" }, host, port);
                }
            }
            (_, "exception.class") => self.set_text("exception.type", text()),
            (_, "exception.message") => self.set_text("exception.message", text()),
            (_, "exception.frame") => {
                self.set_text("exception.stacktrace", format!("\tat {}", text()));
            }
            ("dotnet" | "mono" | "jvm", "type") if is_exception => {
                self.set_text("exception.type", text())
            }
            ("dotnet" | "mono" | "jvm", "message") if is_exception => {
                self.set_text("exception.message", text())
            }
            ("dotnet" | "mono" | "jvm", "stack") => {
                let at = if source == "jvm" { "\tat " } else { "   at " };
                let name = if is_exception { "exception.stacktrace" } else { "code.stacktrace" };
                self.set_text(name, innermost_first(&text(), at));
            }
            (_, "method") | ("mono", "site") => {
                self.set_text("code.function.name", function(text()));
            }
            ("dotnet", "name") if kind == "method" => {
                self.set_text("code.function.name", function(text()));
            }
            ("dotnet", "thread") | ("mono", "thread_id") | ("lttng", "ctx.vtid") => {
                self.set("thread.id", whole(value));
            }
            (_, "thread" | "thread_name") => self.set_text("thread.name", text()),
            ("lttng", "ctx.vpid") => self.set("process.pid", whole(value)),
            ("lttng", "ctx.procname") => self.set_text("process.executable.name", text()),
            ("zorka", "attributes")
            | ("lttng" | "dotnet", "fields")
            | ("profiler", "parameters") => {
                self.listed(value);
            }
            ("dotnet", "id") if kind == "application" => {}
            _ => {
                if let Some(value) = Attribute::of(value) {
                    self.set(format!("apm.{}", field(record, name)), value);
                }
            }
        }
    }

    /// A text of `name=value`.
    fn listed(&mut self, value: &'a Value) {
        let Value::Text(text) = value else { return };
        for (name, value) in logfmt::pairs(text) {
            // That is of the resource.
            if !name.starts_with("local.") {
                self.set_text(format!("apm.{name}"), value);
            }
        }
    }

    fn http_method(&mut self, method: &str) {
        let upper = method.to_ascii_uppercase();
        match METHODS.iter().find(|known| **known == upper) {
            Some(known) => self.set_text("http.request.method", *known),
            None => {
                self.set_text("http.request.method", "_OTHER");
                self.set_text("http.request.method_original", method.to_owned());
            }
        }
    }

    fn url(&mut self, url: &str) {
        if url.contains("://") {
            return self.set_text("url.full", without_user(url));
        }
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        self.set_text("url.path", path.to_owned());
        if !query.is_empty() {
            self.set_text("url.query", query.to_owned());
        }
    }

    fn address(&mut self, of: &str, host: &str, port: Option<u16>) {
        self.set_text(format!("{of}.address"), host.to_owned());
        if let Some(port) = port {
            self.set(format!("{of}.port"), Attribute::Int(port.into()));
        }
    }
}

/// `FIELD` of `PROVIDER.EVENT.FIELD`, as parameters of LTTng and of providers of .NET are called.
fn field<'n>(record: &Record, name: &'n str) -> &'n str {
    let source = &*record.origin.full;
    if !matches!(source, "lttng.record" | "dotnet.application") {
        return name;
    }
    let said = ["provider", "event"].into_iter().try_fold(name, |rest, of| match record.get(of) {
        Some(Value::Text(text)) => {
            let behind = rest.get(text.len()..)?.strip_prefix('.')?;
            // Characters that names of metrics do not have are others there.
            let same = |(a, b): (u8, u8)| a == b || !b.is_ascii_alphanumeric();
            rest.bytes().zip(text.bytes()).all(same).then_some(behind)
        }
        _ => Some(rest),
    });
    said.unwrap_or(name)
}

/// `scheme://user:password@host/` without the user.
pub(crate) fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, behind) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{behind}")
}

/// A number that may have come as a text.
fn whole(value: &Value) -> Attribute<'_> {
    match value {
        Value::Text(text) => match text.parse() {
            Ok(number) => Attribute::Int(number),
            Err(_) => Attribute::Text(Cow::Borrowed(text)),
        },
        other => Attribute::of(other).unwrap_or(Attribute::Int(0)),
    }
}

/// `package.Class.method` without arguments.
fn function(method: Cow<'_, str>) -> Cow<'_, str> {
    match method.find('(') {
        Some(end) if end > 0 => {
            Cow::Owned(method.get(..end).unwrap_or_default().trim_end().to_owned())
        }
        _ => method,
    }
}

/// A frame a line, as the runtime prints them. Those of records are outermost first, parted by `;`.
fn innermost_first(stack: &str, at: &str) -> String {
    let mut lines = String::with_capacity(stack.len() + 64);
    for frame in stack.rsplit(';') {
        let gap = if lines.is_empty() { "" } else { "\n" };
        lines.extend([gap, at, frame.trim()]);
    }
    lines
}
