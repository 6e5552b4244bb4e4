//! Messages of the diagnostics socket in both directions (docs/protocols/dotnet.md 2). Requests are
//! whole values that are sent with one write: a runtime waits for the rest of half a request for
//! ever, and some end by a signal if a request is not what they expect.

mod advertise;
mod answer;
mod code;
mod info;
mod request;

pub use advertise::{ADVERTISE, Advertise};
pub use answer::{Answer, AnswerError, HEADER};
pub use code::Code;
pub use info::Info;
pub use request::{CollectCommand, InfoCommand, Request, RequestError};

#[cfg(test)]
mod tests;
