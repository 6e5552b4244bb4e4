use proptest::prelude::*;

use super::*;
use crate::ctf::{Packet, Trace};
use crate::events::Batch;
use crate::model::Stamp;

const LIMIT: usize = 4096;

/// Texts of arrays, each built in one call and again element by element.
struct Both<'n> {
    nodes: &'n [Node],
    texts: Vec<[String; 2]>,
    slow: String,
    element: NodeId,
}

impl Both<'_> {
    fn element(&mut self, show: impl FnOnce(&Node, &mut String)) {
        if self.slow.len() >= LIMIT {
            self.slow = format!("{}…", self.slow.trim_end_matches('…'));
            return;
        }
        self.slow.push_str(if self.slow == "[" { "" } else { "," });
        show(at(self.nodes, self.element).unwrap(), &mut self.slow);
    }

    fn integer(&mut self, value: i128) {
        self.element(|node, out| {
            match node.mappings.as_ref().and_then(|labels| labels.of(value).next()) {
                Some(label) => out.push_str(label),
                None => show::integer(value, node.kind, node.base, out),
            }
        });
    }
}

impl<'a> Visitor<'a> for Both<'_> {
    fn unsigned(&mut self, _: NodeId, value: u64) {
        self.integer(value.into());
    }

    fn signed(&mut self, _: NodeId, value: i64) {
        self.integer(value.into());
    }

    fn float(&mut self, _: NodeId, value: f64) {
        self.element(|_, out| out.push_str(&value.to_string()));
    }

    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        let (mut builder, mut batch) =
            (TextBuilder { limit: LIMIT, ..TextBuilder::default() }, Batch::default());
        batch.record(Stamp::default(), 1);
        batch.begin_text();
        builder.packed(self.nodes, node, &items, &mut batch.text_writer());
        let text = batch.text_writer().text().into_owned();
        let bytes = items.bytes();
        if is_byte(at(self.nodes, node.next()).unwrap()) {
            let all: String = bytes.iter().take(LIMIT / 2).map(|b| format!("{b:02x}")).collect();
            let slow = if bytes.len() > LIMIT / 2 { all + "…" } else { all };
            assert_eq!(builder.cut, bytes.len() > LIMIT / 2);
            assert_eq!(bytes_size(bytes, LIMIT), (!builder.cut).then_some(text.len()));
            return self.texts.push([text, slow]);
        }
        (self.slow, self.element) = ("[".into(), node.next());
        items.each(node.next(), self);
        assert_eq!(builder.cut, self.slow.ends_with('…'), "{text}");
        let element = at(self.nodes, node.next()).unwrap();
        if element.mappings.is_none() {
            let form = IntegerFormat::new(element.kind, element.base);
            let size = numbers_size(&items, form, LIMIT);
            assert!(size.is_none_or(|size| size == text.len() && !builder.cut), "{size:?} {text}");
            assert!(size.is_some() || text.len() > LIMIT, "{text}");
        }
        self.texts.push([text, format!("{}]", self.slow)]);
    }

    fn string(&mut self, _: NodeId, _: &'a [u8]) {}
    fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
}

fn check(bytes: &[u8], few: usize) {
    let mut fields = String::new();
    for size in [8, 16, 32, 64] {
        for (signed, base) in
            [(false, 10), (true, 10), (false, 16), (true, 16), (false, 8), (true, 2)]
        {
            let ty = format!(
                "integer {{ size = {size}; signed = {signed}; base = {base}; align = 8; }}"
            );
            fields += &format!("{ty} a{size}{signed}{base}[{few}];");
        }
        fields +=
            &format!("enum : integer {{ size = {size}; }} {{ A, B, C = 5 ... 9 }} e{size}[{few}];");
    }
    fields += &format!("floating_point {{ exp_dig = 8; mant_dig = 24; align = 8; }} f[{few}];");
    let text = format!(
        "trace {{ major = 1; minor = 8; byte_order = le; }}; event {{ name = e; fields := struct {{ {fields} }}; }};"
    );
    let mut trace = Trace::new();
    trace.metadata(text.as_bytes()).unwrap();
    let mut packet = Packet::open(&trace, bytes, 0).unwrap();
    let class = packet.peek().unwrap().unwrap().class;
    let mut both = Both {
        nodes: class.nodes(),
        texts: Vec::new(),
        slow: String::new(),
        element: NodeId::default(),
    };
    packet.visit(&mut both).unwrap();
    assert_eq!(both.texts.len(), 29);
    for [fast, slow] in both.texts {
        assert_eq!(fast, slow);
    }
}

#[test]
fn texts_within_structures_are_cut_at_a_character() {
    for limit in 3..30 {
        let (mut builder, mut batch) =
            (TextBuilder { limit, ..TextBuilder::default() }, Batch::default());
        batch.record(Stamp::default(), 1);
        batch.begin_text();
        builder.string(&[], NodeId::default(), "é→𝄞é→𝄞".as_bytes(), &mut batch.text_writer());
        let text = batch.text_writer().text().into_owned();
        assert_eq!(builder.cut, limit < 18, "{text}");
        let shown = text.trim_end_matches('…').trim_matches('"');
        assert!(
            "é→𝄞é→𝄞".starts_with(shown)
                && text.ends_with('…') == builder.cut
                && shown.len() + 3 >= limit.min(18),
            "{text}"
        );
    }
}

#[test]
fn every_byte_has_its_digits() {
    let all: Vec<u8> = (0..=255).collect();
    let mut batch = Batch::default();
    batch.record(Stamp::default(), 1);
    batch.begin_text();
    assert!(!bytes_text(&all, 512, &mut batch.text_writer()));
    assert_eq!(
        batch.text_writer().text(),
        all.iter().map(|b| format!("{b:02x}")).collect::<String>()
    );
    assert!(bytes_text(&all, 520, &mut batch.text_writer()));
    assert!(batch.text_writer().text().ends_with("ff00010203…"));
}

proptest! {
    #[test]
    fn arrays_at_once_are_as_element_by_element(bytes in proptest::collection::vec(prop_oneof![0..3_u8, any::<u8>(), Just(255)], 1300)) {
        // 7 arrays of each of 1, 2, 4 and 8 bytes and one of 4.
        check(&bytes, bytes.len() / 109);
    }
}

#[test]
fn long_arrays_end_in_an_ellipsis() {
    let bytes: Vec<u8> =
        (0..109 * 3000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    check(&bytes, 3000);
    check(&vec![7; 109 * 2048], 2048);
}
