//! Help texts of metrics and instance domains.

use pmda::TextTarget;

use super::entries::Entries;
use crate::catalogue::Catalogue;

/// The one-line or the long help text; `None` for an unknown metric or instance domain.
pub(super) fn of(
    target: TextTarget,
    one_line: bool,
    catalogue: &Catalogue,
    entries: &Entries,
) -> Option<String> {
    let (oneline, help): (&str, &str) = match target {
        TextTarget::Metric(pmid) => {
            let row = entries.by_pmid(pmid.0)?;
            (&row.oneline, &row.help)
        }
        TextTarget::InDom(indom) => catalogue.indom_help(indom.serial())?,
    };
    Some(if one_line { oneline.to_owned() } else { crate::generate::wrapped(help) })
}
