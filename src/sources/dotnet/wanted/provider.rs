//! What a session asks of one provider.

/// One provider of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// Its events that have one of these bits, or none at all.
    pub keywords: u64,
    /// Its events of this level and below: 1 critical to 5 verbose.
    pub level: u32,
    /// `key=value;key="v;w"`; empty: none.
    pub arguments: String,
    /// Its only events, by id; empty: all. Runtimes before .NET 10 cannot be asked for that.
    pub only: Vec<u32>,
}

impl Provider {
    /// A provider without arguments and filter.
    pub(super) fn new(name: &str, keywords: u64, level: u32) -> Self {
        Self { name: name.to_owned(), keywords, level, arguments: String::new(), only: Vec::new() }
    }

    /// The same with an argument more.
    pub(super) fn with(mut self, argument: &str) -> Self {
        self.argue(argument);
        self
    }

    fn argue(&mut self, argument: &str) {
        if !self.arguments.is_empty() && !argument.is_empty() {
            self.arguments.push(';');
        }
        self.arguments.push_str(argument);
    }

    /// Bytes of the provider in a request, an upper bound: numbers, two texts of UTF-16 with their
    /// length and NUL, the filter (docs/protocols/dotnet.md 2).
    #[must_use]
    pub fn bytes(&self) -> usize {
        let text = |text: &str| 4 + 2 * (text.encode_utf16().count() + 1);
        12 + text(&self.name) + text(&self.arguments) + 5 + 4 * self.only.len()
    }

    /// Adds what another entry asks of the same provider. A session has one level and one set of
    /// keywords for a provider, so events may come that neither entry asked for.
    pub(super) fn join(&mut self, other: &Self) {
        self.keywords |= other.keywords;
        self.level = self.level.max(other.level);
        self.argue(&other.arguments);
        if other.only.is_empty() || self.only.is_empty() {
            self.only = Vec::new();
        } else {
            self.only.extend(&other.only);
            self.only.sort_unstable();
            self.only.dedup();
        }
    }
}
