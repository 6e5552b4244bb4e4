//! Instance domain identifiers; metric identifiers are [`Pmid`](pcp_event::Pmid)s.

use pcp_event::Pmid;
use pcp_sys as sys;

/// `PM_IN_NULL`: the instance of a metric without an instance domain.
pub const IN_NULL: u32 = sys::PM_IN_NULL;

/// Instance domain identifier: domain 9 bits, serial 22 bits, top bit 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InDom(pub u32);

impl InDom {
    /// As pmInDom_build(3). Excess bits are cut.
    #[must_use]
    pub const fn new(domain: u32, serial: u32) -> Self {
        Self((domain & 0x1ff) << 22 | serial & 0x3f_ffff)
    }

    /// Serial number, 0..=4194303.
    #[must_use]
    pub const fn serial(self) -> u32 {
        self.0 & 0x3f_ffff
    }
}

/// A client context of pmcd, by its number. pmcd reuses the numbers of ended contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextId(pub i32);

/// The labels that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LabelTarget {
    /// Labels of all metrics of the PMDA.
    Domain,
    /// Labels of an instance domain.
    InDom(InDom),
    /// Labels of a cluster of metrics, by its number.
    Cluster(u16),
    /// Labels of a metric.
    Metric(Pmid),
    /// Labels of an instance.
    Instance(InDom, u32),
}

/// The help text that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTarget {
    /// Text of a metric.
    Metric(Pmid),
    /// Text of an instance domain.
    InDom(InDom),
}

/// A credential of a client context, as pmcd passes it on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Attribute {
    /// `PCP_ATTR_USERID`; `None` if pmcd's text is not a number.
    UserId(Option<u32>),
    /// `PCP_ATTR_GROUPID`; `None` if pmcd's text is not a number.
    GroupId(Option<u32>),
    /// `PCP_ATTR_PROCESSID`: the process that has connected to pmcd's Unix socket; `None` if pmcd's text is not a
    /// number.
    ProcessId(Option<u32>),
    /// `PCP_ATTR_USERNAME`: the name of an authenticated user.
    UserName(Option<String>),
    /// Another key of `PCP_ATTR_*` with its text.
    Other(i32, Option<String>),
}

impl Attribute {
    pub(crate) fn new(key: i32, text: Option<String>) -> Self {
        let number = || text.as_ref().and_then(|t| t.parse().ok());
        match key {
            sys::PCP_ATTR_USERID => Self::UserId(number()),
            sys::PCP_ATTR_GROUPID => Self::GroupId(number()),
            sys::PCP_ATTR_PROCESSID => Self::ProcessId(number()),
            sys::PCP_ATTR_USERNAME => Self::UserName(text),
            key => Self::Other(key, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indom_is_pcps() {
        // pmInDom_build(60, 3)
        assert_eq!(InDom::new(60, 3), InDom(251_658_243));
        assert_eq!(InDom::new(511, 0x3f_ffff).serial(), 0x3f_ffff);
    }

    #[test]
    fn credentials_are_numbers_or_names() {
        assert_eq!(Attribute::new(11, Some("7".into())), Attribute::UserId(Some(7)));
        assert_eq!(Attribute::new(12, Some("x".into())), Attribute::GroupId(None));
        assert_eq!(Attribute::new(5, None), Attribute::UserName(None));
        assert_eq!(Attribute::new(9, None), Attribute::Other(9, None));
    }
}
