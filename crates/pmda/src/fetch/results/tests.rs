use std::time::Duration;

use pcp_event::{Array, HighRes, Stamp};
use proptest::prelude::*;

use super::*;
use crate::cstring;
use crate::fetch::budget::FetchLimits;

#[test]
fn libpcp_reads_the_values_as_built() {
    let mut r = Results::default();
    r.begin(4, Budget::new(4, FetchLimits::default(), Duration::ZERO, || Duration::ZERO));
    r.begin_set(0, Pmid(7));
    r.number(3, ValueType::U32, 42);
    r.number(4, ValueType::U32, 43);
    assert!(r.end_set(Ok(())));
    r.begin_set(1, Pmid(8));
    r.number(0, ValueType::I64, (-5i64).cast_unsigned());
    r.numbers(ValueType::I64, (1..=3).map(|n| (n, u64::from(n) << 40)));
    assert!(r.end_set(Ok(())));
    r.begin_set(2, Pmid(9));
    r.text(1, "four\0hidden");
    // The answer keeps what it points to.
    (0..50).for_each(|n| r.text_value(2 + n, &TextValue::new(&format!("kept {n}\0hidden"))));
    r.text(60, "last");
    assert!(r.end_set(Ok(())));
    r.begin_set(3, Pmid(10));
    assert!(r.end_set(Err(Error::PMID)));
    let result = r.finish(0x10);
    // SAFETY: the result was just built and is not touched meanwhile.
    let count = unsafe { (*result).numpmid };
    assert_eq!(count, 4);
    // SAFETY: as above.
    let sets = unsafe { &raw const (*result).vset }.cast::<*const sys::pmValueSet>();
    let set = |i: usize| {
        // SAFETY: i is below numpmid.
        let place = unsafe { sets.add(i) };
        // SAFETY: as above.
        unsafe { place.read() }
    };
    let values = |i: usize, ty: u32| {
        // SAFETY: the set is of the result.
        let n = unsafe { (*set(i)).numval };
        // SAFETY: as above.
        let format = unsafe { (*set(i)).valfmt };
        // SAFETY: as above.
        let list = unsafe { &raw const (*set(i)).vlist }.cast::<sys::pmValue>();
        let text = |j: usize| {
            let mut atom = std::mem::MaybeUninit::<sys::pmAtomValue>::uninit();
            // SAFETY: j is below numval.
            let value = unsafe { list.add(j) };
            let (from, to) = (ty.cast_signed(), sys::PM_TYPE_STRING.cast_signed());
            // SAFETY: libpcp decodes the value and makes a string of it.
            let sts = unsafe { sys::pmExtractValue(format, value, from, atom.as_mut_ptr(), to) };
            assert_eq!(sts, 0);
            // SAFETY: extraction succeeded.
            let atom = unsafe { atom.assume_init() };
            // SAFETY: a string was requested.
            let s = unsafe { atom.cp };
            // SAFETY: as above: a C string.
            unsafe { cstring::copy(s) }.unwrap_or_default()
        };
        (n, (0..usize::try_from(n).unwrap_or(0)).map(text).collect::<Vec<_>>())
    };
    let kept = (0..50).map(|n| format!("kept {n}"));
    let texts = ["four".to_owned()].into_iter().chain(kept).chain(["last".to_owned()]).collect();
    assert_eq!(values(2, sys::PM_TYPE_STRING), (52, texts));
    assert_eq!(values(3, sys::PM_TYPE_U32), (sys::PM_ERR_PMID, vec![]));
    // SAFETY: the set is of the result; its two values are in situ.
    let list = unsafe { &raw const (*set(0)).vlist }.cast::<sys::pmValue>();
    let value = |j: usize| {
        // SAFETY: j is below two.
        let place = unsafe { list.add(j) };
        // SAFETY: as above.
        let value = unsafe { place.read() };
        // SAFETY: the member in use with PM_VAL_INSITU.
        (value.inst, unsafe { value.value.lval })
    };
    assert_eq!([value(0), value(1)], [(3, 42), (4, 43)]);
    // SAFETY: the set is of the result; its four values are in blocks.
    let list = unsafe { &raw const (*set(1)).vlist }.cast::<sys::pmValue>();
    let number = |j: usize| {
        let mut atom = std::mem::MaybeUninit::<sys::pmAtomValue>::uninit();
        // SAFETY: j is below four.
        let value = unsafe { list.add(j) };
        let (format, ty) = (sys::PM_VAL_SPTR.cast_signed(), sys::PM_TYPE_64.cast_signed());
        // SAFETY: libpcp decodes the value.
        let sts = unsafe { sys::pmExtractValue(format, value, ty, atom.as_mut_ptr(), ty) };
        assert_eq!(sts, 0);
        // SAFETY: extraction succeeded.
        let atom = unsafe { atom.assume_init() };
        // SAFETY: a signed number was requested.
        unsafe { atom.ll }
    };
    assert_eq!([0, 1, 2, 3].map(number), [-5, 1 << 40, 2 << 40, 3 << 40]);
}

