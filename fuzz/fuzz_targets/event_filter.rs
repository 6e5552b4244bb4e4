//! Filters of users over any records. A text is refused with a column within it, or it is a filter:
//! parentheses, two negations, "and" and "or" with itself change nothing, one negation turns every
//! answer, the order in which parameters became known does not matter, and the cost of an answer
//! has a bound. A record that is cut or damaged does no harm. An expression that is made of the
//! input, written as a text and parsed, has the answers that its meaning has.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pmdaapm::events::{Batch, FILTER_MAX, Filter, ParameterNames, Pmid, ValueType};
use pmdaapm_fuzz::{filter_model, records};

const ALL: [(&str, ValueType); 6] = [
    ("apm.x.param.call.duration", ValueType::U64),
    ("apm.x.param.call.method", ValueType::Text),
    ("apm.x.param.ratio", ValueType::F64),
    ("apm.x.param.in.size", ValueType::I32),
    ("apm.x.param.out.size", ValueType::Text),
    ("apm.x.param.ctx.vtid", ValueType::U32),
];

/// The first parameters of [`ALL`].
struct First(usize);

impl ParameterNames for First {
    fn known(&self) -> usize {
        self.0
    }

    fn find(&self, name: &str, from: usize) -> Vec<(Pmid, ValueType)> {
        let ends = |full: &str| {
            full.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let known = (0..).zip(ALL).take(self.0).skip(from);
        known.filter(|(_, (full, _))| ends(full)).map(|(id, (_, ty))| (Pmid(id), ty)).collect()
    }

    fn time_unit(&self, pmid: Pmid) -> Option<u64> {
        (pmid.0 == 0).then_some(1)
    }
}

/// The answers to all records.
fn answers(filter: &Filter, records: &[Vec<u8>]) -> Vec<bool> {
    let matcher = filter.matcher("app:12");
    let answers = records.iter().map(|record| matcher.matches(record)).collect();
    let bytes: usize = records.iter().map(Vec::len).sum();
    // 128 comparisons, each at most once over the texts of a record.
    let most = records.len() * 512 + 129 * bytes;
    assert!(matcher.take_steps() <= most as u64);
    answers
}

/// Up to 16 packed records of one input.
fn packed(bytes: &[u8]) -> Vec<Vec<u8>> {
    let one = |part| {
        let mut batch = Batch::default();
        records::append(part, 7, 1, &mut batch);
        batch.packed().to_vec()
    };
    bytes.chunks(64).take(16).map(one).collect()
}

/// An expression of the input, as a text and by its meaning.
fn made(data: &[u8]) {
    let mut rest = data;
    let expression = filter_model::Expression::of(&mut rest, 4);
    let text = expression.to_string();
    let filter = match Filter::parse(&text, &First(ALL.len())) {
        Ok(filter) => filter,
        Err(e) => return assert!(expression.may_be_refused(&ALL), "{text}: {e}"),
    };
    let packed = packed(rest);
    let meant: Vec<_> = packed.iter().map(|record| expression.holds(record, &ALL)).collect();
    assert_eq!(answers(&filter, &packed), meant, "{text}");
}

fuzz_target!(|data: &[u8]| {
    if let Some((0xff, data)) = data.split_first() {
        return made(data);
    }
    let split = data.iter().position(|&b| b == 0).unwrap_or(data.len());
    let (text, rest) = data.split_at(split);
    let Ok(text) = std::str::from_utf8(text) else { return };
    let filter = match Filter::parse(text, &First(ALL.len())) {
        Ok(filter) => filter,
        Err(e) => {
            assert!(e.column <= text.chars().count() + 1, "{e}");
            assert!(!e.message.is_empty() && e.message.len() <= text.len() * 8 + 200);
            return;
        }
    };
    assert_eq!(filter.text(), text);
    assert!(filter.memory() <= 64 * FILTER_MAX);
    let packed = packed(rest);
    let plain = answers(&filter, &packed);
    // One record alone is what it is among others: shapes that were found before do not matter.
    for (record, &answer) in packed.iter().zip(&plain) {
        assert_eq!(filter.matcher("app:12").matches(record), answer);
    }
    let of = |text: &str| {
        Filter::parse(text, &First(ALL.len())).map(|filter| answers(&filter, &packed)).ok()
    };
    // What would be beyond a limit of depth, length or number is refused.
    for same in [format!("({text})"), format!("!!({text})")] {
        assert!(of(&same).is_none_or(|answers| answers == plain), "{same}");
    }
    for same in [format!("({text}) && ({text})"), format!("({text}) || ({text})")] {
        assert!(of(&same).is_none_or(|answers| answers == plain), "{same}");
    }
    let turned: Vec<bool> = plain.iter().map(|answer| !answer).collect();
    assert!(of(&format!("!({text})")).is_none_or(|answers| answers == turned));
    // The parameters come later: where the names were known before, it becomes the same filter.
    for known in 1..ALL.len() {
        let Ok(mut later) = Filter::parse(text, &First(known)) else { continue };
        later.refresh(&First(ALL.len()));
        later.refresh(&First(ALL.len()));
        assert_eq!(answers(&later, &packed), plain, "{known} known");
    }
    for record in &packed {
        let matcher = filter.matcher("app:12");
        for cut in 0..record.len().min(48) {
            let _ = matcher.matches(&record[..cut]);
        }
    }
    for bytes in rest.chunks(48) {
        let _ = filter.matcher("").matches(bytes);
    }
});
