//! Deserializers of values with units and bounds, for any section. The user sees their errors with
//! line and column.

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
///
/// # Errors
/// The value is of another type or out of bounds.
pub fn count<'de, D: Deserializer<'de>, const MIN: u64, const MAX: u64>(
    d: D,
) -> Result<u64, D::Error> {
    let n = u64::deserialize(d)?;
    if (MIN..=MAX).contains(&n) {
        Ok(n)
    } else {
        Err(D::Error::custom(format!("{n} must be between {MIN} and {MAX}")))
    }
}

/// At most `MAX` different names of 1 to `BYTES` bytes, without control characters.
///
/// # Errors
/// The value is of another type or out of bounds.
pub fn names<'de, D: Deserializer<'de>, const MAX: usize, const BYTES: usize>(
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

/// A text of at most `BYTES` bytes, without control characters.
///
/// # Errors
/// The value is of another type or out of bounds.
pub fn text<'de, D: Deserializer<'de>, const BYTES: usize>(d: D) -> Result<String, D::Error> {
    let text = String::deserialize(d)?;
    if text.len() > BYTES || text.chars().any(char::is_control) {
        return Err(D::Error::custom(format!(
            "a text of at most {BYTES} bytes without control characters is needed"
        )));
    }
    Ok(text)
}

/// A size in bytes within bounds: a number of bytes or `"32MiB"`.
///
/// # Errors
/// The value is of another type or out of bounds.
pub fn bytes<'de, D: Deserializer<'de>, const MIN: u64, const MAX: u64>(
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
///
/// # Errors
/// The value is of another type or out of bounds.
pub fn period<'de, D: Deserializer<'de>, const MIN: u64, const MAX: u64>(
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

/// A time within bounds (in milliseconds): a number of seconds or `"100ms"`.
///
/// # Errors
/// The value is of another type or out of bounds.
pub fn short_period<'de, D: Deserializer<'de>, const MIN: u64, const MAX: u64>(
    d: D,
) -> Result<Duration, D::Error> {
    const UNITS: &[(&str, u64)] =
        &[("", 1000), ("ms", 1), ("s", 1000), ("sec", 1000), ("min", 60_000)];
    let n = scaled(d, UNITS, "100ms")?;
    let bounds = || format!("{n}ms must be between {MIN}ms and {MAX}ms");
    if (MIN..=MAX).contains(&n) {
        Ok(Duration::from_millis(n))
    } else {
        Err(D::Error::custom(bounds()))
    }
}

/// An address to listen on, or empty for none.
///
/// # Errors
/// The value is of another type or out of bounds.
pub fn listen<'de, D: Deserializer<'de>>(d: D) -> Result<Option<SocketAddr>, D::Error> {
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

/// The line of `--check` for an address to listen on.
#[must_use]
pub fn listens(address: Option<SocketAddr>) -> String {
    address.map_or_else(|| "listens on nowhere".to_owned(), |a| format!("listens on {a}"))
}

/// The line of `--check` for an address to listen on with TLS, if there is one.
pub fn listens_with_tls(address: Option<SocketAddr>) -> Option<String> {
    address.map(|a| format!("listens with TLS on {a}"))
}

/// An absolute path, or empty for none.
///
/// # Errors
/// The value is of another type or out of bounds.
pub fn path<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    let path = text::<D, 4096>(d)?;
    if path.is_empty() || path.starts_with('/') {
        Ok(path)
    } else {
        Err(D::Error::custom(format!("{path:?} is no absolute path")))
    }
}

/// Absolute paths; the last component may contain `*`.
///
/// # Errors
/// The value is of another type or out of bounds.
pub fn files<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<PathBuf>, D::Error> {
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

/// Addresses and networks.
///
/// # Errors
/// The value is of another type or out of bounds.
pub fn networks<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Network>, D::Error> {
    let texts = Vec::<String>::deserialize(d)?;
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

/// A log level.
///
/// # Errors
/// The value is of another type or out of bounds.
pub fn level<'de, D: Deserializer<'de>>(d: D) -> Result<log::LevelFilter, D::Error> {
    let text = String::deserialize(d)?;
    text.parse().map_err(|_| {
        D::Error::custom(format!("{text:?} is none of off, error, warn, info, debug, trace"))
    })
}

/// A size in bytes within bounds, as [`bytes()`] reads it.
pub(super) struct Bytes<const MIN: u64, const MAX: u64>(pub(super) u64);

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Bytes<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        bytes::<D, MIN, MAX>(d).map(Self)
    }
}

/// A count within bounds, as [`count`] reads it.
pub(super) struct Count<const MIN: u64, const MAX: u64>(pub(super) u64);

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Count<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        count::<D, MIN, MAX>(d).map(Self)
    }
}

/// Addresses and networks, as [`networks`] reads them.
pub(super) struct Networks(pub(super) Vec<Network>);

impl<'de> Deserialize<'de> for Networks {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        networks(d).map(Self)
    }
}
