//! Whose a record is: a service of a process on a host.

use std::borrow::Cow;

use super::Attributes;
use crate::model::Record;

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

impl Resource {
    /// Whose a record is.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let origin = &record.origin;
        Self {
            service: Service { namespace: "".into(), name: origin.instance.name.clone() },
            of: (origin.source.clone(), origin.instance.name.clone()),
        }
    }

    /// The resource's attributes, with labels of its instance; `record`: any of it.
    #[must_use]
    pub fn attributes<'a>(&'a self, record: &'a Record) -> Attributes<'a> {
        let mut found = Attributes::default();
        found.set_text("service.name", Cow::Borrowed(&*self.service.name));
        found.set_text("host.name", Cow::Borrowed(&*record.origin.instance.host));
        found
    }
}
