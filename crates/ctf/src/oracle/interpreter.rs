//! Decodes bit by bit, along the field classes, into a tree of all values.

use super::{Call, Decoded};
use crate::ByteOrder;
use crate::schema::{
    DataStreamClass, Encoding, EnvValue, FieldClass, FieldClassKind, FieldLocation, Float, Integer,
    IntegerKind, Length, LocationOrigin, Member, Role, Schema, Scope, Variant,
};

/// A decoded field.
#[derive(Clone, Debug)]
enum Value {
    Number { value: i128, mappings: Vec<String>, boolean: bool },
    Structure(Vec<(String, Self)>),
    Other,
}

/// A structure that is being decoded.
#[derive(Debug, Default)]
struct Open {
    members: Vec<(String, Value)>,
    /// The path to the current member: its name, the option if it is a variant, and so on.
    current: Vec<String>,
}

/// The reason why decoding ends.
#[derive(Debug)]
struct Bad;

type Read<T> = Result<T, Bad>;

struct Interpreter<'a> {
    schema: &'a Schema,
    data: &'a [u8],
    bit: u64,
    end: u64,
    clock: u64,
    order: Option<ByteOrder>,
    calls: Vec<Call>,
    /// Decoded scopes.
    scopes: Vec<(Scope, Value)>,
    /// Structures that are being decoded, outermost first.
    open: Vec<Open>,
    scope: Scope,
    /// Integers with a role.
    roles: Vec<(Role, u64, u32)>,
}

/// Number of nodes of a field class.
fn nodes(class: &FieldClass) -> u32 {
    1 + match class.kind() {
        FieldClassKind::Array(_, element, _) => nodes(element),
        FieldClassKind::Structure(s) => s.members.iter().map(|f| nodes(&f.class)).sum(),
        FieldClassKind::Variant(v) => v.options.iter().map(|f| nodes(&f.class)).sum(),
        FieldClassKind::Optional(_, _, inner) => nodes(inner),
        _ => 0,
    }
}

pub(super) fn packet(schema: &Schema, data: &[u8]) -> Decoded {
    let mut decoded = Decoded::default();
    let mut i = Interpreter {
        schema,
        data,
        bit: 0,
        end: data.len() as u64 * 8,
        clock: 0,
        order: None,
        calls: Vec::new(),
        scopes: Vec::new(),
        open: Vec::new(),
        scope: Scope::PacketHeader,
        roles: Vec::new(),
    };
    let Ok(stream) = i.begin(&mut decoded) else { return Decoded::default() };
    decoded.sound = i.events(stream, &mut decoded).is_ok();
    decoded
}

impl<'a> Interpreter<'a> {
    fn role(&self, role: Role) -> Option<u64> {
        self.roles.iter().rev().find(|(r, ..)| *r == role).map(|(_, value, _)| *value)
    }

