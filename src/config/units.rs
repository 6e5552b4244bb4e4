//! Readers of values with units and bounds. Their messages reach the user behind a line and a
//! column.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::model::Network;
use crate::read::{SIZES, quantity};

/// A number, or a text with a unit.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a whole number, or a text with a number and a unit")]
enum Quantity {
    Number(u64),
    Text(String),
}

fn scaled<'de, D: Deserializer<'de>>(
    d: D,
    units: &[(&str, u64)],
    example: &str,
) -> Result<u64, D::Error> {
    let text = match Quantity::deserialize(d)? {
        Quantity::Number(n) => n.to_string(),
        Quantity::Text(t) => t,
    };
    quantity(&text, units, example).map_err(D::Error::custom)
}

/// A count within bounds.
pub(crate) fn count<'de, D: Deserializer<'de>, const MIN: u64, const MAX: u64>(
    d: D,
) -> Result<u64, D::Error> {
    let n = u64::deserialize(d)?;
    if (MIN..=MAX).contains(&n) {
        Ok(n)
    } else {
        Err(D::Error::custom(format!("{n} must be between {MIN} and {MAX}")))
    }
}

/// So many different names of so many bytes, without control characters.
pub(crate) fn names<'de, D: Deserializer<'de>, const MAX: usize, const BYTES: usize>(
    d: D,
) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(d)?;
    if names.len() > MAX {
        return Err(D::Error::custom(format!("{} names; at most {MAX} can be given", names.len())));
    }
    for (at, name) in names.iter().enumerate() {
        if name.is_empty() || name.len() > BYTES || name.chars().any(char::is_control) {
            return Err(D::Error::custom(format!(
                "{name:?} must be a name of 1 to {BYTES} bytes without control characters"
            )));
        }
        if names.iter().take(at).any(|other| other == name) {
            return Err(D::Error::custom(format!("{name:?} is there twice")));
        }
    }
    Ok(names)
}

/// A size in bytes within bounds: a number of bytes or `"32MiB"`.
pub(crate) fn bytes<'de, D: Deserializer<'de>, const MIN: u64, const MAX: u64>(
    d: D,
) -> Result<u64, D::Error> {
    let shown = |n: u64| {
        let unit =
            SIZES.iter().rev().find(|u| n >= u.1 && n.is_multiple_of(u.1)).unwrap_or(&("B", 1));
        format!("{}{}", n / unit.1, unit.0)
    };
    let n = scaled(d, SIZES, "32MiB")?;
    let bounds = || format!("{} must be between {} and {}", shown(n), shown(MIN), shown(MAX));
    if (MIN..=MAX).contains(&n) { Ok(n) } else { Err(D::Error::custom(bounds())) }
}

/// A time within bounds (in seconds): a number of seconds or `"10s"`.
pub(crate) fn period<'de, D: Deserializer<'de>, const MIN: u64, const MAX: u64>(
    d: D,
) -> Result<Duration, D::Error> {
    const UNITS: &[(&str, u64)] =
        &[("", 1), ("s", 1), ("sec", 1), ("min", 60), ("h", 3600), ("d", 86_400)];
    let n = scaled(d, UNITS, "10s")?;
    let bounds = || format!("{n}s must be between {MIN}s and {MAX}s");
    if (MIN..=MAX).contains(&n) {
        Ok(Duration::from_secs(n))
    } else {
        Err(D::Error::custom(bounds()))
    }
}

/// An address to listen on, or empty for none.
pub(crate) fn listen<'de, D: Deserializer<'de>>(d: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(d)?;
    if text.is_empty() {
        return Ok(None);
    }
    let help = || {
        format!(
            "{text:?} is not ADDRESS:PORT, for example \"127.0.0.1:8888\" or \"[::1]:8888\"; \"\" listens nowhere"
        )
    };
    text.parse().map(Some).map_err(|_| D::Error::custom(help()))
}

/// Absolute paths; the last component may hold `*`.
pub(crate) fn files<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<PathBuf>, D::Error> {
    let paths = Vec::<PathBuf>::deserialize(d)?;
    for path in &paths {
        let in_folder = path.parent().is_some_and(|p| p.to_string_lossy().contains('*'));
        if !path.is_absolute() || path.file_name().is_none() || in_folder {
            let help = "an absolute path is needed, for example \"/var/log/app/*.counters\" (* in the last component only)";
            return Err(D::Error::custom(format!("{}: {help}", path.display())));
        }
    }
    Ok(paths)
}

/// Patterns `CATEGORY/NAME`.
pub(crate) fn patterns<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let patterns = Vec::<String>::deserialize(d)?;
    for p in &patterns {
        if p.split_once('/').is_none_or(|(category, name)| category.is_empty() || name.is_empty()) {
            let help =
                "a pattern is CATEGORY/NAME, for example \"GC/*\" or \"JIT/Compiled methods\"";
            return Err(D::Error::custom(format!("{p:?}: {help}")));
        }
    }
    Ok(patterns)
}

/// Addresses and networks.
pub(crate) fn networks<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Network>, D::Error> {
    let texts = Vec::<String>::deserialize(d)?;
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

/// A log level.
pub(crate) fn level<'de, D: Deserializer<'de>>(d: D) -> Result<log::LevelFilter, D::Error> {
    let text = String::deserialize(d)?;
    text.parse().map_err(|_| {
        D::Error::custom(format!("{text:?} is none of off, error, warn, info, debug, trace"))
    })
}
