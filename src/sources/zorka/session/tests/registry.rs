use super::*;

fn registered(registry: &mut Registry, name: &str) -> Registration {
    registry.register(name, "shop", "prod", "zorka")
}

#[test]
fn ids_are_the_same_in_each_run_and_names_are_unique() {
    let (mut a, mut b) = (Registry::default(), Registry::default());
    let first = registered(&mut a, "web 1");
    registered(&mut b, "db1");
    assert_eq!(registered(&mut b, "web 1"), first);
    assert_eq!((first.shown.as_str(), first.authkey.len(), first.uuid.len()), ("web_1", 16, 36));
    let other = a.register("web 1", "shop", "test", "zorka");
    assert!(other.shown.starts_with("web_1#") && other.id != first.id, "{other:?}");
    assert_eq!(a.known("web 1", "shop", "prod"), Some(&first));
    assert_eq!(a.known("web 1", "shop", "none"), None);
}

#[test]
fn the_file_has_all_agents() {
    let mut registry = Registry::default();
    assert_eq!(registry.take_changes(), None);
    let agent = registered(&mut registry, "web1");
    let adopted = registry.open("77", "ABCDEFGH", true).unwrap().0.clone();
    let text = registry.take_changes().unwrap();
    assert_eq!(registry.take_changes(), None);
    let mut again = Registry::parse(&text).unwrap();
    assert_eq!((again.len(), again.take_changes()), (2, None));
    assert_eq!(again.open(&agent.uuid, &agent.authkey, false).unwrap().0, agent);
    assert_eq!(again.open("77", "other", false).unwrap().0, adopted, "any key, as nobody knows it");
    assert!(Registry::parse("").unwrap().agents.is_empty());
    for bad in ["{", "[]", "{\"version\":2,\"agents\":[]}", &text[..text.len() - 2]] {
        assert!(Registry::parse(bad).is_err(), "{bad}");
    }
    let hostile = text.replace("\"web1\"", "\"a\\nb\"");
    assert_eq!(Registry::parse(&hostile).unwrap().len(), 1);
}

#[test]
fn sessions_need_the_key_and_unknown_ids_are_adopted() {
    let mut registry = Registry::default();
    let agent = registered(&mut registry, "web1");
    let mut open = |id: &str, key: &str, adopt| {
        registry.open(id, key, adopt).map(|(agent, _)| agent.shown.clone())
    };
    assert_eq!(open(&agent.id.to_string(), &agent.authkey, false).as_deref(), Ok("web1"));
    assert_eq!(open(&agent.uuid, "wrong", true), Err(Refusal::WrongKey));
    assert_eq!(open("5", "ABC", false), Err(Refusal::Unknown));
    assert_eq!(open("5", "", true), Err(Refusal::WrongKey));
    assert_eq!(open("", "ABC", true), Err(Refusal::Malformed));
    assert_eq!(open("a b", "ABC", true), Err(Refusal::Malformed));
    assert_eq!(open("5", "ABC", true).as_deref(), Ok("agent-5"));
    assert_eq!(open("5", "ABC", false).as_deref(), Ok("agent-5"));
    let uuid = "12345678-1234-1234-1234-123456789abc";
    assert_eq!(open(uuid, "ABC", true).as_deref(), Ok("agent-12345678"));
}

#[test]
fn the_number_of_agents_is_bounded() {
    let mut registry = Registry::default();
    for n in 0..REGISTERED + 10 {
        registered(&mut registry, &n.to_string());
    }
    assert!(registry.len() <= REGISTERED && registry.len() > REGISTERED / 2);
    assert_eq!(registry.by_id.len(), 2 * registry.len());
    assert_eq!(registry.by_shown.len(), registry.len());
    assert!(registry.known("0", "shop", "prod").is_none());
}

#[test]
fn ids_stay_what_they_are() {
    let texts = ["zorka", "web1", "DSC", "TST"];
    assert_eq!(number(&texts), 1_639_509_762);
    assert_eq!(uuid(&texts), "ae4357ac-ddc2-17cc-01ca-fd31529e7710");
    assert_eq!(letters(&texts), "SJUJNCSNLSJXBBET");
    assert_ne!(number(&["ab", "c"]), number(&["a", "bc"]));
}

#[test]
fn session_ids_differ() {
    let mut ids = SessionIds::default();
    let (a, b) = (ids.next(), ids.next());
    assert!(a != b && a.len() == 36 && visible(a.as_bytes(), 36).is_some());
    assert_eq!(digits("12345678-9abc"), "12345678");
    assert_eq!(clean(" a b\u{7}\u{e9}", 5), "a_b_");
    assert_eq!((visible(b"", 4), visible(b"a b", 4), visible(b"abc", 2)), (None, None, None));
}
