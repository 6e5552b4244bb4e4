use bytes::BytesMut;

use super::super::{BadBuffer, Decoder, Event, MlpdError, Visitor};

#[derive(Default)]
struct Count(u64, u64);

impl Visitor for Count {
    fn event(&mut self, _time: u64, event: Event<'_>) {
        self.0 += u64::from(!event.is_item());
    }

    fn bad(&mut self, _reason: BadBuffer, _lost: u64) {
        self.1 += 1;
    }
}

#[test]
fn no_stream() {
    let mut input = BytesMut::from(&b"GET / HTTP"[..]);
    let mut count = Count::default();
    assert_eq!(Decoder::new().feed(&mut input, &mut count), Err(MlpdError::Signature));
    assert_eq!((count.0, count.1), (0, 0));
}
