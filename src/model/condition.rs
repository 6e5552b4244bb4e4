//! What is the matter with a peer, in words for operators: while it is connected and when it has
//! gone.

use std::borrow::Cow;

/// What keeps values of a connected peer away, or makes them incomplete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// Nothing: it is heard, or silent.
    #[default]
    Sound,
    /// Values come, but not all: what is wrong.
    Impaired(Cow<'static, str>),
    /// Nothing has come yet: what is waited for.
    Starting(Cow<'static, str>),
    /// The peer is there and is not read: why.
    Unread(Cow<'static, str>),
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// Both sides meant it: a good-bye of the protocol, the end of the process, the end of the
    /// PMDA; or a plain end of a protocol that has no good-bye.
    #[default]
    Regular,
    /// Without a good-bye: a reset, silence, a fault, an end in the middle.
    Lost,
    /// The peer is still there, but is not read.
    Unread,
}

/// The end of a peer's connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Departure {
    /// How it ended.
    pub manner: Manner,
    /// Why, in words: `connection reset`. Empty: not known.
    pub why: Cow<'static, str>,
}

impl Departure {
    /// An end that both sides meant.
    #[must_use]
    pub fn regular(why: impl Into<Cow<'static, str>>) -> Self {
        Self { manner: Manner::Regular, why: why.into() }
    }

    /// An end without a good-bye.
    #[must_use]
    pub fn lost(why: impl Into<Cow<'static, str>>) -> Self {
        Self { manner: Manner::Lost, why: why.into() }
    }

    /// The peer is there and is not read.
    #[must_use]
    pub fn unread(why: impl Into<Cow<'static, str>>) -> Self {
        Self { manner: Manner::Unread, why: why.into() }
    }
}
