use super::super::viewer::{Refused, TraceFormat};
use super::{refusal, *};

#[test]
fn a_session_is_known_at_another_address_while_it_is_read() {
    let (one, two): (Arc<str>, Arc<str>) = ("127.0.0.1:5344".into(), "10.0.0.1:5344".into());
    let info = SessionInfo {
        id: 1,
        host: "vm".into(),
        name: "web".into(),
        live_timer: std::time::Duration::from_secs(1),
        clients: 1,
        streams: 2,
        format: TraceFormat::Ctf1,
    };
    let text =
        |all: &OwnViewers, info| refusal(Refused::Busy, &two, all.elsewhere(&two, info).as_deref());
    let all = OwnViewers::default();
    let read = all.attached(&one, &info);
    assert_eq!(all.elsewhere(&one, &info), None);
    assert!(text(&all, &info).contains("this PMDA, if 127.0.0.1:5344 is another address of 10"));
    let other = SessionInfo { id: 2, ..info.clone() };
    assert!(!text(&all, &other).contains("this PMDA"));
    drop(read);
    assert!(!text(&all, &info).contains("this PMDA"));
}
