use super::*;
use crate::sources::profiler::test_kit::Bytes;

fn string(s: &str) -> Bytes {
    Bytes::new().int(s.len() as i32).raw(s.as_bytes())
}

fn open(name: &str) -> Bytes {
    string(name).int(3).int(1)
}

#[test]
fn every_command_and_nothing_of_it_before_its_last_byte() {
    let names = Open { name: "calls", sequence: 3, reset: true };
    let who = || string("p").raw(&string("").0).raw(&string("näme").0);
    let id: Uuid = std::array::from_fn(|i| i as u8);
    for (bytes, want) in [
        (
            Bytes::new().u8(0x14).long(100_705).raw(&who().0),
            Command::Hello { version: 100_705, pod: "p", service: "", namespace: "näme" },
        ),
        (Bytes::new().u8(0x15).raw(&open("calls").0), Command::Open(names)),
        (
            Bytes::new().u8(0x01).raw(&who().0).raw(&open("calls").0),
            Command::LegacyOpen { namespace: "p", service: "", pod: "näme", open: names },
        ),
        (
            Bytes::new().u8(0x02).raw(&id).int(3).raw(b"abc"),
            Command::Data { handle: id, payload: b"abc" },
        ),
        (Bytes::new().u8(0x02).raw(&id).int(0), Command::Data { handle: id, payload: b"" }),
        (Bytes::new().u8(0x13).raw(&id).u8(0x4b), Command::Result { id, ok: true }),
        (Bytes::new().u8(0x13).raw(&id).u8(0xff), Command::Result { id, ok: false }),
        (Bytes::new().u8(0x11), Command::Flush),
        (Bytes::new().u8(0x12), Command::KeepAlive),
        (Bytes::new().u8(0x04), Command::Close),
        (Bytes::new().u8(0x08), Command::LegacyHello),
    ] {
        let length = bytes.0.len();
        for cut in 0..length {
            assert_eq!(command(&bytes.0[..cut]), Ok(None), "{want:?} after {cut} bytes");
        }
        assert_eq!(command(&bytes.u8(0xff).0), Ok(Some((want, length))));
    }
}

#[test]
fn every_other_byte_is_an_error() {
    let known = [0x01, 0x02, 0x04, 0x08, 0x11, 0x12, 0x13, 0x14, 0x15];
    for byte in (0..=u8::MAX).filter(|b| !known.contains(b)) {
        assert_eq!(command(&[byte]), Err((ProtocolError::Command(byte), 1)), "{byte}");
    }
}

#[test]
fn a_field_is_refused_as_soon_as_its_length_is_there() {
    let with = |n: i32| Bytes::new().u8(2).raw(&[7; 16]).int(n);
    for (n, want) in [
        (1024, Ok(None)),
        (1025, Err((ProtocolError::Field(1025), 21))),
        (-1, Err((ProtocolError::Field(-1), 21))),
    ] {
        assert_eq!(command(&with(n).0), want);
    }
    let full = with(1024).raw(&[9; 1024]);
    assert_eq!(
        command(&full.0),
        Ok(Some((Command::Data { handle: [7; 16], payload: &[9; 1024] }, 1045)))
    );
    assert_eq!(command(&Bytes::new().u8(0x15).int(1).u8(0x80).0), Err((ProtocolError::NotUtf8, 6)));
}

#[test]
fn the_start_is_the_last_part() {
    for (pod, server, started_ms) in [
        (
            "esc-ui-service-8dd5b49fd-2gr2g_1691167327796",
            "esc-ui-service-8dd5b49fd-2gr2g",
            Some(1_691_167_327_796),
        ),
        ("a_b_1795227482421", "a_b", Some(1_795_227_482_421)),
        ("_1795227482421", "", Some(1_795_227_482_421)),
        ("a_17952274824210", "a_17952274824210", None),
        ("a_+179522748242", "a_+179522748242", None),
        ("a_1", "a_1", None),
        ("a_99999999999999999999", "a_99999999999999999999", None),
        ("a", "a", None),
        ("", "", None),
    ] {
        assert_eq!(PodName::of(pod), PodName { server, started_ms }, "{pod}");
    }
}
