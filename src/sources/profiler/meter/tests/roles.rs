use super::*;
use crate::sources::profiler::metrics::{P_DURATION, P_QUERY, P_URL};

#[test]
fn who_has_a_parameter_of_its_own() {
    let roles = ParamRoles::new(["tenant".to_owned(), "user".to_owned()].into());
    let url = ParamRole::Own(ParamId::Item(P_URL));
    for (word, role) in [
        ("web.url", url),
        ("call.red", ParamRole::Unshown),
        ("web.query", ParamRole::Unshown),
        ("user", ParamRole::Own(ParamId::Slot(1))),
        ("node.name", ParamRole::Other { bare: true }),
        ("node name", ParamRole::Other { bare: false }),
    ] {
        assert_eq!(roles.decide(word), role);
    }
    let asked = ParamRoles::new(["web.query".to_owned()].into());
    assert_eq!(asked.decide("web.query"), ParamRole::Own(ParamId::Item(P_QUERY)));
    let mut reported = Reported::default();
    assert!(
        reported.add(ParamId::Item(P_DURATION))
            && reported.add(ParamId::Slot(31))
            && reported.add(ParamId::Slot(0))
    );
    assert!(!reported.add(ParamId::Item(P_DURATION)) && !reported.add(ParamId::Slot(31)));
}

#[test]
fn a_parameter_comes_back_after_a_restart() {
    let spec = spec("x-Tenant.ID");
    assert_eq!(
        (spec.path.as_str(), restore(&spec.persist)),
        ("tag.x_tenant_id", Some(spec.clone()))
    );
    assert_eq!(restore("a\u{7}"), None);
}
