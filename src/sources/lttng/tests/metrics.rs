use super::*;

#[test]
fn parameters_have_reserved_names() {
    assert!(PARAMS.iter().all(|p| RESERVED.contains(&p.name)));
}
