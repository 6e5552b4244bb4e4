use super::super::*;
#[test]
fn kinds_have_the_names_of_the_configuration() {
    let config = Config { records: vec!["starvation".to_owned()], ..Config::default() };
    let settings = Settings::new(&config);
    let on: Vec<_> = m::EVENT_KINDS
        .iter()
        .zip(0..)
        .filter_map(|(kind, n)| settings.has(EventKindId::new(n)).then_some(kind.name))
        .collect();
    assert_eq!(on, ["pool", "application", "session"]);
    assert_eq!((settings.step, settings.contention), (5_000_000, 10_000_000));
}
