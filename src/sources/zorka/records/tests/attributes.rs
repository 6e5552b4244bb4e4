use super::*;
use crate::events::Batch;

#[test]
fn texts_are_cut_at_characters_and_mended() {
    let written = |write: &dyn Fn(&mut TextWriter<'_>)| {
        let mut batch = Batch::default();
        batch.begin_text();
        write(&mut batch.text_writer());
        batch.text_writer().text().into_owned()
    };
    let pushed = |bytes: &[u8], max| {
        written(&|text| {
            text.push("x");
            push(text, bytes, max);
        })
    };
    assert_eq!(pushed("aé".as_bytes(), 2), "xa");
    assert_eq!(pushed("aé".as_bytes(), 3), "xaé");
    assert_eq!(pushed(b"a\xffb\xc3", 100), "xa\u{fffd}b\u{fffd}");
    assert_eq!(pushed(b"a\xffb", 3), "xa");
    assert_eq!((pushed(b"", 9), pushed(b"a", 0)), ("x".to_owned(), "x".to_owned()));
    assert_eq!(written(&|text| push_id(text, 0xab)), "00000000000000ab");
}

#[test]
fn addresses_have_no_passwords() {
    for (url, shown) in [
        ("http://127.0.0.1:18680/order?q=remote", "http://127.0.0.1:18680/order"),
        ("https://joe:pa:ss@shop/x/@me", "https://shop/x/@me"),
        ("http://shop/@me", "http://shop/@me"),
        ("/order;jsessionid=17", "/order"),
        ("/order/@me#pass", "/order/@me"),
        ("jdbc:h2:mem:shop", "jdbc:h2:mem:shop"),
        ("jdbc:h2:mem:shop;USER=sa;PASSWORD=x", "jdbc:h2:mem:shop"),
        ("jdbc:mysql://db:3306/shop?user=a&password=b", "jdbc:mysql://db:3306/shop"),
        ("jdbc:mysql://a:b/c@db/shop", "jdbc:mysql://db/shop"),
        ("jdbc:oracle:thin:scott/tiger@db:1521:orcl", "jdbc:oracle:thin:db:1521:orcl"),
        ("jdbc:oracle:thin:scott/ti:ger@//db/x", "jdbc:oracle:thin://db/x"),
        ("mongodb://u:p@ss@h1,h2/db", "mongodb://h1,h2/db"),
        ("joe:secret@host", "joe:host"),
        ("HTTP://a@b", "HTTP://b"),
        ("@", ""),
        ("", ""),
    ] {
        assert_eq!(public(url.as_bytes()).concat(), shown.as_bytes(), "{url}");
    }
}

#[test]
fn patterns_are_names_or_starts_of_names() {
    let allowed = Allowed::new(&["http.url", "peer.*", "order.id", "db.statement"]);
    let role = |name| allowed.role(name);
    assert_eq!(role("http.url"), Some(Role::Url(m::P_HTTP_URL)));
    assert_eq!(role("URI"), Some(Role::Url(m::P_HTTP_URL)));
    assert_eq!(role("SQL"), Some(Role::Text(m::P_DB_STATEMENT)));
    assert_eq!(role("peer.ipv4"), Some(Role::Text(m::P_PEER_ADDRESS)));
    assert_eq!((role("peer.port"), role("order.id")), (Some(Role::Other), Some(Role::Other)));
    assert_eq!(["http.method", "METHOD", "order.ids", "peer", "", "DB"].map(role), [None; 6]);
    assert_eq!(role("thread.name"), Some(Role::Text(m::P_THREAD)));
}

#[test]
fn secrets_are_shown_only_if_they_are_asked_for() {
    let secrets = [
        "http.header.in.Cookie.0",
        "http.cookie.id",
        "http.param.q",
        "HdrIn__Cookie",
        "CookieIn__secret",
        "Par__id",
        "db.PassWord",
        "auth.token.x",
    ];
    let all = Allowed::new(&["*", "http.*", "h*", "Hdr*"]);
    for name in secrets {
        assert_eq!(all.role(name), None, "{name}");
        assert_eq!(Allowed::new(&[name]).role(name), Some(Role::Other), "{name}");
    }
    let asked = Allowed::new(&["http.header.in.*"]);
    assert_eq!(asked.role("http.header.in.Host.0"), Some(Role::Other));
    assert_eq!(asked.role("http.header.out.Date.0"), None);
    assert_eq!(all.role("order.id"), Some(Role::Other));
}
