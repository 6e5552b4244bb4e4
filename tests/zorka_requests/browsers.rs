//! Requests that web pages make browsers send.

use pmdaapm::sources::zorka::Config;

use crate::kit::{AGD, World};

#[test]
fn requests_of_web_pages_are_refused_and_counted() {
    let config = Config { hosts: vec!["apm.example".to_owned()], ..Config::default() };
    let world = World::with(&config, "");
    let form = |headers: &[(&str, &str)]| {
        let answer = world.send(1, AGD, headers, b"uuid=webpage&data=");
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    for headers in [
        [("Host", "127.0.0.1:8640"), ("Origin", "http://evil.example")],
        [("Host", "localhost:8640"), ("Origin", "null")],
        [("Host", "localhost:8640"), ("Sec-Fetch-Site", "cross-site")],
        [("Host", "localhost:8640"), ("Sec-Fetch-Mode", "no-cors")],
    ] {
        let (status, why) = form(&headers);
        assert_eq!(
            (status, why.as_str()),
            (403, "refused: it comes from a browser (Origin or Sec-Fetch-*)\n")
        );
    }
    for host in ["evil.example:8640", "web1.evil.example", "pcp", "localhost.evil.example"] {
        let (status, why) = form(&[("Host", host)]);
        assert_eq!(status, 403, "{host}");
        assert!(why.contains("zorka.hosts") && why.contains(host.split(':').next().unwrap()));
    }
    assert_eq!(form(&[("Host", "127.0.0.1"), ("Host", "evil.example")]).0, 403);
    assert!(world.names().is_empty());
    assert_eq!(world.row("collector.request.count", "agd::refused"), 9);
    for host in [
        "127.0.0.1:8640",
        "[::1]:8640",
        "LocalHost",
        "web1:8640",
        "web1.example.com.",
        "APM.example",
    ] {
        assert_eq!(form(&[("Host", host)]).0, 202, "{host}");
    }
    // HTTP/1.0 needs none.
    assert_eq!(form(&[]).0, 202);
    assert_eq!(world.names(), ["webpage"]);

    let allow = vec!["127.0.0.0/8".parse().unwrap()];
    let world = World::with(&Config { allow, ..Config::default() }, "");
    let send = |headers: &[(&str, &str)]| world.send(1, AGD, headers, b"uuid=a&data=").status;
    assert_eq!(send(&[("Host", "apm.example:8640")]), 202, "who may connect is listed");
    assert_eq!(send(&[("Host", "127.0.0.1"), ("Origin", "null")]), 403);
}
