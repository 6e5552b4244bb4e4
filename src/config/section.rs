//! [`section!`](crate::section): a section of `apm.toml` as a table of keys. A row yields the
//! field, its default, and the row of `docs/configuration.md`.

use serde::de::DeserializeOwned;

/// One key, as `docs/configuration.md` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Name.
    pub name: &'static str,
    /// The default, as TOML.
    pub default: &'static str,
    /// Accepted values: type, range, unit.
    pub takes: &'static str,
    /// Effect of the key.
    pub text: &'static str,
}

/// A section of `apm.toml`.
pub trait Section: DeserializeOwned + Default + PartialEq + Clone + Send + 'static {
    /// All keys.
    const KEYS: &'static [Key];
}

/// Declares the struct of a section. A row is
///
/// ```text
/// /// Effect of the key.
/// #[serde(deserialize_with = "…")]
/// key: Type = default, "default as TOML", "accepted values";
/// ```
///
/// with `key["name"]` where field and key differ in name.
#[macro_export]
macro_rules! section {
    ($(#[$about:meta])* $name:ident; $(
        $(#[doc = $text:literal])+
        $(#[serde($($serde:tt)+)])?
        $key:ident$([$toml:literal])?: $ty:ty = $default:expr, $shown:literal, $takes:literal;
    )*) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $(
                $(#[doc = $text])+
                $(#[serde($($serde)+)])?
                pub $key: $ty,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        impl $crate::config::Section for $name {
            const KEYS: &'static [$crate::config::Key] = &[$($crate::config::Key {
                name: $crate::section!(@name $key $($toml)?),
                default: $shown,
                takes: $takes,
                text: concat!($($text),+),
            }),*];
        }
    };
    (@name $key:ident) => { stringify!($key) };
    (@name $key:ident $toml:literal) => { $toml };
}