#[test]
fn a_refusal_ends_with_its_set() {
    let mut r = Results::default();
    r.begin(2, Budget::new(2, FetchLimits::default(), Duration::ZERO, || Duration::ZERO));
    assert!(!r.is_refused(), "before the first set");
    r.begin_set(0, Pmid(7));
    r.refuse();
    assert!(r.is_refused() && !r.end_set(Ok(())));
    assert!(!r.is_refused(), "between sets");
}

unsafe extern "C" {
    /// libpcp's encoder and sender of results; exported since PCP 3.0, declared in libpcp.h, which
    /// is not installed.
    fn __pmSendResult(fd: c_int, from: c_int, result: *const sys::PmdaResult) -> c_int;
}

/// The length of the PDU that libpcp makes of a result.
fn encoded(result: *const sys::PmdaResult) -> usize {
    use std::io::{Read, Seek};
    use std::os::fd::{AsRawFd, FromRawFd};
    // SAFETY: memfd_create(2) with a C string.
    let fd = unsafe { libc::memfd_create(c"pdu".as_ptr(), 0) };
    // SAFETY: the descriptor is new and ours.
    let mut file = unsafe { std::fs::File::from_raw_fd(fd) };
    // SAFETY: a result as pmdaFetch(3) makes it, alive during the call.
    let sts = unsafe { __pmSendResult(file.as_raw_fd(), 0, result) };
    assert!(sts >= 0, "{}", Error::of_status(sts).unwrap_or(Error::GENERIC));
    let mut pdu = Vec::new();
    file.rewind().expect("a file");
    file.read_to_end(&mut pdu).expect("a file");
    let told = u32::from_be_bytes(*pdu.first_chunk().expect("a header"));
    assert_eq!(told as usize, pdu.len());
    pdu.len()
}

#[derive(Clone, Debug)]
enum Step {
    Number(ValueType),
    Text(usize),
    Array(usize),
}

fn steps() -> impl Strategy<Value = Vec<(Vec<Step>, Option<usize>)>> {
    let number =
        prop::sample::select(vec![ValueType::U32, ValueType::F32, ValueType::I64, ValueType::F64]);
    let step = prop_oneof![
        4 => number.prop_map(Step::Number),
        2 => (0..40usize).prop_map(Step::Text),
        1 => (0..9usize).prop_map(Step::Array),
        1 => Just(Step::Text(3 << 20)),
    ];
    // The values of one set have one kind, as a metric's have; or the set repeats an earlier one.
    let set = (prop::collection::vec(step, 0..6), prop::option::weighted(0.3, 0..8usize));
    prop::collection::vec(set, 0..12)
}

proptest! {
    #[test]
    fn the_budget_counts_what_libpcp_encodes(all in steps(), shuffle in any::<u64>()) {
        // Arrays of 8 + 24 * n bytes.
        let arrays: Vec<EventArray> = (0..9).map(|n| {
            let mut array = Array::<HighRes>::new();
            (0..n).for_each(|_| array.add_missed(Stamp::default(), 1).expect("fits"));
            EventArray::new::<HighRes>(array.into_bytes()).expect("an array")
        }).collect();
        let mut r = Results::default();
        r.begin(all.len(), Budget::new(all.len(), FetchLimits::default(), Duration::ZERO, || Duration::ZERO));
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|place| (*place as u64 + 1).wrapping_mul(shuffle | 1));
        let firsts: Vec<usize> = order.iter().copied().filter(|p| all[*p].1.is_none()).collect();
        let text = "x".repeat(3 << 20);
        for place in &firsts {
            r.begin_set(*place, Pmid(7));
            let kind = all[*place].0.first().cloned();
            for (inst, step) in (0u32..).zip(&all[*place].0) {
                match (&kind, step) {
                    (Some(Step::Number(ty)), _) => r.numbers(*ty, (0..inst).map(|n| (n, 5))),
                    (_, Step::Text(n)) => r.text(inst, &text[..*n]),
                    (_, Step::Array(n)) => r.array(inst, arrays[*n].clone()),
                    (_, Step::Number(_)) => r.text(inst, "a number"),
                }
            }
            r.end_set(Ok(()));
        }
        for place in order.iter().filter(|p| all[**p].1.is_some()) {
            match firsts.get(all[*place].1.unwrap_or_default()) {
                Some(of) => { r.repeat_set(*place, *of, Pmid(7)); }
                None => { r.begin_set(*place, Pmid(7)); r.end_set(Err(Error::PMID)); }
            }
        }
        let used = r.budget.used();
        prop_assert!(used <= FetchLimits::default().bytes);
        prop_assert_eq!(encoded(r.finish(0)), used);
    }
}
