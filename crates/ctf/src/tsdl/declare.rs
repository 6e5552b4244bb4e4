//! Field class specifiers and declarators (CTF 1.8, appendix C.2): the field class of a
//! declaration, and the arrays around it.

use std::collections::HashSet;
use std::sync::Arc;

use super::lexer::Word;
use super::location;
use super::names::Named;
use super::parser::{Parsed, Parser};
use crate::error::bounded;
use crate::limits;
use crate::schema::{
    Encoding, FieldClass, FieldClassKind, FieldLocation, Length, Member, Structure, Variant,
};

/// A field class before its declarator.
#[derive(Debug)]
pub(super) enum Specifier {
    Class(Arc<FieldClass>),
    /// Words defined by a typealias or typedef, possibly only together with the `*` after them.
    Words(String),
    /// `variant NAME { ... }` as a separate declaration.
    Untagged,
}

/// A declarator: name, pointers and arrays around the specifier's class.
#[derive(Debug, Default)]
struct Declarator {
    name: Option<String>,
    pointers: usize,
    /// Lengths from the outermost array to the innermost.
    lengths: Vec<Length>,
}

/// Keywords that are field classes or parts of their names.
const BASIC: [&str; 11] = [
    "void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool",
    "_Complex",
];
const MAX_DIMENSIONS: u64 = 8;

/// The display name of a field, without one leading underscore: tracers add it to distinguish names
/// from keywords.
pub(super) fn shown(raw: &str) -> &str {
    raw.strip_prefix('_').unwrap_or(raw)
}

fn field(raw: &str, class: Arc<FieldClass>) -> Member {
    let raw: Arc<str> = raw.into();
    let name = match raw.strip_prefix('_') {
        Some(name) => name.into(),
        None => raw.clone(),
    };
    Member { raw, name, class }
}

