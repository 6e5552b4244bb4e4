//! Counters that exist before a process has reported one: a node of the name space without a leaf
//! would look broken. They are those of ASP.NET Core's host, in the runtime's own words.

use super::spec::{Description, Facet};
use crate::model::MetricSpec;

const HOSTING: &str = "Microsoft.AspNetCore.Hosting";
/// Kind, name and display name. Their order determines ids: only append.
const COUNTERS: [(Facet, &str, &str); 4] = [
    (Facet::Sum, "requests-per-second", "Request Rate"),
    (Facet::Mean, "total-requests", "Total Requests"),
    (Facet::Mean, "current-requests", "Current Requests"),
    (Facet::Mean, "failed-requests", "Failed Requests"),
];

/// `Dynamic::initial`.
pub(in crate::sources::dotnet) fn known() -> Vec<MetricSpec> {
    COUNTERS
        .map(|(facet, name, text)| {
            Description { facet, unit: "", group: HOSTING, name, text }.spec()
        })
        .to_vec()
}
