//! The list of all sources: one line each. A line yields the source's section of `apm.toml`, its
//! metrics, its lines of `--check`, and its start.

#[cfg(feature = "agent")]
use std::path::Path;
use std::sync::Arc;

use serde::de::{Error, MapAccess};

use crate::catalogue::{Catalogue, CatalogueError, SourceTable, assert_apart};
use crate::config;
#[cfg(feature = "agent")]
use crate::host::Host;
#[cfg(feature = "agent")]
use crate::host::opener::{Errand, Names, Opener};
use crate::model::Grants;
#[cfg(feature = "agent")]
use crate::model::SourceId;
#[cfg(feature = "agent")]
use crate::net::Net;
#[cfg(feature = "agent")]
use crate::store::Store;

/// Lines `name: path::of::Type`: the type is a [`Source`](super::Source), the name that of its
/// table. `name in "file"` is for a source whose module is declared nowhere else.
macro_rules! sources {
    ($($(#[$when:meta])* $name:ident $(in $path:literal)?: $source:ty,)*) => {
        $(sources!(@module [$(#[$when])*] $name $($path)?);)*

        /// The tables of all sources, in the order of the list.
        pub const TABLES: &[SourceTable] = &[$($(#[$when])* <$source as crate::sources::Source>::TABLE),*];

        $($(#[$when])* const _: () = <$source as crate::sources::Source>::TABLE.assert_sound();)*
        const _: () = assert_apart(TABLES);

        /// The sections of all sources.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Sections {
            $(
                $(#[$when])*
                #[doc = concat!("`[", stringify!($name), "]`")]
                pub $name: <$source as crate::sources::Source>::Config,
            )*
        }

        impl config::Sections for Sections {
            const NAMES: &'static [&'static str] = &[$($(#[$when])* stringify!($name)),*];
            const KEYS: &'static [&'static [config::Key]] = &[$(
                $(#[$when])* <<$source as crate::sources::Source>::Config as config::Section>::KEYS
            ),*];

            fn read<'de, A: MapAccess<'de>>(
                &mut self,
                name: &str,
                #[allow(unused_variables, reason = "there may be no source")] map: &mut A,
            ) -> Result<(), A::Error> {
                match name {
                    $($(#[$when])* stringify!($name) => self.$name = map.next_value()?,)*
                    _ => return Err(A::Error::custom(format!("no source is called {name}"))),
                }
                #[allow(unreachable_code, reason = "there may be no source")]
                Ok(())
            }
        }

        impl Sections {
            /// The effects of the sections: lines of `--check`.
            #[must_use]
            pub fn describe(&self) -> Vec<String> {
                #[allow(unused_mut, reason = "there may be no source")]
                let mut lines = Vec::new();
                $(
                    $(#[$when])*
                    for line in <$source as crate::sources::Source>::describe(&self.$name) {
                        lines.push(format!("{}: {line}", stringify!($name)));
                    }
                )*
                lines
            }

            /// What the opener may do for them.
            #[must_use]
            pub fn grants(&self) -> Grants {
                let all = [$($(#[$when])* <$source as crate::sources::Source>::grants(&self.$name)),*];
                all.into_iter().fold(Grants::default(), Grants::or)
            }

            /// Where all listen, by keys with the name of their section.
            #[must_use]
            pub fn listens(&self) -> Vec<(String, crate::model::Listening)> {
                #[allow(unused_mut, reason = "there may be no source")]
                let mut all = Vec::new();
                $(
                    $(#[$when])*
                    for (key, place) in <$source as crate::sources::Source>::listens(&self.$name) {
                        all.push((format!("{}.{key}", stringify!($name)), place));
                    }
                )*
                all
            }
        }

        /// Files and sockets of processes that the sources read.
        #[cfg(feature = "agent")]
        pub const OPENED: Names =
            Names(&[$($(#[$when])* <$source as crate::sources::Source>::OPENED),*]);

        /// What sources have done in processes of their own.
        #[cfg(feature = "agent")]
        #[must_use]
        pub fn errands() -> Vec<Errand> {
            let all = [$($(#[$when])* <$source as crate::sources::Source>::ERRAND),*];
            all.into_iter().flatten().collect()
        }

        /// All started sources.
        #[cfg(feature = "agent")]
        pub struct Started {
            $($(#[$when])* $name: Box<dyn super::Running<<$source as crate::sources::Source>::Config>>,)*
        }

        #[cfg(feature = "agent")]
        impl Started {
            /// Starts all sources.
            ///
            /// # Errors
            /// A source cannot be started.
            #[allow(unused_variables, unused_mut, reason = "there may be no source")]
            pub fn start(
                sections: &Sections,
                store: &Arc<Store>,
                net: &Net,
                state_dir: &Path,
                opener: Option<Arc<Opener>>,
            ) -> std::io::Result<Self> {
                let mut ids = (0..).map(SourceId::new);
                let foreign = super::foreign::ForeignReaders::default();
                let host = Host::with_opener("/proc".into(), opener);
                let started = Self {
                    $(
                        $(#[$when])*
                        $name: {
                            // The catalogue has the sources in the order of this list.
                            let source = ids.next().unwrap_or(SourceId::new(0));
                            let context = super::Context {
                                peers: crate::net::Peers::new(store, source, stringify!($name)),
                                net: net.clone(),
                                state_dir: state_dir.to_owned(),
                                foreign: foreign.clone(),
                                host: Arc::clone(&host),
                            };
                            <$source as crate::sources::Source>::start(sections.$name.clone(), context)?
                        },
                    )*
                };
                let stop = net.stop().clone();
                let twins = crate::twins::run(Arc::clone(store), Arc::clone(&host));
                net.spawn(async move {
                    let _ = stop.run_until_cancelled(twins).await;
                });
                let stop = net.stop().clone();
                net.spawn(async move {
                    // A scan that hangs must not hold up the end.
                    let _ = stop.run_until_cancelled(host.run()).await;
                });
                Ok(started)
            }

            /// Applies new sections to all sources. Returns the keys that need a restart, as
            /// `section.key`.
            #[must_use]
            #[allow(unused_variables, unused_mut, reason = "there may be no source")]
            pub fn reconfigure(&self, new: &Sections) -> Vec<String> {
                let mut keys = Vec::new();
                $(
                    $(#[$when])*
                    for key in self.$name.reconfigure(&new.$name) {
                        keys.push(format!("{}.{key}", stringify!($name)));
                    }
                )*
                keys
            }
        }
    };
    (@module [$($when:tt)*] $name:ident) => {};
    (@module [$($when:tt)*] $name:ident $path:literal) => {
        $($when)*
        #[path = $path]
        pub mod $name;
    };
}

sources! {
    #[cfg(feature = "mono")] mono: super::mono::Mono,
    #[cfg(feature = "profiler")] profiler: super::profiler::Profiler,
    #[cfg(feature = "lttng")] lttng: super::lttng::Lttng,
    #[cfg(feature = "zorka")] zorka: super::zorka::Zorka,
    #[cfg(feature = "dotnet")] dotnet: super::dotnet::Dotnet,
    #[cfg(feature = "jvm")] jvm: super::jvm::Jvm,
    #[cfg(feature = "toy")] toy in "../../examples/toy/mod.rs": toy::Toy,
}

/// The catalogue of all sources that are built in.
///
/// # Errors
/// The tables contradict each other in a way that the compiler cannot see.
pub fn build() -> Result<Arc<Catalogue>, CatalogueError> {
    Catalogue::new(TABLES).map(Arc::new)
}

/// [`build`], for tests and benches.
///
/// # Panics
/// The tables contradict each other.
#[must_use]
pub fn catalogue() -> Arc<Catalogue> {
    build().unwrap_or_else(|contradictions| panic!("{contradictions}"))
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
