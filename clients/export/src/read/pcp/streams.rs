//! Which kinds of events there are.

use pmda::client::{Context, Desc};

/// A kind of event, and the metric with its records.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) source: String,
    pub(super) kind: String,
    pub(super) desc: Desc,
    /// The PMDA knows of the filter, if there is one: it is read.
    pub(super) chosen: bool,
}

/// All kinds that were asked for. An archive has one of the two resolutions, whichever was logged. Of both it is the
/// finer one.
pub(super) fn streams(
    context: &Context,
    name: &str,
    wanted: &[String],
) -> Result<Vec<Stream>, String> {
    let what = if context.is_archive() {
        "nothing of pmdaapm was logged there"
    } else {
        "pmdaapm is not installed there (pminfo apm)"
    };
    let sources =
        context.children("apm").map_err(|e| format!("{name} has no apm metrics: {what} ({e})"))?;
    let mut all = Vec::new();
    for (source, _) in sources {
        for (kind, _) in context.children(&format!("apm.{source}.event")).unwrap_or_default() {
            let base = format!("apm.{source}.event.{kind}");
            let fine = context.lookup(&format!("{base}.highres_records"));
            let found = match fine {
                Err(_) if context.is_archive() => context.lookup(&format!("{base}.records")),
                found => found,
            };
            if let Ok(desc) = found
                && desc.is_events().is_some()
            {
                let (source, chosen) = (source.clone(), context.is_archive());
                all.push(Stream { source, kind, desc, chosen });
            }
        }
    }
    if all.is_empty() {
        return Err(if context.is_archive() {
            "no event records in this archive: the group apm/events of pmlogconf(1) is off".into()
        } else {
            "no event records here: all sources are off".into()
        });
    }
    for want in wanted {
        if !all.iter().any(|stream| matches(want, stream)) {
            let known: Vec<_> = all.iter().map(|s| format!("{}.{}", s.source, s.kind)).collect();
            return Err(format!("no events {want}; there are {}", known.join(", ")));
        }
    }
    all.retain(|stream| wanted.is_empty() || wanted.iter().any(|want| matches(want, stream)));
    Ok(all)
}

fn matches(want: &str, stream: &Stream) -> bool {
    let want = want.strip_prefix("apm.").unwrap_or(want);
    let (source, kind) = want.split_once('.').unwrap_or((want, "*"));
    let glob = |pattern: &str, text: &str| pcp_event::glob(pattern.as_bytes(), text.as_bytes());
    glob(source, &stream.source) && glob(kind, &stream.kind)
}
