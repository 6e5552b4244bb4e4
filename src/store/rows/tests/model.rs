//! Random additions against an exact model: all keys' scores without limit, all sums.

use std::collections::HashMap;

use super::*;

const ROWS: usize = 50;
const HALF_LIFE: f64 = 600.0;

/// What is true of a key.
#[derive(Clone, Copy, Default)]
struct Truth {
    score: f64,
    at: f64,
    /// What the client saw in the row last, and when.
    shown: u64,
    seen: f64,
}

impl Truth {
    fn at(&self, now: f64) -> f64 {
        self.score * ((self.at - now) / HALF_LIFE).exp2()
    }
}

fn index(n: u64) -> usize {
    usize::try_from(n).expect("small")
}

/// `steps` additions, one each `step` ms. What is heavy changes each `era` of them; at its end all keys
/// have rows whose scores are `factor` times that of the last one.
fn run(steps: usize, step: u64, era: usize, factor: f64) {
    let mut seed = 9_u64;
    let mut random = |from: u64, below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from + (seed >> 33) % (below - from)
    };
    let mut w = World::new(TableDef { max: ROWS, ..DEF });
    let names: Vec<String> = (0..4000).map(|n| format!("k{n}")).collect();
    let mut truth: HashMap<usize, Truth> = HashMap::new();
    let (mut total, mut rest) = (0, 0);
    for n in 0..steps {
        let ms = n as u64 * step;
        let (time, now) = (Duration::from_millis(ms), ms as f64 / 1000.0);
        // A tenth of the additions are of ten keys that are heavy in this era.
        let heavy = random(0, 10) == 0;
        let key = match heavy {
            true => (n / era * 10 + index(random(0, 10))) % names.len(),
            false => index(random(0, names.len() as u64)),
        };
        let more = random(1, if heavy { 200 } else { 20 });
        let row = w.add(None, &names[key], more, time);
        total += more;
        if &*row == OTHER {
            rest += more;
        }
        let of = truth.entry(key).or_default();
        *of = Truth { score: of.at(now) + more as f64, at: now, ..*of };
        // What a client sees every 5 s.
        if ms / 5000 != (ms + step) / 5000 {
            w.rows.sweep(&DEF, time);
            assert_eq!(w.value(OTHER).unwrap_or_default(), rest, "the rest is what had no row");
            assert!(w.rows.by_key.len() <= ROWS + 1);
            for (name, row) in w.rows.by_key.iter().filter(|(name, _)| ***name != *OTHER) {
                let value = row.cells.get(2).expect("it was added to");
                let of = truth.get_mut(&name[1..].parse().expect("its number")).expect("known");
                assert!(value >= of.shown || now - of.seen > 3590.0, "{name} fell");
                (of.shown, of.seen) = (value, now);
            }
        }
        if n % era == era - 1 && n as u64 * step > 60_000 {
            let mut all: Vec<(f64, usize)> = truth.iter().map(|(k, of)| (of.at(now), *k)).collect();
            all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
            let least = all.get(ROWS - 1).map_or(0.0, |(score, _)| *score);
            for (score, key) in all.iter().take_while(|(score, _)| *score > factor * least) {
                assert!(w.value(&names[*key]).is_some(), "{key} has {score}, the last {least}");
            }
        }
    }
    let left: u64 = w.rows.by_key.values().filter_map(|row| row.cells.get(2)).sum();
    assert!(left <= total && rest <= total);
    // What left and did not come back is kept; nothing was counted twice.
    let mut kept = 0;
    for name in names.iter().filter(|name| !w.rows.by_key.contains_key(name.as_str())) {
        let row = Row::new(name, false, None, LAYOUT);
        w.rows.groups.get_mut("").expect("the group").kept.restore(&row);
        kept += row.cells.get(2).unwrap_or_default();
    }
    assert!(left + kept <= total);
    if steps as u64 * step < 3_000_000 {
        assert_eq!(left + kept, total, "no hour has passed: all is here");
    }
}

#[test]
fn an_hour_of_additions() {
    run(200_000, 10, 20_000, 3.0);
}

#[test]
fn thirty_days_of_additions() {
    run(100_000, 25_920, 1000, 9.0);
}
