//! The parts of a pod's name (docs/protocols/java-profiler.md A.5).

/// A pod's name `<server name>_<epoch ms>`, split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodName<'a> {
    /// The name without the start time.
    pub server: &'a str,
    /// Start of the JVM, in milliseconds since 1970. The same on all connections of one JVM.
    pub started_ms: Option<i64>,
}

impl<'a> PodName<'a> {
    /// Splits the pod name of a hello.
    #[must_use]
    pub fn of(pod: &'a str) -> Self {
        /// 2001 to 2286: 13 digits. Any other text behind a `_` belongs to the name.
        const MILLISECONDS: std::ops::Range<i64> = 1_000_000_000_000..10_000_000_000_000;
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        let split = pod.rsplit_once('_').filter(|(_, start)| digits(start));
        match split.and_then(|(server, start)| Some((server, start.parse::<i64>().ok()?))) {
            Some((server, ms)) if MILLISECONDS.contains(&ms) => {
                Self { server, started_ms: Some(ms) }
            }
            _ => Self { server: pod, started_ms: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_the_last_part() {
        for (pod, server, started_ms) in [
            (
                "esc-ui-service-8dd5b49fd-2gr2g_1691167327796",
                "esc-ui-service-8dd5b49fd-2gr2g",
                Some(1_691_167_327_796),
            ),
            ("a_b_1795227482421", "a_b", Some(1_795_227_482_421)),
            ("_1795227482421", "", Some(1_795_227_482_421)),
            ("a_17952274824210", "a_17952274824210", None),
            ("a_+179522748242", "a_+179522748242", None),
            ("a_1", "a_1", None),
            ("a_99999999999999999999", "a_99999999999999999999", None),
            ("a", "a", None),
            ("", "", None),
        ] {
            assert_eq!(PodName::of(pod), PodName { server, started_ms }, "{pod}");
        }
    }
}
