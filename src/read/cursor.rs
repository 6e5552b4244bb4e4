//! A read position over bytes that may still be incomplete.

/// Byte order of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// least significant byte first
    Little,
    /// most significant byte first
    Big,
}

/// Reads forward over a slice. A reader returns `None` when bytes are missing, and then does not
/// move.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    order: Order,
}

macro_rules! integers {
    ($($name:ident $ty:ty),*) => {$(
        #[doc = concat!("Next `", stringify!($ty), "` in the cursor's byte order.")]
        pub fn $name(&mut self) -> Option<$ty> {
            let raw = self.array()?;
            Some(match self.order {
                Order::Little => <$ty>::from_le_bytes(raw),
                Order::Big => <$ty>::from_be_bytes(raw),
            })
        }
    )*};
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    #[must_use]
    pub const fn new(bytes: &'a [u8], order: Order) -> Self {
        Self { bytes, position: 0, order }
    }

    /// Bytes read so far.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// Bytes left.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// The byte order of integers.
    #[must_use]
    pub const fn order(&self) -> Order {
        self.order
    }

    /// The next `n` bytes.
    pub fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let end = self.position.checked_add(n)?;
        let taken = self.bytes.get(self.position..end)?;
        self.position = end;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    integers!(u8 u8, i16 i16, u16 u16, i32 i32, u32 u32, i64 i64, u64 u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_orders_and_stays_put_when_short() {
        let b = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let mut le = Cursor::new(&b, Order::Little);
        assert_eq!((le.u16(), le.i32()), (Some(0x0201), Some(0x0605_0403)));
        assert_eq!((le.u64(), le.position(), le.remaining()), (None, 6, 3));
        assert_eq!(le.bytes(usize::MAX), None);
        let mut be = Cursor::new(&b, Order::Big);
        assert_eq!((be.u64(), be.u8(), be.u8()), (Some(0x0102_0304_0506_0708), Some(9), None));
    }
}
