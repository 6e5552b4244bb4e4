//! `docs/configuration.md`, made from the tables of keys.

use std::fmt::Write;

use super::Sections;
use super::access::{Access, AllowKeys, Events};
use super::confine::ConfineKeys;
use super::limits::{LimitKeys, Log};
use super::opener::OpenerKeys;
use super::privacy::{Labels, RedactKeys};
use super::section::{Key, Section};
use super::tls::TlsKeys;
use super::trees::Trees;

const HEAD: &str = "\
# Configuration

The file is `apm.toml`, in `$PCP_SYSCONF_DIR/apm` or where option `-c` says. Every key has a default, so an empty file is one
too. `pmdaapm -c FILE --check` checks a file and prints what it does; `pkill -HUP -x pmdaapm` makes the running PMDA read it
again, and the log names the keys that need a restart. `etc/apm.toml` has longer explanations and examples.

Sizes are numbers with B, KiB, MiB or GiB, times with s, min, h or d.

This page is made by `qa/generate` from the typed configuration.
";

/// The page as Markdown.
#[must_use]
pub fn reference<S: Sections>() -> String {
    let mut out = String::from(HEAD);
    for (name, keys) in S::NAMES.iter().zip(S::KEYS) {
        section(&mut out, &format!("[{name}]"), "", &[keys]);
    }
    let names: Vec<_> = S::NAMES.iter().map(|name| format!("`[events.{name}]`")).collect();
    let own = format!(
        "Event records and who may see them; with nothing allowed by name, everyone on this host \
         and every client that pmcd has authenticated. The keys `allow_*` in {} hold for that \
         source instead.\n\n",
        names.join(", ")
    );
    section(&mut out, "[events]", &own, &[Events::KEYS, AllowKeys::KEYS]);
    let own =
        "The trees of methods of the slowest calls, in event records of the kinds `tree`.\n\n";
    section(&mut out, "[trees]", own, &[Trees::KEYS]);
    let own = "The certificate of the listeners `tls_listen`, and what is asked of clients \
               ([security.md](security.md#tls)).\n\n";
    section(&mut out, "[tls]", own, &[TlsKeys::KEYS]);
    let own = "Who may store with pmstore(1) to controls and filters. The same keys in \
               `[access.control]` and `[access.filter]` hold for the one kind instead; `pmproxy` holds for \
               records too.\n\n";
    section(&mut out, "[access]", own, &[Access::KEYS, AllowKeys::KEYS]);
    let own = "Secrets in texts of peers: command lines, SQL, messages, URLs, answers, rows, event records, lines of \
               the log. Names of processes, services and metrics are not searched. The patterns are those of the \
               [crate regex](https://docs.rs/regex/1/regex/#syntax), one after the other. While there are any, of a text \
               of more than 64 KiB, or with more than 256 matches of one, the rest is cut off. What is in memory when \
               they change stays as it is.\n\n";
    section(&mut out, "[redact]", own, &[RedactKeys::KEYS]);
    section(&mut out, "[labels]", "Labels that can have secrets.\n\n", &[Labels::KEYS]);
    let own = "The process that opens files of other users' processes ([security.md](security.md#the-opener)).\n\n";
    section(&mut out, "[opener]", own, &[OpenerKeys::KEYS]);
    section(&mut out, "[limits]", "Bounds on what peers can cause.\n\n", &[LimitKeys::KEYS]);
    let own = "What threads give up before they read ([security.md](security.md#confinement)); `apm.self.confinement` has \
               what holds.\n\n";
    section(&mut out, "[confine]", own, &[ConfineKeys::KEYS]);
    section(&mut out, "[log]", "", &[Log::KEYS]);
    out
}

fn section(out: &mut String, title: &str, text: &str, keys: &[&[Key]]) {
    let _ = write!(out, "\n## `{title}`\n\n{text}");
    out.push_str("| key | default | takes | effect |\n| --- | --- | --- | --- |\n");
    for Key { name, default, takes, text } in keys.iter().copied().flatten() {
        let _ = writeln!(out, "| `{name}` | `{default}` | {takes} | {} |", text.trim());
    }
}
