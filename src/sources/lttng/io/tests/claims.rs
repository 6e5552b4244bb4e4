use super::*;

#[test]
fn an_address_is_read_under_one_name_at_a_time() {
    let claims = Arc::new(RelayClaims::default());
    let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
    let first = claims.claim(at("127.0.0.1:5344"), "127.0.0.1:5344").expect("free");
    for same in ["127.0.0.1:5344", "[::ffff:127.0.0.1]:5344"] {
        assert_eq!(claims.claim(at(same), "localhost:5344").expect_err("taken"), "127.0.0.1:5344");
    }
    let _port = claims.claim(at("127.0.0.1:5345"), "localhost:5345").expect("another port");
    drop(first);
    claims.claim(at("127.0.0.1:5344"), "localhost:5344").expect("free again");
}
