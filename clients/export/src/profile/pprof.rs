//! pprof's profile.proto, gzipped.

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::{Compression, write::GzEncoder};

use crate::proto::Proto;

use super::{Folded, Profile};

/// Texts and functions by their numbers.
#[derive(Default)]
struct Numbers<'a> {
    texts: Vec<&'a str>,
    known: HashMap<&'a str, u64>,
    functions: HashMap<u64, u64>,
    order: Vec<u64>,
}

impl<'a> Numbers<'a> {
    fn text(&mut self, text: &'a str) -> u64 {
        let next = self.texts.len() as u64;
        let number = *self.known.entry(text).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        number
    }

    /// The location of a function.
    fn location(&mut self, name: &'a str) -> u64 {
        let name = self.text(name);
        let next = self.order.len() as u64 + 1;
        let number = *self.functions.entry(name).or_insert(next);
        if number == next {
            self.order.push(name);
        }
        number
    }
}

/// The names of the values that a profile has: measured time, and samples of the processor.
#[must_use]
pub fn units(profile: &Profile) -> Vec<&'static str> {
    let has = |sampled: bool| profile.stacks.iter().any(|stack| stack.sampled.is_some() == sampled);
    let measured = (has(false) || !has(true)).then_some("time");
    measured.into_iter().chain(has(true).then_some("cpu")).collect()
}

/// Writes a profile. Of several services each is the outermost frame of its stacks.
///
/// # Errors
/// `out` fails.
pub fn pprof(profile: &Profile, out: impl Write) -> io::Result<()> {
    let mut numbers = Numbers::default();
    numbers.text("");
    let units = units(profile);
    let several = profile.services().len() > 1;
    let mut file = Proto::default();
    for unit in &units {
        value_type(&mut file, 1, unit, &mut numbers);
    }
    for stack in &profile.stacks {
        sample(&mut file, stack, &units, several, &mut numbers);
    }
    for (number, name) in (1..).zip(&numbers.order) {
        file.message(4, |location| {
            location.uint(1, number);
            location.message(4, |line| line.uint(1, number));
        });
        file.message(5, |function| {
            function.uint(1, number);
            function.uint(2, *name);
            function.uint(3, *name);
        });
    }
    if profile.start > 0 {
        file.int(9, profile.start);
    }
    if profile.length > 0 {
        file.uint(10, profile.length);
    }
    let unit = units.first().copied().unwrap_or("time");
    value_type(&mut file, 11, unit, &mut numbers);
    let period = match unit {
        "cpu" => profile.stacks.iter().filter_map(|stack| stack.sampled).min().unwrap_or(1),
        _ => 1,
    };
    file.uint(12, period);
    let comment = numbers.text("self time of stacks, counted by pmdaapm");
    file.uint(13, comment);
    for text in &numbers.texts {
        file.text(6, text);
    }
    let mut packed = GzEncoder::new(out, Compression::default());
    packed.write_all(file.as_bytes())?;
    packed.finish()?.flush()
}

fn value_type(out: &mut Proto, field: u32, unit: &'static str, numbers: &mut Numbers<'_>) {
    let (kind, unit) = (numbers.text(unit), numbers.text("nanoseconds"));
    out.message(field, |of| {
        of.uint(1, kind);
        of.uint(2, unit);
    });
}

fn sample<'a>(
    out: &mut Proto,
    stack: &'a Folded,
    units: &[&str],
    several: bool,
    numbers: &mut Numbers<'a>,
) {
    // The innermost first.
    let mut locations: Vec<u64> =
        stack.frames.iter().rev().map(|frame| numbers.location(frame)).collect();
    if several {
        locations.push(numbers.location(&stack.service));
    }
    let own = if stack.sampled.is_some() { "cpu" } else { "time" };
    let namespace = stack.service.split_once('/').map(|(namespace, _)| namespace);
    let labels = [
        ("service", &*stack.service),
        ("namespace", namespace.unwrap_or_default()),
        ("source", &*stack.source),
    ];
    let labels = labels.into_iter().filter(|(_, value)| !value.is_empty());
    let labels: Vec<_> =
        labels.map(|(name, value)| (numbers.text(name), numbers.text(value))).collect();
    out.message(2, |sample| {
        sample.packed(1, locations);
        sample.packed(2, units.iter().map(|unit| if *unit == own { stack.value } else { 0 }));
        for (name, value) in labels {
            sample.message(3, |label| {
                label.uint(1, name);
                label.uint(2, value);
            });
        }
    });
}
