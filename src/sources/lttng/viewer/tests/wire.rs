use super::*;

fn bytes(request: Request) -> Vec<u8> {
    let mut out = BytesMut::new();
    request.encode(&mut out);
    out.to_vec()
}

#[test]
fn requests_are_what_viewers_send() {
    // The first bytes of data/lttng/live-ust-grow/cap/c2s.bin, with minor 13.
    let connect = bytes(Request::Connect { minor: 13 });
    let mut want = vec![0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0];
    want.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 13, 0, 0, 0, 1]);
    assert_eq!(connect, want);
    let all = [
        Request::Connect { minor: 15 },
        Request::ListSessions,
        Request::AttachSession { session: 7, seek: Seek::Last },
        Request::GetNextIndex { stream: 8 },
        Request::GetPacket { stream: 8, offset: 4096, length: 84 },
        Request::GetMetadata { stream: 9 },
        Request::GetNewStreams { session: 7 },
        Request::CreateSession,
        Request::DetachSession { session: 7 },
    ];
    for (command, request) in (1..).zip(all) {
        let bytes = bytes(request);
        let mut c = cursor(&bytes);
        assert_eq!(c.u64(), Some(bytes.len() as u64 - 16), "{request:?}");
        assert_eq!((c.u32(), c.u32()), (Some(command), Some(0)), "{request:?}");
    }
    assert_eq!(bytes(all[2])[16..], [0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    assert_eq!(bytes(all[4])[16..], [0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 84]);
}

#[test]
fn both_layouts_of_a_session_say_the_same() {
    let mut head = BytesMut::new();
    head.put_u64(3);
    head.put_u32(200_000);
    head.put_u32(1);
    head.put_u32(5);
    let mut old = head.clone();
    let mut padded = b"vm".to_vec();
    padded.resize(64, 0);
    old.extend_from_slice(&padded);
    padded = b"s1".to_vec();
    padded.resize(255, 0);
    old.extend_from_slice(&padded);
    let mut new = head;
    new.put_u32(2);
    new.put_u32(2);
    new.put_u32(0);
    new.extend_from_slice(b"vms1");
    for (bytes, minor) in [(old, 14), (new, 15)] {
        for cut in 0..bytes.len() {
            let need = session(&bytes[..cut], minor).unwrap().unwrap_err();
            assert!(need > cut && need <= bytes.len(), "minor {minor}, {cut} bytes");
        }
        let (info, size) = session(&bytes, minor).unwrap().unwrap();
        assert_eq!(size, bytes.len());
        assert_eq!(
            (info.id, &*info.host, &*info.name, info.clients, info.streams),
            (3, "vm", "s1", 1, 5)
        );
        assert_eq!((info.live_timer, info.format), (Duration::from_millis(200), TraceFormat::Ctf1));
    }
}

#[test]
fn a_name_has_a_limit_before_it_has_bytes() {
    let mut entry = [0; 32];
    entry[23] = 1;
    entry[24] = 0xff;
    assert!(matches!(
        session(&entry, 15),
        Err(SessionError::Limit { limit: "session.name", got: 0xff00_0000, .. })
    ));
}

#[test]
fn statuses_that_do_not_exist_are_malformed() {
    for status in [0, 7, u32::MAX] {
        assert!(index_status(status).is_err());
    }
    for status in [0, 5, u32::MAX] {
        assert!(packet_status(status).is_err());
    }
}
