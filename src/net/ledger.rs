//! Charges the memory of one connection to the memory budget after each piece of work.

use std::sync::Arc;

use crate::contract::{Held, Peer};
use crate::model::{Charge, Memory, Purpose};

/// The limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Full {
    /// The limit of one peer, in bytes.
    #[error("limit limits.peer_memory exceeded: {got} > {max}")]
    Peer { got: usize, max: usize },
    /// The limit of all peers together.
    #[error("limits.memory is reached")]
    All,
}

/// The charges of one connection, released when it ends.
#[derive(Debug)]
pub(crate) struct Ledger {
    memory: Arc<Memory>,
    undecided: Charge,
    input: Charge,
    definitions: Charge,
}

impl Ledger {
    pub(crate) fn new(memory: &Arc<Memory>) -> Self {
        let [undecided, input, definitions] =
            [Purpose::Undecided, Purpose::Input, Purpose::Definitions]
                .map(|purpose| Charge::new(Arc::clone(memory), purpose));
        memory.enter();
        Self { memory: Arc::clone(memory), undecided, input, definitions }
    }

    /// Charges the present bytes. `pending`: the peer has not identified itself yet.
    ///
    /// # Errors
    /// [`Full`]: the connection must be closed.
    pub(crate) fn settle(
        &mut self,
        pending: bool,
        buffers: usize,
        session: Held,
        peer: &Peer,
    ) -> Result<(), Full> {
        let Held { own, shared } = peer.held();
        self.hold(
            pending,
            buffers,
            Held { own: session.own + own, shared: session.shared + shared },
        )
    }

    /// [`Ledger::settle`] without a peer.
    ///
    /// # Errors
    /// [`Full`]: the connection must be closed.
    pub(crate) fn hold(
        &mut self,
        pending: bool,
        buffers: usize,
        Held { own, shared }: Held,
    ) -> Result<(), Full> {
        let all = own + shared + buffers;
        let max = self.memory.peer_limit();
        if all > max {
            return Err(Full::Peer { got: all, max });
        }
        let (undecided, input, definitions) =
            if pending { (own + buffers, 0, 0) } else { (0, buffers, own) };
        let room = self.undecided.resize(undecided, all)
            && self.input.resize(input, all)
            && self.definitions.resize(definitions, all);
        if room { Ok(()) } else { Err(Full::All) }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.memory.leave();
    }
}
