//! Generates a schema from bytes. Valid by construction: references lead to earlier fields.

use std::sync::Arc;

use crate::ByteOrder;
use crate::schema::{
    DataStreamClass, DisplayBase, Encoding, EventRecordClass, FieldClass, FieldClassKind,
    FieldLocation, Float, Integer, IntegerKind, Length, LocationOrigin, Mapping, Mappings, Member,
    Role, Roles, Schema, Scope, Structure, Variant,
};

/// A field that lengths and selectors may refer to.
#[derive(Clone, Debug)]
struct Known {
    scope: Scope,
    /// Names from the scope on.
    path: Vec<Arc<str>>,
    /// Number of enclosing structures within the scope that are shared with a referring field.
    level: usize,
    integer: Integer,
}

/// Draws from bytes; zeros after their end.
pub(super) struct Generator<'a> {
    bytes: &'a [u8],
    names: u32,
    known: Vec<Known>,
    /// Names of the open structures and members, and the number of these structures.
    path: Vec<Arc<str>>,
    level: usize,
    scope: Scope,
    /// Whether alignments are the usual ones and the byte order is that of the trace, as of most
    /// tracers: places follow from one another.
    usual: bool,
}

impl<'a> Generator<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            names: 0,
            known: Vec::new(),
            path: Vec::new(),
            level: 0,
            scope: Scope::PacketHeader,
            usual: false,
        }
    }

    /// The remaining bytes as the packet; often with small numbers and NULs, so that decoding does
    /// not end at once.
    pub(super) fn packet(&mut self) -> Vec<u8> {
        let mask = [0xff, 0x0f, 0x11, 0x03, 0x01, 0x81][self.draw(6) as usize];
        self.bytes.iter().map(|b| b & mask).collect()
    }

    /// A number below `n`.
    fn draw(&mut self, n: u32) -> u32 {
        let Some((b, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        u32::from(*b) % n.max(1)
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.draw(n) + 1 == n
    }

    fn name(&mut self) -> Arc<str> {
        self.names += 1;
        format!("f{}", self.names).into()
    }

    fn order(&mut self) -> ByteOrder {
        if self.one_in(2) { ByteOrder::Big } else { ByteOrder::Little }
    }

    fn align(&mut self, usual: u64) -> u64 {
        match self.draw(6) {
            _ if self.usual => usual,
            0 => 1,
            1 => 1 << self.draw(7),
            2 => 8,
            _ => usual,
        }
    }

    pub(super) fn schema(&mut self) -> Schema {
        let mut schema = Schema { order: Some(self.order()), ..Schema::default() };
        self.usual = self.one_in(2);
        if self.one_in(3) {
            schema.packet_header = Some(self.scope(Scope::PacketHeader, 2));
        }
        let mut stream = DataStreamClass::default();
        if self.one_in(2) {
            stream.packet_context = Some(self.scope(Scope::PacketContext, 3));
        }
        let classes = 1 + self.draw(4);
        stream.event_header = self.event_header(classes);
        if self.one_in(3) {
            stream.common_context = Some(self.scope(Scope::CommonContext, 2));
        }
        let common = self.known.len();
        for id in 0..classes {
            self.known.truncate(common);
            let context = if self.one_in(4) { Some(self.scope(Scope::Context, 2)) } else { None };
            let payload = if self.one_in(8) { None } else { Some(self.scope(Scope::Payload, 5)) };
            let name = format!("e{id}").into();
            stream.events.push(EventRecordClass {
                id: id.into(),
                name,
                log_level: None,
                emf_uri: None,
                context,
                payload,
            });
        }
        schema.streams.push(stream);
        schema
    }

    fn scope(&mut self, scope: Scope, members: u32) -> Arc<FieldClass> {
        (self.scope, self.level) = (scope, 0);
        self.path.clear();
        self.structure(members, 0)
    }

    /// The tracers' two layouts, similar ones, or any header with an id.
    fn event_header(&mut self, classes: u32) -> Option<Arc<FieldClass>> {
        self.scope = Scope::EventHeader;
        let kind = self.draw(5);
        if kind == 0 && classes == 1 {
            return None;
        }
        let order = self.order();
        let integer = |bits, align, role| Integer {
            align,
            order: Some(order),
            roles: Roles::default().with(role),
            ..Integer::new(bits)
        };
        let named = |name: &str, kind: FieldClassKind| Member {
            raw: name.into(),
            name: name.into(),
            class: class(kind),
        };
        let structure =
            |fields, align| FieldClassKind::Structure(Structure { members: fields, align });
        let (id, clock, clock_align) = match kind {
            1 => (5, 27, 1),
            2 => (16, 32, 8),
            _ => {
                let align = self.align(8);
                let clock = [7, 27, 32, 64][self.draw(4) as usize];
                let fields = vec![
                    named("id", FieldClassKind::Integer(integer(2, 1, Role::EventClass))),
                    named("timestamp", FieldClassKind::Integer(integer(clock, align, Role::Clock))),
                ];
                return Some(class(structure(fields, 1)));
            }
        };
        let last = (1 << id) - 1;
        let mappings =
            Mappings::new([("short".into(), (0, last - 1)), ("long".into(), (last, last))])
                .unwrap_or_default();
        let selector = Integer {
            mappings: Some(Arc::new(mappings)),
            ..integer(id, if id == 16 { 8 } else { 1 }, Role::EventClass)
        };
        // Sometimes slightly different, so that the header is not one of the two layouts.
        let odd = if self.one_in(4) { 16 } else { 8 };
        let short = structure(
            vec![named(
                "timestamp",
                FieldClassKind::Integer(integer(clock, clock_align, Role::Clock)),
            )],
            1,
        );
        let long = structure(
            vec![
                named("id", FieldClassKind::Integer(integer(32, 8, Role::EventClass))),
                named("timestamp", FieldClassKind::Integer(integer(64, odd, Role::Clock))),
            ],
            1,
        );
        let variant = Variant {
            selector: FieldLocation { origin: LocationOrigin::Nearest, names: vec!["id".into()] },
            options: vec![named("short", short), named("long", long)],
            ranges: None,
        };
        let fields = vec![
            named("id", FieldClassKind::Integer(selector)),
            named("v", FieldClassKind::Variant(variant)),
        ];
        Some(class(structure(fields, 8)))
    }

    fn structure(&mut self, members: u32, depth: u32) -> Arc<FieldClass> {
        let count = self.draw(members + 1);
        let mut fields = Vec::new();
        self.level += 1;
        for _ in 0..count {
            let name = self.name();
            self.path.push(name.clone());
            let class = self.class(depth + 1);
            if let FieldClassKind::Integer(integer) = class.kind() {
                let (path, integer) = (self.path.clone(), integer.clone());
                self.known.push(Known { scope: self.scope, path, level: self.level, integer });
            }
            self.path.pop();
            fields.push(Member { raw: name.clone(), name, class });
        }
        self.level -= 1;
        let align = if self.one_in(5) { self.align(1) } else { 1 };
        class(FieldClassKind::Structure(Structure { members: fields, align }))
    }

    fn integer(&mut self) -> Integer {
        let bits = match self.draw(8) {
            0 => 8,
            1 => 16,
            2 => 32,
            3 => 64,
            4 => 1 + self.draw(64),
            5 => 0,
            _ => 1 + self.draw(5),
        };
        let number = match self.draw(8) {
            0 | 1 => IntegerKind::Signed,
            2 => IntegerKind::Boolean,
            3 => IntegerKind::BitMap,
            _ => IntegerKind::Unsigned,
        };
        let number = if bits == 0 && matches!(number, IntegerKind::Boolean | IntegerKind::BitMap) {
            IntegerKind::Unsigned
        } else {
            number
        };
        let mappings =
            if self.one_in(2) && matches!(number, IntegerKind::Unsigned | IntegerKind::Signed) {
                let mut ranges = Vec::new();
                for mapping in ["a", "b", "c"] {
                    let low = i128::from(self.draw(12))
                        - if number == IntegerKind::Signed { 6 } else { 0 };
                    ranges.push((mapping.into(), (low, low + i128::from(self.draw(6)))));
                }
                Mappings::new(ranges).ok().map(Arc::new)
            } else {
                None
            };
        let clock =
            number == IntegerKind::Unsigned && self.scope != Scope::PacketHeader && self.one_in(12);
        Integer {
            align: self.align(if bits % 8 == 0 { 8 } else { 1 }),
            kind: number,
            order: if self.one_in(2) && !self.usual { Some(self.order()) } else { None },
            reversed: self.one_in(8) && !self.usual,
            base: DisplayBase::Decimal,
            roles: if clock { Roles::default().with(Role::Clock) } else { Roles::default() },
            mappings,
            ..Integer::new(bits)
        }
    }

    fn encoding(&mut self) -> Encoding {
        match self.draw(8) {
            0 => Encoding::Utf16Le,
            1 => Encoding::Utf32Be,
            _ => Encoding::Utf8,
        }
    }

    fn class(&mut self, depth: u32) -> Arc<FieldClass> {
        let kinds = if depth > 3 { 8 } else { 14 };
        let kind = match self.draw(kinds) {
            4 => {
                let order = if self.one_in(2) { Some(self.order()) } else { None };
                let bits = [16, 32, 64][self.draw(3) as usize];
                FieldClassKind::Float(Float {
                    bits,
                    align: self.align(8),
                    order,
                    reversed: self.one_in(8) && !self.usual,
                })
            }
            5 => FieldClassKind::NullTerminatedString(self.encoding()),
            6 => {
                let length = self.length();
                FieldClassKind::SizedString(length, self.encoding())
            }
            7 => FieldClassKind::Blob(self.length(), Roles::default()),
            8 | 9 => {
                let length = self.length();
                let align = if self.one_in(4) { self.align(1) } else { 1 };
                // Elements have no names, so no field inside can be referred to from outside.
                let known = self.known.len();
                let element = self.class(depth + 1);
                self.known.truncate(known);
                FieldClassKind::Array(length, element, align)
            }
            10 | 11 => return self.structure(4, depth),
            12 => return self.variant(depth),
            13 => return self.optional(depth),
            _ => FieldClassKind::Integer(self.integer()),
        };
        class(kind)
    }

    fn length(&mut self) -> Length {
        if self.one_in(2) {
            let small = |k: &Known| {
                k.integer.kind == IntegerKind::Unsigned && (1..6).contains(&k.integer.bits)
            };
            if let Some((path, _)) = self.reference(small) {
                return Length::Dynamic(path);
            }
        }
        Length::Static(self.draw(6).into())
    }

    /// A path to a known field.
    fn reference(&mut self, fits: impl Fn(&Known) -> bool) -> Option<(FieldLocation, Integer)> {
        let known: Vec<Known> = self.known.iter().filter(|k| fits(k)).cloned().collect();
        let choice = self.draw(u32::try_from(known.len()).ok()?) as usize;
        let known = known.get(choice)?;
        let name = known.path.last()?.clone();
        let around =
            self.path.get(..known.path.len() - 1) == known.path.get(..known.path.len() - 1);
        let nearest = FieldLocation { origin: LocationOrigin::Nearest, names: vec![name.clone()] };
        let absolute =
            FieldLocation { origin: LocationOrigin::Scope(known.scope), names: known.path.clone() };
        let up = u32::try_from(self.level.saturating_sub(known.level)).ok()?;
        let path = match self.draw(3) {
            0 if known.scope == self.scope && around => {
                FieldLocation { origin: LocationOrigin::Up(up), names: vec![name] }
            }
            1 if known.scope == self.scope && around => nearest,
            _ => absolute,
        };
        Some((path, known.integer.clone()))
    }

    fn variant(&mut self, depth: u32) -> Arc<FieldClass> {
        let by_labels = self.one_in(2);
        let number = |k: &Known| {
            matches!(
                k.integer.kind,
                IntegerKind::Unsigned | IntegerKind::Signed | IntegerKind::Boolean
            )
        };
        let labelled = |k: &Known| k.integer.mappings.is_some();
        let selector = if by_labels { self.reference(labelled) } else { self.reference(number) };
        let Some((selector, integer)) = selector else {
            return class(FieldClassKind::Integer(self.integer()));
        };
        let mappings: Vec<Arc<str>> = match &integer.mappings {
            Some(mappings) if by_labels => {
                mappings.all().iter().map(|mapping: &Mapping| mapping.name.clone()).collect()
            }
            _ => vec!["x".into(), "y".into()],
        };
        let known = self.known.len();
        let (mut options, mut ranges) = (Vec::new(), Vec::new());
        for name in mappings {
            let length = self.path.len();
            self.path.extend(by_labels.then(|| name.clone()));
            let class = self.class(depth + 1);
            self.path.truncate(length);
            self.known.truncate(known);
            options.push(Member { raw: name.clone(), name, class });
            let low = i128::from(self.draw(4)) - 2;
            ranges.push(vec![(low, low + i128::from(self.draw(40)))]);
        }
        class(FieldClassKind::Variant(Variant {
            selector,
            options,
            ranges: if by_labels { None } else { Some(ranges) },
        }))
    }

    fn optional(&mut self, depth: u32) -> Arc<FieldClass> {
        let number = |k: &Known| {
            matches!(
                k.integer.kind,
                IntegerKind::Unsigned | IntegerKind::Signed | IntegerKind::Boolean
            )
        };
        let Some((selector, integer)) = self.reference(number) else {
            return class(FieldClassKind::Integer(self.integer()));
        };
        let low = i128::from(self.draw(4)) - 2;
        let ranges = if integer.kind == IntegerKind::Boolean {
            None
        } else {
            Some(vec![(low, low + i128::from(self.draw(4)))])
        };
        let known = self.known.len();
        let inner = self.class(depth + 1);
        self.known.truncate(known);
        class(FieldClassKind::Optional(selector, ranges, inner))
    }
}

fn class(kind: FieldClassKind) -> Arc<FieldClass> {
    match FieldClass::new(kind) {
        Ok(class) => class,
        Err(fault) => panic!("{fault:?}"),
    }
}
