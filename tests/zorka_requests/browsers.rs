//! Requests that are refused: of web pages, and without the token.

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

#[test]
fn requests_without_the_token_are_refused_and_counted() {
    let config = Config { token: "open sesame".to_owned(), ..Config::default() };
    let world = World::with(&config, "");
    let send = |headers: &[(&str, &str)]| {
        let answer = world.send(1, AGD, headers, b"uuid=proxied&data=");
        (answer.status, answer.body.is_empty(), answer.delay.is_zero())
    };
    for value in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer open",
        "Bearer open sesame2",
        "Basic open sesame",
        "open sesame",
    ] {
        assert_eq!(send(&[("Authorization", value)]), (401, true, false), "{value}");
    }
    assert_eq!(send(&[]).0, 401);
    assert_eq!(world.row("collector.request.count", "agd::refused"), 8);
    assert!(world.names().is_empty());
    for value in ["Bearer open sesame", "bearer  open sesame "] {
        assert_eq!(send(&[("Authorization", value)]).0, 202, "{value}");
    }
    assert_eq!(send(&[("Authorization", "Bearer open sesame"), ("Origin", "null")]).0, 403);
    assert_eq!(world.names(), ["proxied"]);
}
