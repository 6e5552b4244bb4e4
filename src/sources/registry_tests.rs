//! The whole configuration, with the sections of all sources.

use super::*;
use crate::config::{Config, Sections as _};
use crate::model::Units;

fn parse(text: &str) -> Result<Config<Sections>, String> {
    Config::parse(text).map_err(|e| e.to_string())
}

#[test]
fn a_source_has_the_name_of_its_line() {
    let names: Vec<_> = TABLES.iter().map(|table| table.name).collect();
    assert_eq!(names, Sections::NAMES);
}

#[test]
fn the_shipped_file_states_the_defaults() {
    let text = include_str!("../../etc/apm.toml");
    assert_eq!(parse(text), Ok(Config::default()));
    let uncommented: String = text
        .lines()
        .map(|l| l.strip_prefix("#= ").unwrap_or(l))
        .map(|l| format!("{l}\n"))
        .collect();
    assert_ne!(text, uncommented, "keys are shown as comments that begin with #=");
    assert_eq!(parse(&uncommented), Ok(Config::default()));
}

#[test]
fn errors_in_a_section_name_the_place_and_what_is_allowed() {
    for (text, parts) in [
        (
            "[mono]\nlissen = 'x'",
            &["line 2", "column 1", "unknown field `lissen`", "`listen`"] as &[_],
        ),
        ("[monno]", &["line 1", "unknown field `monno`", "`mono`", "`events`"]),
        ("[mono]\nlisten = '127.0.0.1'", &["line 2", "column 10", "ADDRESS:PORT"]),
        ("[mono]\nselect = ['nonsense']", &["line 2", "CATEGORY/NAME"]),
        ("[mono]\nfiles = ['relative/path']", &["absolute"]),
        ("[profiler]\nidle = '3s'", &["line 2", "between 15s and 3600s"]),
    ] {
        let message = parse(text).expect_err("must be refused");
        for part in parts {
            assert!(message.contains(part), "{text:?} gave {message:?}, without {part:?}");
        }
    }
}

#[test]
fn every_source_has_rights_of_its_own() {
    for (at, source) in TABLES.iter().enumerate() {
        let config =
            parse(&format!("[events.{}]\nallow_uids = [7]", source.name)).expect(source.name);
        let uids: Vec<_> = config.rights().events.into_iter().map(|allow| allow.uids).collect();
        assert_eq!(uids.len(), TABLES.len());
        assert!(
            uids.iter().enumerate().all(|(n, uids)| (*uids == [7]) == (n == at)),
            "{}: {uids:?}",
            source.name
        );
    }
}

#[test]
fn every_source_describes_its_section() {
    let lines = Sections::default().describe();
    for name in Sections::NAMES {
        assert!(lines.iter().any(|l| l.starts_with(&format!("{name}: "))), "{name}: {lines:?}");
    }
}

/// A row of a section has each default twice: as the value, and as TOML for the page.
#[test]
fn the_defaults_of_the_page_are_the_defaults() {
    let mut text = String::new();
    for (name, keys) in Sections::NAMES.iter().zip(Sections::KEYS) {
        text += &format!("[{name}]\n");
        for key in *keys {
            text += &format!("{} = {}\n", key.name, key.default);
        }
    }
    assert_eq!(parse(&text), Ok(Config::default()));
}

#[cfg(all(feature = "source-list", not(feature = "toy")))]
#[test]
fn the_page_of_the_configuration_is_up_to_date() {
    let page = include_str!("../../docs/configuration.md");
    let made = crate::config::reference::<Sections>();
    assert!(page == made, "docs/configuration.md is stale: run qa/generate");
}

/// The shipped file has every key, commented out or not.
#[cfg(not(feature = "toy"))]
#[test]
fn the_shipped_file_has_every_key() {
    let text = include_str!("../../etc/apm.toml");
    for (name, keys) in Sections::NAMES.iter().zip(Sections::KEYS) {
        let section = text.split_once(&format!("\n[{name}]\n")).expect(name).1;
        let section = section.split("\n[").next().expect("the section");
        for key in *keys {
            let shown = format!("\n#= {} = {}\n", key.name, key.default);
            let block = format!("\n# [[{name}.{}]]\n", key.name);
            assert!(
                section.contains(&shown) || section.contains(&block),
                "{name}.{} is not in etc/apm.toml as {shown:?}",
                key.name
            );
        }
    }
}

/// A sum of what has other units, or of gauges where a counter is shown, would be nonsense.
#[test]
fn leaves_are_made_of_what_they_are() {
    use crate::catalogue::Part;
    use crate::model::{InDom, LEAVES, MetricDef, Semantics};
    for source in TABLES {
        for roll_up in source.leaves(false).iter().chain(source.leaves(true)) {
            let leaf = LEAVES.iter().find(|def| def.leaf == roll_up.leaf).expect("a leaf");
            let fits = |m: &MetricDef| {
                let counters = [m.sem, leaf.sem].map(|sem| sem == Semantics::Counter);
                assert_eq!(
                    (m.units, counters[0]),
                    (leaf.units, counters[1]),
                    "{} {}",
                    leaf.name,
                    m.name
                );
            };
            for part in roll_up.parts {
                match *part {
                    Part::Metrics(items) => items.iter().for_each(|item| {
                        fits(
                            source.metrics.iter().find(|m| m.item == item.get()).expect("a metric"),
                        );
                    }),
                    Part::Rows(item) | Part::Row(item, _) => {
                        let of = |m: &&MetricDef| {
                            m.indom == InDom::Table(item.table()) && m.item == item.get()
                        };
                        fits(source.row_metrics.iter().find(of).expect("a metric of rows"));
                    }
                    Part::Dynamic(_) | Part::Members => {}
                }
            }
        }
    }
}

/// clients/kinds.json, which clients read: what the time of each kind's records is, and which parameters are their length.
#[test]
fn the_times_of_all_kinds_are_told() {
    let told: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(include_str!("../../clients/kinds.json")).expect("JSON");
    let words = |list: &serde_json::Value| {
        let list = list.as_array().into_iter().flatten();
        list.map(|word| word.as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    // Clients do not know the source of examples/toy.
    for source in TABLES.iter().filter(|source| source.name != "toy") {
        for kind in source.events {
            let name = format!("{}.{}", source.name, kind.name);
            let of = told.get(&name).unwrap_or_else(|| panic!("{name} is not there"));
            let (time, length) = (of["time"].as_str().unwrap_or_default(), words(&of["length"]));
            assert_eq!(matches!(time, "start" | "end"), !length.is_empty(), "{name}: {time}");
            assert!(matches!(time, "start" | "end" | "at"), "{name}: {time}");
            let types = of["types"].as_object().into_iter().flatten();
            let all = length.into_iter().chain(types.flat_map(|(_, list)| words(list)));
            let lengths: Vec<_> = all.collect();
            for length in &lengths {
                let param = source.params.iter().find(|param| *param.name == **length);
                let unit = param.map(|param| param.units);
                assert_eq!(unit, Some(Units::Nanoseconds), "{name}: {length}");
            }
            assert_eq!(lengths.is_empty(), kind.table.duration.is_none(), "{name}");
        }
    }
    // Those of trees may not be there yet.
    for name in told.keys().filter(|name| !name.ends_with(".tree")) {
        let (source, kind) = name.split_once('.').expect("SOURCE.KIND");
        let source = TABLES.iter().find(|table| table.name == source).expect("a source");
        assert!(source.events.iter().any(|of| of.name == kind), "{name} is no kind");
    }
}
