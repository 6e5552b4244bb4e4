//! The name and labels of an agent (docs/protocols/zorka.md 10.2).

use super::key::{clean, digits};
use crate::sources::zorka::limits::NAME;
use crate::sources::zorka::names::Names;
use crate::sources::zorka::wire::body::{AttributeValue, TraceBody};

/// What is known of an agent beside its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) service: String,
    pub(crate) host: String,
    pub(crate) pid: String,
    pub(crate) app: String,
    pub(crate) env: String,
}

impl Facts {
    /// Takes over what the attributes of a body say; `false`: nothing.
    pub(crate) fn learn(&mut self, body: &TraceBody, bytes: &[u8], names: &Names) -> bool {
        let mut found = false;
        for attribute in &body.attributes {
            let Some(name) = names.symbol(attribute.name) else { continue };
            let Some(name) = name.strip_prefix("local.") else { continue };
            let field = match name {
                "service" => &mut self.service,
                "host" | "hostname" => &mut self.host,
                "pid" => &mut self.pid,
                "app" => &mut self.app,
                "env" => &mut self.env,
                _ => continue,
            };
            let value = match attribute.value {
                AttributeValue::Text(text) => clean(&String::from_utf8_lossy(text.of(bytes)), NAME),
                AttributeValue::Int(n) => n.to_string(),
                _ => continue,
            };
            // The text of an environment variable that is not set.
            if value.is_empty() || value == "null" {
                continue;
            }
            found = true;
            if field.is_empty() {
                *field = value;
            }
        }
        found
    }

    /// Nothing more can change the agent's name.
    pub(crate) const fn is_complete(&self) -> bool {
        !self.service.is_empty() && !self.host.is_empty()
    }

    /// The name of an agent that has not registered: `service/host`, or `host/digits`.
    pub(crate) fn name(&self, address: &str, session: &str) -> String {
        let host = if self.host.is_empty() { address } else { &self.host };
        match self.service.as_str() {
            "" => format!("{host}/{}", digits(session)),
            service => format!("{service}/{host}"),
        }
    }

    /// The service of an agent with this name.
    pub(crate) fn service<'a>(&'a self, name: &'a str) -> &'a str {
        [&*self.service, &*self.app].into_iter().find(|service| !service.is_empty()).unwrap_or(name)
    }

    /// Labels of the instance.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&'static str, String)> {
        let Self { service, host, pid, app, env } = self;
        let all = [("app", app), ("env", env), ("service", service), ("host", host), ("pid", pid)];
        all.into_iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k, v.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sources::zorka::wire::body::{Attribute, Slice};

    #[test]
    fn the_first_attributes_name_the_agent() {
        let mut names = Names::new(&Arc::default());
        for (id, name) in [(1, "local.service"), (2, "local.host"), (3, "local.pid"), (4, "x")] {
            names.define_symbol(id, name.as_bytes());
        }
        let bytes = b"shop\nnull web 1";
        let text = |start, end| AttributeValue::Text(Slice { start, end });
        let body = |all: &[(u32, AttributeValue)]| {
            let all = all.iter().map(|(name, value)| (*name, *value));
            let mut body = TraceBody::default();
            body.attributes =
                all.map(|(name, value)| Attribute { record: 0, name, value }).collect();
            body
        };
        let mut facts = Facts::default();
        assert!(!facts.learn(&body(&[(4, text(0, 4)), (1, text(5, 9))]), bytes, &names));
        assert_eq!(facts.name("10.0.0.1", "0123456789abcdef"), "10.0.0.1/01234567");
        let some = [(2, text(10, 15)), (3, AttributeValue::Int(7))];
        assert!(facts.learn(&body(&some), bytes, &names));
        assert_eq!(facts.name("10.0.0.1", "0123456789abcdef"), "web_1/01234567");
        assert!(facts.learn(&body(&[(1, text(0, 5)), (2, text(0, 1))]), bytes, &names));
        assert_eq!(facts.name("10.0.0.1", "0"), "shop/web_1");
        let labels: Vec<_> = facts.labels().map(|(name, _)| name).collect();
        assert_eq!(labels, ["service", "host", "pid"]);
    }
}
