//! Versions of the runtime, as ProcessInfo tells them.

/// The version of a runtime: `9.0.7`. [`Default`]: it does not tell, as .NET Core 3.1 and .NET 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The release: 9.
    pub major: u16,
    /// Within the release.
    pub minor: u16,
    /// The servicing update.
    pub patch: u16,
}

impl Version {
    /// The version of a text like `9.0.7`, `10.0.0-preview.3` or `8.0.1+9ac5d`; unknown if it does
    /// not begin with a number.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let end = text.find(['-', '+', ' ']).unwrap_or(text.len());
        let mut parts = text.get(..end).unwrap_or_default().split('.');
        let mut next = || parts.next().and_then(|part| part.parse().ok());
        let Some(major) = next() else { return Self::default() };
        Self { major, minor: next().unwrap_or(0), patch: next().unwrap_or(0) }
    }

    /// The runtime told its version.
    #[must_use]
    pub const fn is_known(self) -> bool {
        self.major != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_texts() {
        for (text, major, minor, patch) in [
            ("9.0.7", 9, 0, 7),
            ("10.0.0-preview.3.25171.5", 10, 0, 0),
            ("8.0.1+9ac5d", 8, 0, 1),
            ("6.0", 6, 0, 0),
            ("", 0, 0, 0),
            ("x.1", 0, 0, 0),
            ("99999999.1.1", 0, 0, 0),
        ] {
            let version = Version::parse(text);
            assert_eq!(version, Version { major, minor, patch }, "{text}");
            assert_eq!(version.is_known(), major != 0);
        }
        assert!(Version::parse("10.0.1") > Version::parse("9.0.7"));
    }
}
