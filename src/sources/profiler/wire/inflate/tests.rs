use std::io::Write;

use flate2::{Compression, GzBuilder};

use super::*;

/// Feeds the pieces and takes the inflated bytes after every call.
fn run(packed: &[u8], piece: usize) -> Result<Vec<u8>, ProtocolError> {
    let (mut inflate, mut input, mut plain, mut all) =
        (Inflate::new(), BytesMut::new(), BytesMut::new(), Vec::new());
    for piece in packed.chunks(piece) {
        input.extend_from_slice(piece);
        while inflate.inflate(&mut input, &mut plain)? {
            assert!(plain.len() <= limits::INFLATED);
            all.extend_from_slice(&plain.split());
        }
        assert!(input.len() < 10 + limits::GZIP_HEADER, "input is not left lying");
    }
    Ok(all)
}

fn pack(builder: GzBuilder, plain: &[u8]) -> Vec<u8> {
    let mut packer = builder.write(Vec::new(), Compression::best());
    packer.write_all(plain).unwrap();
    packer.finish().unwrap()
}

fn some() -> Vec<u8> {
    (0..100_000u32).flat_map(|n| (n.wrapping_mul(n) / 7).to_be_bytes()).collect()
}

#[test]
fn headers_of_all_kinds_and_any_pieces() {
    let plain = some();
    let full = GzBuilder::new().extra(vec![1; 300]).filename("a name").comment("a comment");
    for builder in
        [GzBuilder::new(), full, GzBuilder::new().filename("x"), GzBuilder::new().comment("y")]
    {
        let packed = pack(builder, &plain);
        for piece in [1, 2, 999, packed.len()] {
            assert!(run(&packed, piece).as_ref() == Ok(&plain), "pieces of {piece}");
        }
    }
    // A header with a CRC, which the writers here cannot make.
    let mut packed = pack(GzBuilder::new(), b"x");
    packed[3] |= HAS_CRC;
    packed.splice(10..10, [0xaa, 0xbb]);
    assert_eq!(run(&packed, 1), Ok(b"x".to_vec()));
}

#[test]
fn a_bomb_is_held_in_small_rooms() {
    let packed = pack(GzBuilder::new(), &vec![0x11; 50 << 20]);
    assert!(packed.len() < 60_000);
    let (mut inflate, mut input, mut plain) =
        (Inflate::new(), BytesMut::from(&packed[..]), BytesMut::new());
    let mut rounds = 0;
    let end = loop {
        match inflate.inflate(&mut input, &mut plain) {
            Ok(more) => assert!(more),
            Err(wrong) => break wrong,
        }
        assert!(plain.capacity() <= 4 * limits::INFLATED, "{}", plain.capacity());
        plain.clear();
        rounds += 1;
    };
    assert_eq!(end, ProtocolError::Gzip("inflates to more than 250 times its size"));
    assert!(
        rounds * limits::INFLATED as u64 <= limits::RATIO_FROM + limits::INFLATED as u64,
        "{rounds}"
    );
}

#[test]
fn what_is_not_gzip() {
    let packed = pack(GzBuilder::new(), &some());
    let damaged = |at: usize, byte: u8| [&packed[..at], &[byte], &packed[at + 1..]].concat();
    assert_eq!(run(&damaged(2, 7), 5), Err(ProtocolError::Gzip("unknown method or flags")));
    assert_eq!(run(&damaged(3, 0x20), 5), Err(ProtocolError::Gzip("unknown method or flags")));
    assert_eq!(run(&damaged(10, 0x07), 5), Err(ProtocolError::Gzip("not deflate")));
    assert_eq!(
        run(&[&packed[..], &packed].concat(), 5),
        Err(ProtocolError::Gzip("something behind the end"))
    );
    let endless = [&[0x1f, 0x8b, 8, HAS_NAME, 0, 0, 0, 0, 0, 0][..], &[b'x'; 3000]].concat();
    assert_eq!(run(&endless, 100), Err(ProtocolError::Gzip("long header")));
    assert_eq!(run(&endless, 3010), Err(ProtocolError::Gzip("long header")));
}
