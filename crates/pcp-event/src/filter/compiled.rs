//! A compiled filter.

use super::error::{FILTER_MAX, FilterError, PARAMETERS_MAX};
use super::names::ParameterNames;
use super::parse::{Parsed, parse};
use super::program::Program;

/// A parsed filter, ready to be applied.
///
/// ```
/// use pcp_event::{Filter, ParameterNames, Pmid, ValueType};
///
/// struct Names;
/// impl ParameterNames for Names {
///     fn find(&self, name: &str, _: usize) -> Vec<(Pmid, ValueType)> {
///         if name == "duration" { vec![(Pmid::new(60, 1, 0), ValueType::U64)] } else { Vec::new() }
///     }
/// }
///
/// let filter = Filter::parse("duration > 1000000", &Names)?;
/// assert_eq!(filter.text(), "duration > 1000000");
/// let error = Filter::parse("size > 3", &Names).unwrap_err();
/// assert_eq!(error.column, 1);
/// # Ok::<(), pcp_event::FilterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Filter {
    pub(super) text: String,
    pub(super) program: Program,
    /// Names by slot.
    pub(super) names: Vec<String>,
    /// Parameters and their slots, sorted by parameter.
    pub(super) parameters: Vec<(u32, u16)>,
    /// Number of parameters known at the last look-up of names.
    known: usize,
}

impl Filter {
    /// Parses a filter over the parameters in `names`.
    ///
    /// [`FilterError`] for a text that is not an expression, a name without parameters (unless
    /// [they grow](ParameterNames::grows)), a text compared with a number, and a filter over one of the limits ([`FILTER_MAX`] bytes, 128
    /// comparisons, 32 names, 128 `*`, 16384 parameters).
    pub fn parse(text: &str, names: &dyn ParameterNames) -> Result<Self, FilterError> {
        if text.len() > FILTER_MAX {
            let message = format!("a filter has at most {FILTER_MAX} bytes");
            return Err(FilterError { column: FILTER_MAX, message });
        }
        let Parsed { expr, slots, mut parameters } = parse(text, names)?;
        parameters.sort_unstable();
        Ok(Self {
            text: text.into(),
            program: Program::new(&expr),
            names: slots,
            parameters,
            known: names.known(),
        })
    }

    /// Looks the names up among the parameters added since the last look-up.
    pub fn refresh(&mut self, names: &dyn ParameterNames) {
        let known = names.known();
        if known <= self.known {
            return;
        }
        let before = self.parameters.len();
        for (slot, name) in (0..).zip(&self.names) {
            let room = PARAMETERS_MAX.saturating_sub(self.parameters.len());
            self.parameters.extend(
                names.find(name, self.known).into_iter().take(room).map(|(pmid, _)| (pmid.0, slot)),
            );
        }
        if self.parameters.len() > before {
            self.parameters.sort_unstable();
            self.parameters.dedup();
        }
        self.known = known;
    }

    /// The names that no parameter has yet: see [`ParameterNames::grows`].
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        let unknown = |slot: &u16| self.parameters.iter().all(|(_, other)| other != slot);
        let names = (0..).zip(&self.names);
        names.filter(move |(slot, _)| unknown(slot)).map(|(_, name)| name.as_str())
    }

    /// The text given to [`Self::parse`].
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Bytes allocated, the filter itself included.
    #[must_use]
    pub fn memory(&self) -> usize {
        let names: usize = self.names.iter().map(|n| size_of::<String>() + n.len()).sum();
        size_of::<Self>()
            + self.text.len()
            + names
            + self.parameters.len() * size_of::<(u32, u16)>()
            + self.program.memory()
    }
}
