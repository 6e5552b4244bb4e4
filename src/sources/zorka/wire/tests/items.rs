use super::*;

fn value(body: &[u8]) -> Result<AttributeValue, ErrorKind> {
    let mut items = Items::new(body, 0);
    let value = items.value().map_err(|error| error.kind())?;
    assert_eq!(items.position(), body.len());
    Ok(value)
}

#[test]
fn values_of_all_forms() {
    assert_eq!(value(b"\x3b\x7f\xff\xff\xff\xff\xff\xff\xff"), Ok(AttributeValue::Int(i64::MIN)));
    let large = b"\x1b\x80\0\0\0\0\0\0\0";
    assert_eq!(value(large), Ok(AttributeValue::Other(Slice { start: 0, end: 9 })));
    for (bits, float) in
        [(0x3c00, 1.0), (0xc000, -2.0), (1, 2f64.powi(-24)), (0x7c00, f64::INFINITY)]
    {
        let [a, b] = u16::to_be_bytes(bits);
        assert_eq!(value(&[0xf9, a, b]), Ok(AttributeValue::Float(float)));
    }
    assert_eq!(value(b"\x78\x02\xff\xfe"), Ok(AttributeValue::Text(Slice { start: 2, end: 4 })));
    assert_eq!(value(b"\xf7"), Ok(AttributeValue::Null));
    for whole in [
        &b"\x7f\x61a\x61b\xff"[..],
        b"\x9f\x01\x81\xbf\x01\x02\xff\xff",
        b"\xc6\x01",
        b"\xf8\x20",
        b"\xa1\x01\x80",
    ] {
        let end = u32::try_from(whole.len()).unwrap();
        assert_eq!(value(whole), Ok(AttributeValue::Other(Slice { start: 0, end })));
        for cut in 0..whole.len() {
            assert_eq!(value(&whole[..cut]), Err(ErrorKind::Truncated), "{whole:?} {cut}");
        }
    }
    for wrong in [&b"\xff"[..], b"\x1c", b"\x5f\x61a\xff", b"\x82\x01\xff", b"\xfc", b"\x5f\x5f"] {
        assert_eq!(value(wrong), Err(ErrorKind::Malformed), "{wrong:?}");
    }
}

#[test]
fn nesting_has_a_limit() {
    for open in [b"\x81", b"\xc6", b"\x9f"] {
        let nested = |levels| {
            let close = if *open == *b"\x9f" { levels } else { 0 };
            value(&[&open.repeat(levels)[..], b"\0", &b"\xff".repeat(close)].concat())
        };
        assert!(nested(limits::NESTING).is_ok());
        assert_eq!(nested(limits::NESTING + 1), Err(ErrorKind::Nesting));
    }
}
