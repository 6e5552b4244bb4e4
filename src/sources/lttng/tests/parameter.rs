use super::*;

#[test]
fn names_and_the_way_back() {
    for (event, name, label, path) in [
        (Some("DotNETRuntime:GCStart_V2"), "Count", false, "dotnetruntime.gcstart_v2.count"),
        (Some("sched_switch"), "prev_comm", false, "kernel.sched_switch.prev_comm"),
        (Some("event:x"), "y", true, "event_.c_x.c_y_label"),
        (Some("a:b:c"), "a \"b\"", false, "c_a.b_c.a_b"),
        (None, "vpid", false, "ctx.vpid"),
    ] {
        let field = Field {
            event,
            name,
            ty: if label { ValueType::Text } else { ValueType::I32 },
            label,
            about: "x: A = 1".into(),
        };
        let spec = field.spec();
        assert_eq!((spec.path.as_str(), restore(&spec.persist)), (path, Some(spec.clone())));
        assert!(!spec.persist.contains(char::is_control));
    }
    assert_eq!([restore(""), restore("[]"), restore("[\"U99\",null,\"x\"]")], [const { None }; 3]);
}
