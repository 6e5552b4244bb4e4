//! Options of the log profiler.

use super::super::Options;

#[test]
fn words_turn_groups_on() {
    let none = Options::default();
    for (text, expected) in [
        ("log:nodefaults,counter", none),
        ("log:nodefaults,gc,output=x,y", Options { gc: true, ..none }),
        ("log:counter,output=|gc", Options { exception: true, ..none }),
        ("log", Options { exception: true, ..none }),
        (
            "log:nodefaults,exception,gcalloc,gcmove",
            Options { exception: true, alloc: true, moves: true, ..none },
        ),
        ("log:nodefaults,heapshot=2gc", Options { heapshot: true, gc: true, ..none }),
    ] {
        assert_eq!(Options::parse(text), expected, "{text}");
    }
    assert!(Options::parse("log:nodefaults,monitor,alloc").tracks_objects());
    assert!(!Options::parse("log:nodefaults,monitor,gcalloc").tracks_objects());
}
