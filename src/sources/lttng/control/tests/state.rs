use super::*;

#[test]
fn what_is_saved_comes_back() {
    let spec = SessionSpec { events: vec!["a".into()], ..SessionSpec::new("s1") };
    let applied = Some(Applied::new(&spec));
    let saved =
        Saved { base: Some(spec.clone()), spec, marks: vec!["m".into()], applied, gone: false };
    let state = State::new(vec![saved]);
    assert_eq!(State::parse(&state.text()), Ok(state.clone()));
    assert_eq!(State::parse(&State::default().text()), Ok(State::default()));
    let text = state.text();
    for cut in 0..text.len() {
        assert!(State::parse(&text[..cut]).is_err());
    }
    assert!(
        State::parse(&text.replace("\"version\": 1", "\"version\": 2"))
            .expect_err("version")
            .contains("version 2")
    );
    assert!(State::parse(&text.replace("\"s1\"", "\"--all\"")).is_err());
    assert!(State::parse(&" ".repeat(STATE_MAX + 1)).is_err());
}
