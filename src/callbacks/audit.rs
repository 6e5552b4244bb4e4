//! One line of the log for each store: who, from where, to what, which value, and whether it was done.

use std::time::Duration;

use super::credentials::Credentials;
use crate::model::cut;
use crate::model::redact::Redact;

/// Most bytes of a value in a line.
const VALUE: usize = 200;
/// Time in which there are so many [`LINES`].
const EVERY: Duration = Duration::from_secs(60);
/// Most lines in that time of stores that everybody may ask for: of those that are refused, and of filters.
const LINES: u32 = 20;

/// What was stored, or was to be.
#[derive(Debug)]
pub(super) struct Stored<'a> {
    /// Who stored.
    pub(super) who: String,
    /// The metric.
    pub(super) metric: &'a str,
    /// The text.
    pub(super) value: &'a str,
    /// Whom it went to, or nothing.
    pub(super) to: String,
    /// It was refused, and why.
    pub(super) refused: Option<String>,
    /// It is a filter, which everybody on this host may set.
    pub(super) is_filter: bool,
}

impl Stored<'_> {
    fn line(&self, redact: &Redact) -> String {
        let Self { who, metric, to, .. } = self;
        let value = redact.text(self.value);
        let shown = cut(&value, VALUE);
        let more = if shown.len() < value.len() { "…" } else { "" };
        let done =
            self.refused.as_deref().map_or("allowed".into(), |why| format!("refused: {why}"));
        format!("store by {who}: {metric}{to} {shown:?}{more}: {done}")
    }
}

/// Counts the lines that are not written, so that none is lost without a trace.
#[derive(Debug, Default)]
pub(super) struct Audit {
    since: Option<Duration>,
    /// Of those that are refused, and of filters.
    lines: [u32; 2],
    unwritten: u64,
}

impl Audit {
    /// The lines for a store, if it has some.
    fn lines(&mut self, stored: &Stored<'_>, redact: &Redact, now: Duration) -> Vec<String> {
        let rest: Vec<_> = self.settled(now).into_iter().collect();
        let [refused, filters] = &mut self.lines;
        let lines = match stored {
            Stored { refused: Some(_), .. } => Some(refused),
            Stored { is_filter, .. } => is_filter.then_some(filters),
        };
        if let Some(lines) = lines {
            self.since.get_or_insert(now);
            if *lines >= LINES {
                self.unwritten += 1;
                return rest;
            }
            *lines += 1;
        }
        rest.into_iter().chain([stored.line(redact)]).collect()
    }

    /// The line for those that had none in the time that has passed.
    fn settled(&mut self, now: Duration) -> Option<String> {
        let passed = self.since.is_some_and(|since| now.saturating_sub(since) >= EVERY);
        if !passed {
            return None;
        }
        let unwritten = std::mem::take(self).unwritten;
        (unwritten > 0).then(|| {
            format!("store: {unwritten} more, refused ones and filters, since the last line")
        })
    }

    /// Logs a store.
    pub(super) fn log(&mut self, stored: &Stored<'_>, redact: &Redact, now: Duration) {
        for line in self.lines(stored, redact, now) {
            if stored.refused.is_some() { log::warn!("{line}") } else { log::info!("{line}") }
        }
    }

    /// Logs how many had no line; to be called again and again.
    pub(super) fn settle(&mut self, now: Duration) {
        self.settled(now).into_iter().for_each(|line| log::warn!("{line}"));
    }
}

impl Credentials {
    /// User and host, as far as pmcd tells them: of the Unix socket the user, of a connection over TCP the name
    /// that it has authenticated, and never its host.
    pub(super) fn audited(&self) -> String {
        match (self.user(), self.uid()) {
            _ if self.is_pmproxy() => match self.user() {
                Some(user) => format!("user {user:?} through pmproxy, host unknown"),
                None => "uid unknown through pmproxy, host unknown".into(),
            },
            (Some(user), Some(uid)) => format!("uid {uid} (user {user:?}), host unknown"),
            (Some(user), None) => format!("user {user:?}, host unknown"),
            (None, Some(uid)) => format!("uid {uid}, host local"),
            (None, None) => "uid unknown, host unknown".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::redact::Pattern;

    fn stored(value: &str, refused: Option<&str>) -> String {
        let who = Credentials::of(Some(7), None, None).audited();
        let refused = refused.map(str::to_owned);
        let stored =
            Stored { who, metric: "apm.x", value, to: String::new(), refused, is_filter: false };
        let pattern = Pattern::try_from("key=\\S+".to_owned()).expect("a pattern");
        stored.line(&Redact::new(vec![pattern], "***".into()))
    }

    #[test]
    fn a_line_has_who_where_what_and_why() {
        for (value, refused, line) in [
            ("GC/*", None, "\"GC/*\": allowed"),
            (
                "a\n2026 forged\u{1b}[2J\u{202e}",
                None,
                r#""a\n2026 forged\u{1b}[2J\u{202e}": allowed"#,
            ),
            ("key=1 x", Some("no"), "\"*** x\": refused: no"),
        ] {
            assert_eq!(stored(value, refused), format!("store by uid 7, host local: apm.x {line}"));
        }
        assert!(stored(&"é".repeat(2000), None).len() < VALUE + 60);
        let shown = |uid, user| Credentials::of(uid, user, None).audited();
        assert_eq!(shown(Some(7), Some("a\nb")), "uid 7 (user \"a\\nb\"), host unknown");
        assert_eq!(shown(None, None), "uid unknown, host unknown");
        let proxied = Credentials::of_pmproxy(Some(0), None).audited();
        assert_eq!(proxied, "uid unknown through pmproxy, host unknown");
    }

    #[test]
    fn the_log_does_not_fill_and_nothing_is_left_uncounted() {
        let mut audit = Audit::default();
        let redact = Redact::default();
        let mut at = |seconds, refused: bool, is_filter| {
            let refused = refused.then(|| "no".to_owned());
            let (who, to) = (String::new(), String::new());
            let stored = Stored { who, metric: "m", value: "v", to, refused, is_filter };
            audit.lines(&stored, &redact, Duration::from_secs(seconds))
        };
        let written: usize = (0..1000).map(|n| at(5 + n / 20, n % 2 == 0, true).len()).sum();
        assert_eq!(written, 40);
        assert_eq!(at(60, false, false).len(), 1, "what only few may do is always there");
        assert_eq!(at(64, true, false), [""; 0]);
        let lines = at(65, true, false);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0], "store: 961 more, refused ones and filters, since the last line");
        assert_eq!(audit.settled(Duration::from_secs(1000)), None);
        assert_eq!(audit.since, None);
    }
}
