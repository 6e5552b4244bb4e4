//! Bytes that a value has on the heap, for the limits of memory.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
#[cfg(feature = "meter")]
use std::hash::{BuildHasher, Hash};
use std::mem::size_of;
use std::sync::Arc;

use bytes::BytesMut;

/// Bytes that a value has on the heap; its own size is not among them.
///
/// It is asked after each turn of a session, so a collection is counted by its capacity, without a look at its
/// elements: what they have on the heap is counted by who keeps them, with a running sum, or with `each` in
/// [`heap_size!`](crate::heap_size) where they are few.
pub trait HeapSize {
    /// Allocated bytes.
    fn heap_size(&self) -> usize;
}

/// Bytes of a hash table: a control byte beside each place.
const fn hashed<T>(capacity: usize) -> usize {
    capacity * (size_of::<T>() + 1)
}

impl<T> HeapSize for Vec<T> {
    fn heap_size(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

impl<T> HeapSize for VecDeque<T> {
    fn heap_size(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

impl<K, V, S> HeapSize for HashMap<K, V, S> {
    fn heap_size(&self) -> usize {
        hashed::<(K, V)>(self.capacity())
    }
}

impl<T, S> HeapSize for HashSet<T, S> {
    fn heap_size(&self) -> usize {
        hashed::<T>(self.capacity())
    }
}

impl<K, V> HeapSize for BTreeMap<K, V> {
    /// Its nodes are half full at least.
    fn heap_size(&self) -> usize {
        2 * self.len() * size_of::<(K, V)>()
    }
}

impl HeapSize for String {
    fn heap_size(&self) -> usize {
        self.capacity()
    }
}

impl HeapSize for BytesMut {
    fn heap_size(&self) -> usize {
        self.capacity()
    }
}

/// All that a box has: it owns one value, so that nothing is walked.
impl<T: HeapSize> HeapSize for Box<T> {
    fn heap_size(&self) -> usize {
        size_of::<T>() + (**self).heap_size()
    }
}

impl HeapSize for Box<str> {
    fn heap_size(&self) -> usize {
        self.len()
    }
}

/// It is counted in full at each who has it.
impl HeapSize for Arc<str> {
    fn heap_size(&self) -> usize {
        self.len()
    }
}

impl<T> HeapSize for Box<[T]> {
    fn heap_size(&self) -> usize {
        self.len() * size_of::<T>()
    }
}

/// A label and its text.
impl<T: HeapSize> HeapSize for (&'static str, T) {
    fn heap_size(&self) -> usize {
        self.1.heap_size()
    }
}

impl<T: HeapSize> HeapSize for Option<T> {
    fn heap_size(&self) -> usize {
        self.as_ref().map_or(0, T::heap_size)
    }
}

impl<T: HeapSize, const N: usize> HeapSize for [T; N] {
    fn heap_size(&self) -> usize {
        self.iter().map(T::heap_size).sum()
    }
}

#[cfg(feature = "meter")]
impl<K: Eq + Hash, V, S: BuildHasher> HeapSize for hashbrown::HashMap<K, V, S> {
    fn heap_size(&self) -> usize {
        self.allocation_size()
    }
}

#[cfg(feature = "meter")]
impl<T> HeapSize for hashbrown::HashTable<T> {
    fn heap_size(&self) -> usize {
        self.allocation_size()
    }
}

impl HeapSize for pcp_event::Batch {
    fn heap_size(&self) -> usize {
        self.memory()
    }
}

impl HeapSize for pcp_event::RecordTemplate {
    fn heap_size(&self) -> usize {
        self.memory()
    }
}

/// [`HeapSize`] of a struct: the sum of that of the fields in the list, which are those that allocate. `each`
/// before a field: also that of each of its elements. Parameters of the type stand in brackets before it.
///
/// ```
/// use pmdaapm::heap_size;
/// use pmdaapm::model::HeapSize;
///
/// struct Rows<const N: usize> {
///     sums: Vec<[u64; N]>,
///     names: Vec<Box<str>>,
///     rows: u64,
/// }
/// heap_size!([const N: usize] Rows<N> { sums, each names });
///
/// let rows = Rows::<2> { sums: vec![[0; 2]], names: vec!["gen0".into()], rows: 1 };
/// assert_eq!(rows.heap_size(), 16 + 16 + 4);
/// ```
#[macro_export]
macro_rules! heap_size {
    ([$($generic:tt)*] $type:ty { $($fields:tt)* }) => {
        impl<$($generic)*> $crate::model::HeapSize for $type {
            fn heap_size(&self) -> usize {
                $crate::heap_size!(@sum self 0; $($fields)*)
            }
        }
    };
    ($type:ty { $($fields:tt)* }) => {
        $crate::heap_size!([] $type { $($fields)* });
    };
    (@sum $self:ident $sum:expr;) => { $sum };
    (@sum $self:ident $sum:expr; each $field:tt $(, $($rest:tt)*)?) => {
        $crate::heap_size!(@sum $self $sum
            + $crate::model::HeapSize::heap_size(&$self.$field)
            + $self.$field.iter().map($crate::model::HeapSize::heap_size).sum::<usize>();
            $($($rest)*)?)
    };
    (@sum $self:ident $sum:expr; $field:tt $(, $($rest:tt)*)?) => {
        $crate::heap_size!(@sum $self $sum + $crate::model::HeapSize::heap_size(&$self.$field);
            $($($rest)*)?)
    };
}