    /// Header and context.
    fn begin(&mut self, decoded: &mut Decoded) -> Read<&'a DataStreamClass> {
        if let Some(class) = &self.schema.packet_header {
            self.scope(Scope::PacketHeader, class, 0)?;
        }
        if self.role(Role::Magic).is_some_and(|magic| magic != 0xc1fc_1fc1) {
            return Err(Bad);
        }
        let stream = match (self.role(Role::StreamClass), self.schema.streams.as_slice()) {
            (Some(id), streams) => streams.iter().find(|s| s.id == id).ok_or(Bad)?,
            (None, [only]) => only,
            (None, _) => return Err(Bad),
        };
        self.calls.clear();
        if let Some(class) = &stream.packet_context {
            self.scope(Scope::PacketContext, class, 0)?;
        }
        decoded.context = std::mem::take(&mut self.calls);
        let size = self.role(Role::PacketSize).or(self.role(Role::ContentSize)).unwrap_or(self.end);
        let content = self.role(Role::ContentSize).unwrap_or(size);
        if content > size || content > self.end || content < self.bit || !size.is_multiple_of(8) {
            return Err(Bad);
        }
        self.end = content;
        Ok(stream)
    }

    fn events(&mut self, stream: &DataStreamClass, decoded: &mut Decoded) -> Read<()> {
        let outer = self.scopes.len();
        while self.bit < self.end {
            let start = self.bit;
            self.scopes.truncate(outer);
            self.roles.clear();
            if let Some(class) = &stream.event_header {
                self.scope(Scope::EventHeader, class, 0)?;
            }
            let index = match self.role(Role::EventClass) {
                Some(id) => stream.events.iter().position(|e| e.id == id).ok_or(Bad)?,
                None if stream.events.len() == 1 => 0,
                None => return Err(Bad),
            };
            let class = &stream.events[index];
            let clock = self.clock;
            self.calls.clear();
            let mut node = 0;
            for (scope, class) in [
                (Scope::CommonContext, &stream.common_context),
                (Scope::Context, &class.context),
                (Scope::Payload, &class.payload),
            ] {
                if let Some(class) = class {
                    self.scope(scope, class, node)?;
                    node += nodes(class);
                }
            }
            if self.bit == start {
                return Err(Bad);
            }
            decoded.events.push((index, clock, std::mem::take(&mut self.calls)));
        }
        Ok(())
    }

    fn scope(&mut self, scope: Scope, class: &FieldClass, node: u32) -> Read<()> {
        self.scope = scope;
        self.open.clear();
        let value = self.class(class, node)?;
        self.scopes.push((scope, value));
        Ok(())
    }

    fn align(&mut self, bits: u64) -> Read<()> {
        self.bit = self.bit.next_multiple_of(bits);
        if self.bit > self.end { Err(Bad) } else { Ok(()) }
    }

    /// Reads single bits, in the order given by the byte order.
    fn bits(&mut self, count: u32, order: ByteOrder, reversed: bool) -> Read<u64> {
        if self.bit + u64::from(count) > self.end {
            return Err(Bad);
        }
        // The order of the bits within a byte.
        let least_first = order == ByteOrder::Little;
        if !self.bit.is_multiple_of(8) && self.order.is_some_and(|o| o != order) {
            return Err(Bad);
        }
        let mut value = 0;
        for n in 0..count {
            let byte = self.data[usize::try_from(self.bit / 8).unwrap()];
            let within = self.bit % 8;
            let bit = u64::from(byte >> if least_first { within } else { 7 - within } & 1);
            // Little endian: the first bit is the least significant, unless the bit order is
            // reversed.
            value = if least_first != reversed { value | bit << n } else { value << 1 | bit };
            self.bit += 1;
        }
        if !self.bit.is_multiple_of(8) {
            self.order = Some(order);
        } else {
            self.order = None;
        }
        Ok(value)
    }

    fn bytes(&mut self, count: u64) -> Read<Vec<u8>> {
        if self.bit.saturating_add(count.saturating_mul(8)) > self.end {
            return Err(Bad);
        }
        (0..count)
            .map(|_| Ok(u8::try_from(self.bits(8, ByteOrder::Little, false)?).unwrap()))
            .collect()
    }

    fn class(&mut self, class: &FieldClass, node: u32) -> Read<Value> {
        match class.kind() {
            FieldClassKind::Integer(i) => self.integer(i, class.align(), node),
            FieldClassKind::Float(f) => self.float(f, node),
            FieldClassKind::NullTerminatedString(encoding) => {
                self.align(8)?;
                let (unit, mut text) = (encoding.unit(), Vec::new());
                loop {
                    let character = self.bytes(unit as u64)?;
                    if character.iter().all(|b| *b == 0) {
                        break;
                    }
                    text.extend(character);
                }
                self.calls.push(Call::Text(node, text));
                Ok(Value::Other)
            }
            FieldClassKind::SizedString(length, encoding) => {
                self.align(8)?;
                let length = self.length(length)?;
                let bytes = self.bytes(length)?;
                self.calls.push(Call::Text(node, until_nul(&bytes, *encoding)));
                Ok(Value::Other)
            }
            FieldClassKind::Blob(length, roles) => {
                self.align(8)?;
                let length = self.length(length)?;
                let bytes = self.bytes(length)?;
                let _ = roles;
                self.calls.push(Call::Blob(node, bytes));
                Ok(Value::Other)
            }
            FieldClassKind::Array(length, element, _) => {
                self.align(class.align())?;
                let length = self.length(length)?;
                if length.saturating_mul(element.least()) > self.end - self.bit {
                    return Err(Bad);
                }
                self.calls.push(Call::Open(node, length));
                for _ in 0..length {
                    self.class(element, node + 1)?;
                }
                self.calls.push(Call::Close(node));
                Ok(Value::Other)
            }
            FieldClassKind::Structure(s) => self.structure(&s.members, class.align(), node),
            FieldClassKind::Variant(v) => self.variant(v, node),
            FieldClassKind::Optional(selector, ranges, inner) => {
                let Value::Number { value, boolean, .. } = self.find(selector)? else {
                    return Err(Bad);
                };
                let there = match ranges {
                    Some(ranges) => {
                        ranges.iter().any(|(low, high)| (*low..=*high).contains(&value))
                    }
                    None => boolean && value != 0,
                };
                self.calls.push(Call::Open(node, there.into()));
                if there {
                    self.class(inner, node + 1)?;
                }
                self.calls.push(Call::Close(node));
                Ok(Value::Other)
            }
        }
    }

    fn integer(&mut self, i: &Integer, align: u64, node: u32) -> Read<Value> {
        self.align(align)?;
        let (raw, bits) = if i.bits == 0 {
            let (mut raw, mut bits) = (0_u128, 0);
            loop {
                let b = self.bytes(1)?[0];
                raw |= u128::from(b & 0x7f) << bits;
                bits += 7;
                if b & 0x80 == 0 {
                    break;
                }
                if bits > 70 {
                    return Err(Bad);
                }
            }
            // Bits above the 64th must repeat the sign.
            let high = raw >> 64;
            let sound = bits <= 63
                || if i.signed() && raw >> 63 & 1 == 1 {
                    high == (1 << (bits - 64)) - 1
                } else {
                    high == 0
                };
            if bits > 70 || !sound {
                return Err(Bad);
            }
            (u64::try_from(raw & u128::from(u64::MAX)).unwrap(), bits)
        } else {
            let order = i.order.or(self.schema.order).ok_or(Bad)?;
            (self.bits(i.bits, order, i.reversed)?, i.bits)
        };
        let value = if i.signed() {
            let value =
                if bits < 64 && raw >> (bits - 1) & 1 == 1 { raw | u64::MAX << bits } else { raw };
            self.calls.push(Call::Signed(node, value.cast_signed()));
            i128::from(value.cast_signed())
        } else {
            self.calls.push(Call::Unsigned(node, raw));
            i128::from(raw)
        };
        for role in
            [Role::Magic, Role::StreamClass, Role::PacketSize, Role::ContentSize, Role::EventClass]
        {
            if i.roles.has(role) && i.kind == IntegerKind::Unsigned {
                self.roles.push((role, raw, bits));
            }
        }
        if i.roles.has(Role::Clock) && !i.signed() {
            self.tick(raw, bits);
        }
        let mappings = i
            .mappings
            .iter()
            .flat_map(|mappings| mappings.of(value))
            .map(|name| name.to_string())
            .collect();
        Ok(Value::Number { value, mappings, boolean: i.kind == IntegerKind::Boolean })
    }

    fn tick(&mut self, value: u64, bits: u32) {
        if bits >= 64 {
            self.clock = value;
            return;
        }
        let size = 1_u64 << bits;
        let below = self.clock % size;
        let turns = self.clock - below;
        self.clock = if value < below {
            turns.wrapping_add(size).wrapping_add(value)
        } else {
            turns + value
        };
    }

    fn float(&mut self, f: &Float, node: u32) -> Read<Value> {
        self.align(f.align)?;
        let order = f.order.or(self.schema.order).ok_or(Bad)?;
        let raw = self.bits(f.bits, order, f.reversed)?;
        let value = match f.bits {
            32 => f64::from(f32::from_bits(u32::try_from(raw).unwrap())),
            64 => f64::from_bits(raw),
            _ => crate::bits::float(raw, f.bits),
        };
        self.calls.push(Call::Float(node, value.to_bits()));
        Ok(Value::Other)
    }

    fn structure(&mut self, fields: &[Member], align: u64, node: u32) -> Read<Value> {
        // Only the root structure of a scope has no enclosing structure.
        let root = self.open.is_empty();
        self.align(align)?;
        if !root {
            self.calls.push(Call::Open(node, fields.len() as u64));
        }
        self.open.push(Open::default());
        let mut child = node + 1;
        for field in fields {
            if let Some(open) = self.open.last_mut() {
                open.current = vec![field.raw.to_string()];
            }
            let value = self.class(&field.class, child)?;
            child += nodes(&field.class);
            if let Some(open) = self.open.last_mut() {
                open.members.push((field.raw.to_string(), value));
            }
        }
        let members = self.open.pop().ok_or(Bad)?.members;
        if !root {
            self.calls.push(Call::Close(node));
        }
        Ok(Value::Structure(members))
    }

    fn variant(&mut self, v: &Variant, node: u32) -> Read<Value> {
        let Value::Number { value, mappings, .. } = self.find(&v.selector)? else {
            return Err(Bad);
        };
        let chosen = match &v.ranges {
            Some(all) => {
                all.iter().position(|r| r.iter().any(|(low, high)| (*low..=*high).contains(&value)))
            }
            None => v
                .options
                .iter()
                .position(|option| mappings.iter().any(|mapping| *mapping == *option.raw)),
        };
        let n = chosen.ok_or(Bad)?;
        self.calls.push(Call::Open(node, n as u64));
        let before: u32 = v.options[..n].iter().map(|f| nodes(&f.class)).sum();
        // Paths go by the names of options in CTF 1.8 only, where mappings choose.
        let named = v.ranges.is_none();
        if let Some(open) = self.open.last_mut().filter(|_| named) {
            open.current.push(v.options[n].raw.to_string());
        }
        self.class(&v.options[n].class, node + 1 + before)?;
        if let Some(open) = self.open.last_mut().filter(|_| named) {
            open.current.pop();
        }
        self.calls.push(Call::Close(node));
        Ok(Value::Other)
    }

    fn length(&mut self, length: &Length) -> Read<u64> {
        match length {
            Length::Static(n) => Ok(*n),
            Length::Dynamic(path) => match self.find(path)? {
                Value::Number { value, .. } => u64::try_from(value).map_err(|_| Bad),
                _ => Err(Bad),
            },
        }
    }

    fn find(&self, path: &FieldLocation) -> Read<Value> {
        let names = &path.names;
        match path.origin {
            LocationOrigin::Environment => match self.schema.env(&names[0]) {
                Some(EnvValue::Integer(n)) => {
                    Ok(Value::Number { value: *n, mappings: Vec::new(), boolean: false })
                }
                _ => Err(Bad),
            },
            LocationOrigin::Scope(scope) if scope == self.scope => self.follow(0, names).ok_or(Bad),
            LocationOrigin::Scope(scope) => {
                let done = self.scopes.iter().rev().find(|(s, _)| *s == scope);
                done.and_then(|(_, value)| descend(value, names)).ok_or(Bad)
            }
            LocationOrigin::Up(levels) => {
                let level = (self.open.len() - 1).checked_sub(levels as usize).ok_or(Bad)?;
                self.follow(level, names).ok_or(Bad)
            }
            LocationOrigin::Nearest => (0..self.open.len())
                .rev()
                .find_map(|level| self.follow(level, names))
                .or_else(|| self.scopes.iter().rev().find_map(|(_, value)| descend(value, names)))
                .ok_or(Bad),
        }
    }

    /// Follows names from a structure that is being decoded.
    fn follow(&self, level: usize, names: &[std::sync::Arc<str>]) -> Option<Value> {
        let open = self.open.get(level)?;
        let (first, rest) = names.split_first()?;
        if let Some((_, value)) = open.members.iter().find(|(name, _)| **name == **first) {
            return descend(value, rest);
        }
        let inside = names.len() > open.current.len()
            && open.current.iter().zip(names).all(|(a, b)| **a == **b);
        if inside { self.follow(level + 1, &names[open.current.len()..]) } else { None }
    }
}

/// Follows names into decoded structures.
fn descend(value: &Value, names: &[std::sync::Arc<str>]) -> Option<Value> {
    let Some((first, rest)) = names.split_first() else { return Some(value.clone()) };
    let Value::Structure(members) = value else { return None };
    let (_, value) = members.iter().find(|(name, _)| **name == **first)?;
    descend(value, rest)
}

fn until_nul(bytes: &[u8], encoding: Encoding) -> Vec<u8> {
    let mut text = Vec::new();
    for unit in bytes.chunks(encoding.unit()) {
        if unit.len() == encoding.unit() && unit.iter().all(|b| *b == 0) {
            return text;
        }
        text.extend(unit);
    }
    text
}
