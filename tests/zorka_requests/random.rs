//! Requests in any order, with anything in them: answers are valid, counters never go back.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::kit::{AGD, Modern, SYMBOLS, TRC, World, definitions};

/// Sequences, and requests of each.
const SEQUENCES: u64 = 60;
const REQUESTS: u32 = 150;

struct Random(u64);

impl Random {
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % n
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

fn counters(world: &World) -> BTreeMap<(String, u16), u64> {
    let mut all = BTreeMap::new();
    for (name, peer) in world.peers() {
        for item in (0..60).filter(|item| !matches!(item, 2 | 3 | 22 | 23)) {
            all.extend(peer.cells.get(item).map(|value| ((name.clone(), item), value)));
        }
    }
    all
}

fn run(seed: u64) {
    let world = World::new();
    let mut random = Random(seed | 1);
    let define = definitions(&SYMBOLS, &[(1, 2, 3, 7)]);
    let agent = Modern::new(&world, "x", "shop", "web1");
    let traces = [agent.attempt(9, 1), agent.attempt(10, 2)];
    let bodies: [&[u8]; 10] = [
        &define,
        &traces[0],
        &traces[1],
        b"{\"name\":\"a\",\"app\":\"b\",\"env\":\"c\",\"rkey\":\"zorka\"}",
        b"{\"id\":\"1\",\"authkey\":\"ABCDEFGH\"}",
        b"{\"uuid\":\"u-1\",\"authkey\":\"ABCDEFGH\"}",
        b"\xc8\x9f\xca\x48\0\0\x01\0\0\0\0\0\xcc\x48\0\0\x01\0\0\0\0\x05\xff",
        b"host=a&data=w4EBYWE%3D",
        b"",
        b"\x9f\xff\xc3",
    ];
    let mut key = String::from("0");
    let mut before = counters(&world);
    for n in 0..REQUESTS {
        let connection = random.below(4) as u64;
        match random.below(12) {
            0 => world.close(connection),
            1 => world.wait(1 << random.below(18)),
            _ => {
                let paths =
                    [AGD, TRC, TRC, "/agent/session", "/agent/register", "/submit/agent", "/x"];
                let path = random.of(&paths);
                let mut body = random.of(&bodies).to_vec();
                if random.below(4) == 0 && !body.is_empty() {
                    let at = random.below(body.len());
                    body[at] ^= 1 << random.below(8);
                }
                let id = n.to_string();
                let mut headers = vec![("x-zorka-trace-id", id.as_str())];
                match random.below(4) {
                    0 => headers.push(("x-zorka-session-uuid", &key)),
                    1 => {}
                    _ => headers.push(("x-zorka-session-id", random.of(&["a", "b", "c"]))),
                }
                headers.push(("x-zorka-session-reset", random.of(&["true", "false"])));
                let answer = world.send(connection, path, &headers, &body);
                assert!(
                    matches!(answer.status, 200 | 201 | 202 | 400 | 401 | 404 | 412),
                    "{} by seed {seed}",
                    answer.status
                );
                let json: serde_json::Value =
                    serde_json::from_slice(&answer.body).unwrap_or_default();
                if let Some(session) = json["session"].as_str() {
                    session.clone_into(&mut key);
                }
            }
        }
        let now = counters(&world);
        for (counter, value) in &before {
            assert!(now[counter] >= *value, "{counter:?} by seed {seed}");
        }
        before = now;
    }
    if let Some(state) = world.collector.take_state() {
        World::with(&Default::default(), &state);
    }
}

#[test]
fn answers_are_valid_and_counters_never_go_back() {
    let seed = RandomState::new().build_hasher().finish();
    (0..SEQUENCES).for_each(|n| run(seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))));
}