impl Parser<'_> {
    pub(super) fn specifier(&mut self) -> Parsed<Specifier> {
        while self.at_name("const") {
            self.advance()?;
        }
        let Word::Name(first) = self.token.word else {
            return self.wrong(format!("type expected, not {}", self.shown()));
        };
        let class = match first {
            "struct" => self.structure()?,
            "variant" => return self.variant(),
            "enum" => self.enumeration()?,
            "integer" => self.integer_type()?,
            "floating_point" => self.float_type()?,
            "string" => self.string_type()?,
            _ => return Ok(Specifier::Words(self.words()?)),
        };
        Ok(Specifier::Class(class))
    }

    /// `unsigned long`, `uint8_t`
    fn words(&mut self) -> Parsed<String> {
        let mut words = self.name("type")?.to_owned();
        let basic = |name: &str| BASIC.contains(&name) || name == "_Imaginary";
        if !basic(&words) {
            return Ok(words);
        }
        while let Word::Name(next) = self.token.word {
            if next != "const" {
                if !basic(next) {
                    break;
                }
                words.push(' ');
                words.push_str(next);
                self.check(bounded("length of a name", words.len() as u64, limits::NAME))?;
            }
            self.advance()?;
        }
        Ok(words)
    }

    fn pointers(&mut self) -> Parsed<usize> {
        let mut count = 0;
        loop {
            if self.at_name("const") {
                self.advance()?;
            } else if self.skip("*")? {
                count += 1;
                self.check(bounded("pointers", count as u64, limits::DEPTH))?;
            } else {
                return Ok(count);
            }
        }
    }

    fn declarator(&mut self) -> Parsed<Declarator> {
        let mut declarator = Declarator { pointers: self.pointers()?, ..Declarator::default() };
        if self.skip("(")? {
            let inner = self.deeper(Self::declarator)?;
            self.expect(")")?;
            if inner.pointers > 0 {
                return self.wrong("a pointer to an array");
            }
            declarator.name = inner.name;
            declarator.lengths = inner.lengths;
        } else if let Word::Name(name) = self.token.word {
            declarator.name = Some(name.to_owned());
            self.advance()?;
        }
        while self.skip("[")? {
            let length = match self.token.word {
                Word::Name(_) => {
                    let path = self.path()?;
                    Length::Dynamic(self.check(location::parse(&path))?)
                }
                _ => match u64::try_from(self.integer()?) {
                    Ok(n) => Length::Static(n),
                    Err(_) => return self.wrong("negative length"),
                },
            };
            declarator.lengths.push(length);
            self.check(bounded("dimensions", declarator.lengths.len() as u64, MAX_DIMENSIONS))?;
            self.expect("]")?;
        }
        Ok(declarator)
    }

    /// The class of a specifier followed by `pointers` `*`.
    pub(super) fn resolve(
        &self,
        specifier: &Specifier,
        pointers: usize,
    ) -> Parsed<Arc<FieldClass>> {
        let words = match specifier {
            Specifier::Class(class) if pointers == 0 => return Ok(class.clone()),
            Specifier::Class(_) => return self.wrong("a pointer to a type that is no alias"),
            Specifier::Untagged => return self.wrong("a variant without <selector>"),
            Specifier::Words(words) => words,
        };
        let name = alias(words, pointers);
        match self.names.find(&name) {
            Some(Named::Class(class)) => Ok(class.clone()),
            _ => self.wrong(format!("no type {name}")),
        }
    }

    fn arrays(&self, mut class: Arc<FieldClass>, lengths: Vec<Length>) -> Parsed<Arc<FieldClass>> {
        for length in lengths.into_iter().rev() {
            let text = matches!(class.kind(), FieldClassKind::Integer(i) if i.text && i.bits == 8 && i.align == 8);
            let kind = if text {
                FieldClassKind::SizedString(length, Encoding::Utf8)
            } else {
                FieldClassKind::Array(length, class, 1)
            };
            class = self.check(FieldClass::new(kind))?;
        }
        Ok(class)
    }

    /// Parses `specifier declarator, declarator;` into named field classes; the declarator may be
    /// missing.
    fn declarations(
        &mut self,
        mut each: impl FnMut(&mut Self, &str, Arc<FieldClass>) -> Parsed<()>,
    ) -> Parsed<()> {
        let specifier = self.specifier()?;
        if self.skip(";")? {
            return Ok(());
        }
        loop {
            let declarator = self.declarator()?;
            let Some(name) = declarator.name else {
                return self.wrong(format!("name expected, not {}", self.shown()));
            };
            let class = self.resolve(&specifier, declarator.pointers)?;
            let class = self.arrays(class, declarator.lengths)?;
            each(self, &name, class)?;
            if !self.skip(",")? {
                return self.expect(";");
            }
        }
    }

    /// Parses a typealias or typedef, if one is next.
    pub(super) fn alias_declaration(&mut self) -> Parsed<bool> {
        if self.at_name("typedef") {
            self.advance()?;
            self.declarations(|parser, name, class| parser.define(name.to_owned(), class))?;
            return Ok(true);
        }
        if !self.at_name("typealias") {
            return Ok(false);
        }
        self.advance()?;
        let specifier = self.specifier()?;
        let declarator = self.declarator()?;
        if declarator.name.is_some() {
            return self.wrong("a typealias of a named declaration");
        }
        let class = self.resolve(&specifier, declarator.pointers)?;
        let class = self.arrays(class, declarator.lengths)?;
        self.expect(":=")?;
        while self.at_name("const") {
            self.advance()?;
        }
        let name = self.words()?;
        let pointers = self.pointers()?;
        self.define(alias(&name, pointers), class)?;
        self.expect(";")?;
        Ok(true)
    }

    fn define(&mut self, name: String, class: Arc<FieldClass>) -> Parsed<()> {
        let counted = self.names.declare();
        self.check(counted)?;
        if self.names.add(name.clone(), Named::Class(class)) {
            Ok(())
        } else {
            self.wrong(format!("type {name} a second time"))
        }
    }

    /// Parses the members of a structure or options of a variant, with the braces.
    fn fields(&mut self) -> Parsed<Vec<Member>> {
        self.expect("{")?;
        let mut fields: Vec<Member> = Vec::new();
        let mut known: HashSet<Arc<str>> = HashSet::new();
        self.scoped(|parser| {
            while !parser.at_punctuation("}") {
                if parser.skip(";")? || parser.alias_declaration()? {
                    continue;
                }
                parser.declarations(|parser, name, class| {
                    parser.check(bounded("fields", fields.len() as u64 + 1, limits::FIELDS))?;
                    let counted = parser.names.declare();
                    parser.check(counted)?;
                    let field = field(name, class);
                    if !known.insert(field.raw.clone()) {
                        return parser.wrong(format!("field {name} a second time"));
                    }
                    fields.push(field);
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        self.expect("}")?;
        Ok(fields)
    }

    /// `struct NAME`, `struct { }`, `struct NAME { } align(N)`
    fn structure(&mut self) -> Parsed<Arc<FieldClass>> {
        self.advance()?;
        let name = self.tag()?;
        if !self.at_punctuation("{") {
            return self.known("struct", name);
        }
        let fields = self.fields()?;
        let mut align = 1;
        if self.at_name("align") {
            self.advance()?;
            self.expect("(")?;
            align = u64::try_from(self.integer()?).unwrap_or(0);
            self.expect(")")?;
        }
        let class = self.check(FieldClass::new(FieldClassKind::Structure(Structure {
            members: fields,
            align,
        })))?;
        if let Some(name) = name {
            self.define(format!("struct {name}"), class.clone())?;
        }
        Ok(class)
    }

    /// `variant NAME <selector>`, `variant <selector> { }`, `variant NAME { }`
    fn variant(&mut self) -> Parsed<Specifier> {
        self.advance()?;
        let name = self.tag()?;
        let selector = self.selector()?;
        let options = if self.at_punctuation("{") {
            let options = Arc::new(self.fields()?);
            if let Some(name) = &name {
                let key = format!("variant {name}");
                if !self.names.add(key, Named::Options(options.clone())) {
                    return self.wrong(format!("variant {name} a second time"));
                }
            }
            options
        } else {
            let name = name.unwrap_or_default();
            match self.names.find(&format!("variant {name}")) {
                Some(Named::Options(options)) => options.clone(),
                _ => return self.wrong(format!("no variant {name}")),
            }
        };
        let Some(selector) = selector else { return Ok(Specifier::Untagged) };
        let variant = Variant { selector, options: options.to_vec(), ranges: None };
        Ok(Specifier::Class(self.check(FieldClass::new(FieldClassKind::Variant(variant)))?))
    }

    fn selector(&mut self) -> Parsed<Option<FieldLocation>> {
        if !self.skip("<")? {
            return Ok(None);
        }
        let path = self.path()?;
        self.expect(">")?;
        Ok(Some(self.check(location::parse(&path))?))
    }

    /// Parses the name of a structure, variant or enumeration, if one is next.
    pub(super) fn tag(&mut self) -> Parsed<Option<String>> {
        match self.token.word {
            Word::Name(name) => {
                self.advance()?;
                Ok(Some(name.to_owned()))
            }
            _ => Ok(None),
        }
    }

    /// The structure or enumeration with this name.
    pub(super) fn known(&self, kind: &str, name: Option<String>) -> Parsed<Arc<FieldClass>> {
        let Some(name) = name else { return self.wrong(format!("{kind} without name and fields")) };
        match self.names.find(&format!("{kind} {name}")) {
            Some(Named::Class(class)) => Ok(class.clone()),
            _ => self.wrong(format!("no {kind} {name}")),
        }
    }

    /// Registers an enumeration.
    pub(super) fn define_tag(
        &mut self,
        kind: &str,
        name: &str,
        class: Arc<FieldClass>,
    ) -> Parsed<()> {
        self.define(format!("{kind} {name}"), class)
    }
}

fn alias(words: &str, pointers: usize) -> String {
    let mut name = words.to_owned();
    name.extend(std::iter::repeat_n(" *", pointers));
    name
}
