use super::*;

const MS: i64 = 1_000_000;

fn name(method: u32) -> String {
    format!("a.b.C{method}.run")
}

/// Entries of a text: depth, total, self, and name.
fn entries(text: &str) -> Vec<(usize, i64, Option<i64>, &str)> {
    text.split(' ').map(entry).collect()
}

fn entry(entry: &str) -> (usize, i64, Option<i64>, &str) {
    let mut fields = entry.splitn(6, ',');
    let mut next = || fields.next().expect("six fields");
    let (depth, total, own, _, _, name) = (next(), next(), next(), next(), next(), next());
    (depth.parse().expect("a depth"), total.parse().expect("a total"), own.parse().ok(), name)
}

/// Self times and `others` are the time of the root.
fn assert_adds(text: &str) {
    let entries = entries(text);
    let sum: i64 = entries.iter().map(|(_, total, own, _)| own.unwrap_or(*total)).sum();
    assert_eq!(sum, entries[0].1, "{text}");
}

#[test]
fn the_text_has_parents_first_and_the_largest_child_first() {
    let mut tree = PathTree::new(0);
    let small = tree.child(0, 1);
    let large = tree.child(0, 2);
    assert_eq!(tree.child(0, 1), small);
    let inner = tree.child(large, 1);
    for (node, total, stopped, executions) in
        [(0, 20, 5, 1), (small, 3, 0, 2), (large, 12, 5, 1), (inner, 12, 4, 7)]
    {
        tree.add(node, total * MS, stopped * MS, executions);
    }
    let text = tree.text(1 << 10, MS, true, name);
    assert_eq!(
        text.text,
        "0,20000,5000,5000,1,C0.run 1,12000,0,5000,1,C2.run 2,12000,12000,4000,7,C1.run 1,3000,3000,0,2,C1.run"
    );
    assert_eq!(text.nodes, 4);
    let text = tree.text(1 << 10, 4 * MS, false, |_| "x y,z".into()).text;
    assert_eq!(
        text,
        "0,20000,5000,,1,x_y;z 1,12000,0,,1,x_y;z 2,12000,12000,,7,x_y;z 1,3000,,,2,others"
    );
}

#[test]
fn the_smallest_are_folded_until_the_text_fits() {
    let mut tree = PathTree::new(0);
    let mut total = 0;
    for number in 1..1000_u32 {
        let (node, method) = (tree.child(0, number), i64::from(number));
        let below = tree.child(node, 7);
        tree.add(node, 2 * method * MS, 0, 1);
        tree.add(below, method * MS, 0, 1);
        total += 2 * method * MS;
    }
    tree.add(0, total, 0, 1);
    let mut before = usize::MAX;
    for size in [16 << 10, 4000, 1000, 200, 60, 1] {
        let TreeText { text, nodes } = tree.text(size, MS, true, name);
        assert!(text.len() <= size.max(60), "{size} {}", text.len());
        assert_eq!(nodes, 512);
        assert_adds(&text);
        let entries = entries(&text);
        assert!(entries.len() < before || size == 16 << 10 || size == 1, "{size}");
        before = entries.len();
        // It is filled: one entry has less than 40 bytes.
        assert!(
            size < 1000 || text.len() + 80 > size || nodes <= entries.len(),
            "{size} {}",
            text.len()
        );
    }
}

#[test]
fn what_is_too_deep_or_too_much_is_folded() {
    let mut tree = PathTree::new(0);
    let mut at = 0;
    let mut deepest = 0;
    for _ in 0..10_000 {
        at = tree.child(at, 3);
        deepest = if at == FOLDED { deepest } else { at };
    }
    assert_eq!((at, deepest), (FOLDED, u32::from(DEPTH) - 1));
    tree.fold(deepest, 5 * MS, 9);
    for node in 0..=deepest {
        tree.add(node, 10 * MS, 0, 1);
    }
    let text = tree.text(16 << 10, MS, true, name).text;
    assert!(text.ends_with(",1,C3.run 128,5000,,,9,others"), "{text}");
    assert_adds(&text);
    for method in 10..10_000 {
        tree.child(0, method);
    }
    assert_eq!((tree.nodes.len(), tree.child(0, 20_000)), (NODES, FOLDED));
}

#[test]
fn times_of_parts_of_microseconds_add_up() {
    let mut tree = PathTree::new(0);
    let (a, b) = (tree.child(0, 1), tree.child(0, 2));
    tree.add(0, 9999, 0, 1);
    tree.add(a, 4501, 0, 1);
    tree.add(b, 5500, 0, 1);
    let text = tree.text(1 << 10, 1000, false, name).text;
    assert_eq!(text, "0,9,0,,1,C0.run 1,5,5,,1,C2.run 1,4,4,,1,C1.run");
    // What it called took longer than itself: ticks of a clock.
    tree.add(a, 4000, 0, 1);
    let text = tree.text(1 << 10, 1000, false, name).text;
    assert_eq!(entries(&text)[0].2, Some(-4));
    assert_adds(&text);
}
