use std::sync::Arc;

use super::*;
use crate::contract::Recorded;
use crate::sources::Source;
use crate::sources::profiler::Profiler;
use crate::sources::profiler::dictionary::Text;
use crate::sources::profiler::dictionary::shared::Interner;
use crate::sources::profiler::meter::accounting::Marks;
use crate::sources::profiler::meter::pending::PendingCall;
use crate::sources::profiler::streams::record::{Params, Piece, Pointer};

const WORDS: [&str; 12] = [
    "call.red",
    "call.idle",
    "profiler.title",
    "web.url",
    "trace.id",
    "end.to.end.id",
    "tenant",
    "user",
    "node.name",
    "other\0one",
    "x-request-id",
    "java.thread",
];

/// Units of values: none, short, of exactly the room, longer than a record takes, with NULs and not
/// ASCII, with half of a pair.
fn values() -> Vec<Vec<u16>> {
    let text = |text: &str| text.encode_utf16().collect::<Vec<_>>();
    let mut values: Vec<_> = (0..70).map(|len| text(&"abcdefghij".repeat(7)[..len])).collect();
    values.extend([200, 1023, 1024, 1025, 5000].map(|len| text(&"x".repeat(len))));
    values.extend([1022, 1023, 1024].map(|len| text(&format!("{}äß🦀", "x".repeat(len)))));
    values.extend(
        ["\0", "abc\0def", "\0abcdefg", "abcdefgh\0", "日本🦀", "\u{7f}", "\u{80}"].map(text),
    );
    values.extend([vec![0xd800], vec![0x61, 0xdc00, 0x62], vec![0x0100; 9], vec![0x6100; 4]]);
    values
}

/// Tells the record of a call without a packer.
fn tell(
    of: &PendingCall,
    error: bool,
    method: Option<&str>,
    roles: &mut ParamRoles,
    words: &Dictionary,
    peer: &mut Peer,
) {
    let call = of.call();
    let method = method.map_or_else(|| nameless(call.method), str::to_owned);
    let (mut others, mut reported) = (Vec::new(), Reported::default());
    peer.record(m::CALL, Stamp::from_millis(call.start_ms), POINT, |to| {
        to.text(m::P_METHOD, &method);
        to.text(m::P_THREAD, call.thread_name.map_or("", |thread| thread));
        for (id, value) in of.params() {
            match roles.role(id, words) {
                ParamRole::Own(id) if reported.add(id) => to.text(id, value),
                ParamRole::Own(_) | ParamRole::Unshown => {}
                ParamRole::Other { .. } => {
                    let name =
                        words.get(id).map_or_else(|| nameless(id), |word| (**word).to_owned());
                    others.push((name, value));
                }
            }
        }
        to.write(m::P_PARAMETERS, |text| {
            for (name, value) in &others {
                push_other(text, false, name, value.as_bytes());
            }
        });
        to.number(m::P_DURATION, ns(call.duration_ms));
        for (item, number) in [
            (m::P_ERROR, error.into()),
            (m::P_SUSPENDED, ns(3)),
            (m::P_CPU, ns(call.cpu_ms)),
            (m::P_WAIT, ns(call.wait_ms)),
            (m::P_QUEUE_WAIT, ns(call.queue_wait_ms.into())),
            (m::P_MEMORY, call.memory),
            (m::P_NESTED, call.calls.into()),
            (m::P_FILE_READ, call.file_read),
            (m::P_FILE_WRITTEN, call.file_written),
            (m::P_NET_READ, call.net_read),
            (m::P_NET_WRITTEN, call.net_written),
            (m::P_TRANSACTIONS, call.transactions),
            (m::P_TRACE_FILE, call.pointer.file.into()),
            (m::P_TRACE_OFFSET, call.pointer.offset.into()),
            (m::P_TRACE_INDEX, call.pointer.index.into()),
        ] {
            to.positive(item, number);
        }
    });
}

