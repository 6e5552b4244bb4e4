use super::{GcPause, Heap, LogLines, limits, parse};

#[derive(Debug, Default, PartialEq)]
struct Told(Vec<(u32, String, u64)>);

impl Told {
    fn add(&mut self, pause: &GcPause<'_>) {
        self.0.push((pause.number, pause.kind.into(), pause.duration_ns));
    }
}

const M: u64 = 1 << 20;

#[test]
fn the_line_of_the_specification() {
    let line = "[2023-07-24T12:26:25.553+0000][9.385s][info ][gc] GC(0) Pause Young (Allocation Failure) 68M->11M(247M) 105.563ms";
    let pause = parse(line).unwrap();
    let heap = Some(Heap { before: 68 * M, after: 11 * M, total: 247 * M });
    let want = GcPause {
        number: 0,
        kind: "Young (Allocation Failure)",
        duration_ns: 105_563_000,
        heap,
        end_ms: Some(1_690_201_585_553),
        uptime_ms: Some(9385),
    };
    assert_eq!(pause, want);
}

#[test]
fn other_decorations_and_collectors() {
    let short = |line| parse(line).map(|p| (p.kind, p.duration_ns, p.end_ms, p.uptime_ms));
    let of = |kind, ns| Some((kind, ns, None, None));
    assert_eq!(short("GC(7) Pause Remark 1,002ms"), of("Remark", 1_002_000));
    assert_eq!(
        short("[gc,phases] GC(7) Y: Pause KnownWord Start 0.0123456ms\r"),
        of("KnownWord Start", 12_345)
    );
    assert_eq!(
        short("[5ms] GC(1) Pause Full (System.gc()) 1G->2K(3B) 4ms"),
        Some(("Full (System.gc())", 4_000_000, None, Some(5)))
    );
    let nanos = "[1690201585553ms][12000000ns][gc] GC(1) Pause Cleanup 4ms";
    assert_eq!(short(nanos), Some(("Cleanup", 4_000_000, Some(1_690_201_585_553), Some(12))));
    let west = "[2024-02-29T23:59:59.999-0130] GC(1) Pause Cleanup 4ms";
    assert_eq!(short(west).unwrap().2, Some(1_709_256_599_999));
    for none in [
        "",
        "[",
        "[x]",
        "GC(0) Concurrent KnownWord 5.5ms",
        "[gc,start] GC(0) Pause Young (Normal)",
        "GC(0) Pause Young 99999999999999999999ms",
        "GC(x) Pause Young 1ms",
        "GC(0) Pause ms",
        "GC(1) Tenured: promo attempt is safe: available(2) >= av_promo(3), max_promo(4)",
    ] {
        assert_eq!(parse(none), None, "{none}");
    }
    // Text that only resembles sizes or a clock belongs to the kind, or is skipped.
    assert_eq!(short("GC(0) Pause Young 1Q->2M(3M) 1ms"), of("Young 1Q->2M(3M)", 1_000_000));
    assert_eq!(
        short("[2023-07-24T12:26:25.55x+0000] GC(0) Pause Young 1ms"),
        of("Young", 1_000_000)
    );
}

#[test]
fn pieces_make_no_difference_and_long_lines_are_passed_over() {
    let long = "x".repeat(limits::GC_LINE + 1);
    let exact = format!("{}GC(3) Pause C 3ms", " ".repeat(limits::GC_LINE - 17));
    assert_eq!(exact.len(), limits::GC_LINE);
    let text = format!(
        "GC(1) Pause A 1ms\n{long}\nGC(2) Pause B 2ms\n\n{exact}\n{long}GC(4) Pause D 4ms\nGC(5) Pause E 5ms"
    );
    let want: Vec<(u32, String, u64)> = [(1, "A"), (2, "B"), (3, "C"), (5, "E")]
        .map(|(n, k)| (n, k.to_owned(), u64::from(n) * 1_000_000))
        .into();
    for piece in [1, 2, 7, 64, 1000, text.len()] {
        let (mut lines, mut told) = (LogLines::default(), Told::default());
        text.as_bytes().chunks(piece).for_each(|p| lines.feed(p, &mut |pause| told.add(pause)));
        assert_eq!(told.0.len(), 3, "the last line has not ended");
        lines.end(&mut |pause| told.add(pause));
        assert_eq!(told.0, want, "pieces of {piece}");
    }
}
