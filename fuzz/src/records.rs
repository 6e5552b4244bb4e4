//! Event records with any parameters, from any bytes.

use pmdaapm::events::{Batch, Pmid, Stamp, ValueType};

/// Types of numbers.
const NUMBERS: [ValueType; 6] = [
    ValueType::I32,
    ValueType::U32,
    ValueType::I64,
    ValueType::U64,
    ValueType::F32,
    ValueType::F64,
];

fn take<'a>(data: &mut &'a [u8], n: usize) -> &'a [u8] {
    let (head, tail) = data.split_at(n.min(data.len()));
    *data = tail;
    head
}

/// Appends records with up to 7 parameters each, of pmids below `pmids`, until the bytes end or
/// there are `most` of them.
pub fn append(mut data: &[u8], pmids: u32, most: usize, batch: &mut Batch) {
    for n in 0..most {
        let Some((&head, rest)) = data.split_first() else { return };
        data = rest;
        let sec = 1_795_000_000 + n as i64;
        batch.record(Stamp { sec, nsec: u32::from(head) * 1000 }, u32::from(head >> 3));
        for _ in 0..head & 7 {
            let [what, which] = *take(&mut data, 2) else { return };
            let pmid = Pmid(u32::from(which) % pmids);
            match NUMBERS.get(usize::from(what & 7)) {
                Some(ty) => {
                    let mut bits = [0; 8];
                    let bytes = take(&mut data, 1 + usize::from(what >> 5));
                    bits[..bytes.len()].copy_from_slice(bytes);
                    batch.number(pmid, *ty, u64::from_le_bytes(bits));
                }
                None => {
                    let text = take(&mut data, usize::from(what >> 3));
                    batch.text(pmid, &String::from_utf8_lossy(text));
                }
            }
        }
    }
}