#[test]
fn a_packed_record_is_the_one_that_is_told() {
    let mut words = Dictionary::new(Arc::new(Interner::new(1 << 20)));
    let word = |word: &str| word.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
    for text in WORDS {
        assert!(words.put(None, Text::new(&word(text), text.len() as u32)).1);
    }
    let names: Arc<[String]> = ["tenant".to_owned(), "user".to_owned()].into();
    let (mut roles, mut packed) = (ParamRoles::new(Arc::clone(&names)), CallRecords::new(names));
    let [mut slow, mut fast, mut again] = [false, true, true].map(|packs| {
        let peer = Recorded::new(&Profiler::TABLE);
        let mut log = peer.log_mut();
        // There is no room for the other names.
        (log.packs, log.room) = (packs, 1);
        drop(log);
        peer
    });
    let (values, mut seed) = (values(), 1_u32);
    let mut any = |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % below
    };
    let threads = [None, Some("main"), Some("pool\0-1"), Some("0123456"), Some("01234567\0")]
        .map(|name| name.map(Arc::<str>::from));
    for n in 0..3_000 {
        let (mut text, mut pieces) = (Vec::new(), Vec::new());
        for _ in 0..any(6) {
            let from = text.len();
            let value = values.get(any(values.len())).expect("a value");
            text.extend(value.iter().flat_map(|unit| unit.to_be_bytes()));
            let (id, to, units) = (any(WORDS.len() + 1) as u32, text.len(), value.len() as u32);
            pieces.push(Piece { id, from, to, units });
        }
        // Ids get other words when the dictionary is reset.
        let (method, thread, later) = (any(5), any(threads.len()), n / 700);
        let mut number = |most: u64| if any(2) == 0 { 0 } else { any(1 << 20) as u64 % most };
        let call = Call {
            start_ms: number(1 << 20).cast_signed() - 1_000,
            duration_ms: number(1 << 20),
            method: method as u32,
            calls: number(9) as u32,
            thread: thread as u32,
            thread_name: threads.get(thread).and_then(Option::as_ref),
            logs_written: 1,
            logs_generated: 2,
            pointer: Pointer {
                file: number(9) as u32,
                offset: number(1 << 20) as u32,
                index: number(99) as u32,
            },
            cpu_ms: number(99),
            wait_ms: number(99),
            memory: number(1 << 20),
            file_read: number(99),
            file_written: number(99),
            net_read: number(99),
            net_written: number(99),
            transactions: number(9),
            queue_wait_ms: number(99) as u32,
            params: Params { pieces: &pieces, text: &text, count: 1, values: 1 },
        };
        let names = ["Main.run", "C.a\0b", "", "com.example.Quite.aLongName"];
        // The last one has no name.
        let method = (method < 4).then(|| names[(method + later) % 4]);
        let error = Marks::of(call.method, call.params.ids(), &words).error;
        let mut copy = PendingCall::default();
        copy.take(&call);
        tell(&copy, error, method, &mut roles, &words, &mut slow);
        let params = call.params.iter().map(|param| (param.id, param.value));
        packed.pack(&call, params, (error, 3), || method, &words, &mut fast);
        packed.pack(&copy.call(), copy.params(), (error, 3), || method, &words, &mut again);
        [&mut fast, &mut again].into_iter().for_each(|peer| peer.flush());
        for peer in [&fast, &again] {
            let mut packed = peer.records();
            // Values of a call may be empty; a record that is told has no parameter for them.
            packed.iter_mut().for_each(|record| record.params.retain(|(_, v)| !v.is_empty()));
            assert_eq!(slow.records(), packed, "{call:?}");
        }
        [&slow, &fast, &again].into_iter().for_each(|peer| peer.log_mut().events.clear());
        if n % 1_000 == 0 {
            packed.shrink();
        }
        if (n + 1) / 700 > later {
            packed.reset_dictionary();
        }
    }
}
