//! `dotnet.processes`: which processes are read, by patterns of their names, users, versions and ages.

use std::time::Duration;

/// The oldest release that is read without being named. .NET Core 3 dies of every session now and
/// then while it ends: 12 of 350 programs, and 4 of 150 with nothing but counters.
const SAFE: u16 = 5;

/// An entry: `NAME`, and behind it `;user=NAME`, `;version=RELEASE`, `;age=TIME`, `;counters`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    name: String,
    user: Option<String>,
    version: Option<u16>,
    age: Option<Duration>,
    counters: bool,
}

impl Choice {
    /// The entry of a text.
    ///
    /// # Errors
    /// In words: the condition that is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(';');
        let name = parts.next().unwrap_or_default().to_owned();
        let mut choice = Self { name, user: None, version: None, age: None, counters: false };
        for part in parts {
            let known = match part.split_once('=').unwrap_or((part, "")) {
                ("user", user) if !user.is_empty() => {
                    choice.user = Some(user.to_owned());
                    true
                }
                ("version", version) => {
                    choice.version = version.parse().ok();
                    choice.version.is_some()
                }
                ("age", age) => {
                    choice.age = seconds(age);
                    choice.age.is_some()
                }
                ("counters", "") => {
                    choice.counters = true;
                    true
                }
                _ => false,
            };
            if !known {
                return Err(format!(
                    "{part:?} is none of user=NAME, version=3, age=10min, counters"
                ));
            }
        }
        Ok(choice)
    }

    /// The entries of a configuration for a process of this name and user.
    pub fn of(texts: &[String], name: &str, user: &str) -> Vec<Self> {
        let all = texts.iter().filter_map(|text| Self::parse(text).ok());
        let fits = |choice: &Self| {
            matches(&choice.name, name) && choice.user.as_deref().is_none_or(|of| of == user)
        };
        all.filter(fits).collect()
    }

    /// Whether a runtime of this release is read; `None`: it is not known yet.
    pub(super) fn takes(&self, release: Option<u16>) -> bool {
        let takes = |release| self.version.map_or(release >= SAFE, |of| of == release);
        release.is_none_or(takes)
    }

    /// The age that it must have.
    pub(super) fn age(&self) -> Duration {
        self.age.unwrap_or_default()
    }

    /// The age from which its EventCounters and meters are read too, `otherwise` if the entry has none;
    /// `None`: they are not.
    pub(super) fn counters_age(&self, otherwise: Duration) -> Option<Duration> {
        self.counters.then(|| self.age.unwrap_or(otherwise))
    }
}

/// `10`, `10s`, `10min`, `10h`, `10d`.
fn seconds(text: &str) -> Option<Duration> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let unit = match unit {
        "" | "s" => 1,
        "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    let seconds = number.parse::<u32>().ok()?;
    Some(Duration::from_secs(u64::from(seconds) * unit))
}

/// Whether a name matches a pattern, in which `*` stands for any text.
#[must_use]
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    // The earliest place of each part leaves most for those behind.
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_process_is_chosen_by_name_user_version_and_age() {
        let texts = ["shop*;user=www", "old;version=3;age=10min", "*;counters;version=10"];
        let texts = texts.map(str::to_owned);
        let of = |name, user, release| {
            Choice::of(&texts, name, user).iter().any(|choice| choice.takes(release))
        };
        for (name, user, release, expected) in [
            ("shop1", "www", Some(9), true),
            ("shop1", "bob", Some(9), false),
            ("shop1", "www", Some(3), false),
            ("old", "bob", Some(3), true),
            ("old", "bob", Some(8), false),
            ("any", "bob", Some(10), true),
            ("any", "bob", None, true),
        ] {
            assert_eq!(of(name, user, release), expected, "{name} {user} {release:?}");
        }
        let ages: Vec<_> = texts.iter().map(|text| Choice::parse(text).unwrap().age()).collect();
        assert_eq!(ages, [0, 600, 0].map(Duration::from_secs));
        let minute = Duration::from_secs(60);
        let counters = |text: &str| Choice::parse(text).unwrap().counters_age(minute);
        assert_eq!(counters("*"), None);
        assert_eq!(counters("*;counters;version=10"), Some(minute));
        assert_eq!(counters("*;age=2s;counters"), Some(Duration::from_secs(2)));
        for text in ["a;counters=1", "a;b", "a;version=x", "a;age=5y", "a;user=", "a;age=", "a;"] {
            assert!(Choice::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_star_is_any_text() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "app", true),
            ("app", "app", true),
            ("app", "apps", false),
            ("app*", "apps", true),
            ("*app", "my.app", true),
            ("*app", "apple", false),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "a1c2b", false),
            ("a*a", "a", false),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
