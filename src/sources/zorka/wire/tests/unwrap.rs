use super::*;

#[test]
fn fields_are_found_and_decoded() {
    let body = b"host=a%20b&zdata=x%2By z%zz%2";
    assert_eq!(field(body, "host").unwrap(), b"a b");
    assert_eq!(form_data(body).unwrap(), b"x+y+z%zz%2");
    assert_eq!(field(b"zdata=", "zdata").unwrap(), b"");
    assert_eq!(field(body, "data"), None);
    assert_eq!(form_data(b"host=x"), None);
    assert_eq!(form_data(b"\xc1\x82=&data=1"), None);
    assert_eq!(form_data(b""), None);
}
