//! The streams that there are (spec A.6).

/// What the bytes of a stream are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StreamKind {
    /// `trace`: ENTER, EXIT and TAG of all threads.
    Trace,
    /// `calls`: finished root calls.
    Calls,
    /// `xml`: big values.
    Xml,
    /// `sql`: big values that occur often.
    Sql,
    /// `dictionary`: words with running ids.
    Dictionary,
    /// `posDictionary`: ids and words.
    PosDictionary,
    /// `suspend`: when the JVM was not scheduled.
    Suspend,
    /// `params`: what is known of parameters.
    Params,
    /// `gc`: the JVM's unified log; agents before 3.1.4.
    Gc,
    /// Any other name: bytes that are only counted.
    Opaque,
}

impl StreamKind {
    /// Of the name that a stream is opened with.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            "trace" => Self::Trace,
            "calls" => Self::Calls,
            "xml" => Self::Xml,
            "sql" => Self::Sql,
            "dictionary" => Self::Dictionary,
            "posDictionary" => Self::PosDictionary,
            "suspend" => Self::Suspend,
            "params" => Self::Params,
            "gc" => Self::Gc,
            _ => Self::Opaque,
        }
    }

    /// Agents may be told to reopen it from time to time; the others are needed whole (spec A.6).
    #[must_use]
    pub const fn rotates(self) -> bool {
        !matches!(self, Self::Dictionary | Self::PosDictionary | Self::Params)
    }
}
