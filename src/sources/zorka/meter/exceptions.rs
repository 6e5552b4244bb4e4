//! Sums of one agent's exceptions by class.

use std::borrow::Cow;

use super::rows::{Layout, Of, Rows};
use super::text::clean;
use crate::contract::Peer;
use crate::sources::zorka::limits::CLASSES;
use crate::sources::zorka::metrics as m;
use crate::sources::zorka::names::Names;
use crate::sources::zorka::wire::body::{ClassName, Exception};

const LAYOUT: Layout<2> = Layout {
    table: m::EXCEPTION_CLASSES,
    items: [m::CLASS_COUNT, m::CLASS_RECEIVED],
    max: CLASSES,
};

/// The classes of one agent.
#[derive(Debug)]
pub(crate) struct Exceptions(Rows<2>);

impl Default for Exceptions {
    fn default() -> Self {
        Self(Rows::new(LAYOUT))
    }
}

impl Exceptions {
    /// Counts an exception. `copy`: it was counted before.
    pub(crate) fn add(
        &mut self,
        exception: &Exception,
        copy: bool,
        body: &[u8],
        names: &Names,
        peer: &mut Peer,
    ) {
        let class: Cow<'_, str> = match exception.class {
            ClassName::Symbol(id) => match names.symbol(id) {
                Some(text) => text.into(),
                None => format!("#{id}").into(),
            },
            ClassName::Text(slice) => String::from_utf8_lossy(slice.of(body)),
        };
        let slot = self.0.slot(&class, peer, |slot, of, peer| {
            let key = clean(&class);
            let key = (of == Of::Key).then_some(&*key);
            peer.row(m::EXCEPTION_CLASSES, slot, key);
        });
        self.0.add(slot, [u64::from(!copy), 1]);
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        self.0.report(peer);
    }

    /// Frees what an idle agent does not need.
    pub(crate) fn clear(&mut self, peer: &mut Peer) {
        self.0.clear(peer);
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.0.memory()
    }
}

/// Names of an exception that are not defined.
pub(crate) fn unresolved(exception: &Exception, names: &Names) -> u64 {
    let class = match exception.class {
        ClassName::Symbol(id) => id,
        ClassName::Text(_) => 0,
    };
    let frame = exception.first.unwrap_or_default();
    let undefined = |id: &u32| *id != 0 && names.symbol(*id).is_none();
    [class, frame.class, frame.method, frame.file].iter().filter(|id| undefined(id)).count() as u64
}
