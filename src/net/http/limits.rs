//! What a listener is given.

use std::sync::Arc;
use std::time::Duration;

use crate::contract::http::HttpService;
use crate::model::Listening;
use crate::net::peers::Peers;

/// Limits of a request. All are checked before memory is allocated.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// Bytes of the request line and the headers; more are answered with 431.
    pub head: usize,
    /// Bytes of a body; more are read and dropped.
    pub body: usize,
    /// Bytes of a body that are read and dropped; before more of them the service answers, and the
    /// connection ends.
    pub dropped: u64,
    /// Time for a request to arrive.
    pub arrive: Duration,
    /// One second more for each of these bytes that have arrived.
    pub rate: u64,
    /// Time for the peer to take an answer.
    pub write: Duration,
    /// A connection without a request for this time is parked. The sweep doubles it at most.
    pub idle: Duration,
    /// Time between two sweeps: the precision of the times above.
    pub sweep: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            head: 16 << 10,
            body: 16 << 20,
            dropped: 64 << 20,
            arrive: Duration::from_secs(30),
            rate: 64 << 10,
            write: Duration::from_secs(5),
            idle: Duration::from_secs(2),
            sweep: Duration::from_secs(1),
        }
    }
}

/// Addresses to listen on for HTTP requests.
#[derive(Clone)]
pub struct HttpListen {
    /// Addresses and ports.
    pub places: Vec<Listening>,
    /// Where the peers are registered.
    pub peers: Peers,
    /// Answers the requests.
    pub service: Arc<dyn HttpService>,
    /// Limits of a request.
    pub limits: HttpLimits,
}
