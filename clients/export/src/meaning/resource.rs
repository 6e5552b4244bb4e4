//! Whose a record is: a service of a process on a host.

use std::borrow::Cow;

use crate::model::Record;

use super::{Attribute, Attributes, logfmt};

/// A service, as the conventions name one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Service {
    /// `service.namespace`; may be empty.
    pub namespace: Box<str>,
    /// `service.name`; never empty.
    pub name: Box<str>,
}

/// The resource of a record. Records of one instance with different services are of different resources.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Resource {
    /// The service.
    pub service: Service,
    /// The source and the instance of PCP.
    pub of: (Box<str>, Box<str>),
}

impl Service {
    /// The service that a record is of: what the record says, its instance's labels, else a part of the name
    /// of the instance.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let origin = &record.origin;
        let instance = &*origin.instance.name;
        let label = |name: &str| {
            origin.instance.labels.get(name).map(|text| &**text).filter(|text| !text.is_empty())
        };
        let parts: Vec<&str> = instance.split('/').collect();
        let (namespace, name) = match (&*origin.source, parts.as_slice()) {
            ("profiler", [namespace, service, _]) => {
                (label("namespace").unwrap_or(namespace), label("service").unwrap_or(service))
            }
            ("zorka", [service, ..]) => {
                (label("app").unwrap_or(""), label("service").unwrap_or(service))
            }
            ("dotnet" | "mono" | "jvm", _) => {
                let program = instance.rsplit_once(':').map_or(instance, |(program, _)| program);
                ("", label("service").unwrap_or(program))
            }
            ("lttng", _) => ("", label("session").unwrap_or(instance)),
            _ => ("", label("service").unwrap_or(instance)),
        };
        let said =
            if &*origin.source == "zorka" { record.text("service") } else { Cow::Borrowed("") };
        let name = if said.is_empty() { name } else { &*said };
        let name = if name.is_empty() { "unknown_service" } else { name };
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl Resource {
    /// Whose a record is.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let origin = &record.origin;
        let of = (origin.source.clone(), origin.instance.name.clone());
        Self { service: Service::of(record), of }
    }

    /// The resource's attributes; `record`: any of it.
    #[must_use]
    pub fn attributes<'a>(&'a self, record: &'a Record) -> Attributes<'a> {
        let mut found = Attributes::default();
        let (source, instance) = (&*self.of.0, &*self.of.1);
        let labels = &record.origin.instance.labels;
        // Agents of Zorka said it in each record before there were labels.
        let listed = |name: &str| {
            let text =
                if source == "zorka" { record.get("attributes")?.text() } else { return None };
            let found = logfmt::pairs(&text)
                .into_iter()
                .find(|(known, _)| known.strip_prefix("local.") == Some(name));
            found.map(|(_, value)| value.into_owned())
        };
        let label = |name: &str| {
            labels
                .get(name)
                .filter(|text| !text.is_empty())
                .map(|text| text.to_string())
                .or_else(|| listed(name))
        };
        found.set_text("service.name", &*self.service.name);
        let namespace = match &*self.service.namespace {
            "" if source == "zorka" => label("app").unwrap_or_default(),
            known => known.to_owned(),
        };
        if !namespace.is_empty() {
            found.set_text("service.namespace", namespace);
        }
        found.set_text("service.instance.id", instance);
        let host = label("host").unwrap_or_else(|| record.origin.instance.host.to_string());
        let mut set = |name: &'static str, text: Option<String>| {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                found.set_text(name, text);
            }
        };
        set("host.name", Some(host));
        set("deployment.environment.name", label("env"));
        set("container.id", label("container"));
        set("process.runtime.name", label("runtime"));
        set("process.runtime.version", label("jdk").or_else(|| label("version")));
        let language = match source {
            "zorka" | "profiler" | "jvm" => "java",
            "dotnet" | "mono" => "dotnet",
            _ => "",
        };
        set("telemetry.sdk.language", Some(language.to_owned()));
        set("telemetry.sdk.name", Some("pmdaapm".to_owned()));
        set("telemetry.sdk.version", Some(env!("CARGO_PKG_VERSION").to_owned()));
        set("apm.source", Some(source.to_owned()));
        let behind = matches!(source, "dotnet" | "mono" | "jvm")
            .then(|| instance.rsplit_once(':'))
            .flatten();
        let pid = label("pid").or_else(|| behind.map(|(_, pid)| pid.to_owned()));
        if let Some(Ok(pid)) = pid.map(|pid| pid.parse()) {
            found.set("process.pid", Attribute::Int(pid));
        }
        found
    }
}
