//! Requests to an agent: the configured selection and the control requests of users.

pub(crate) mod pending_requests;
pub(crate) mod request_queue;
pub(crate) mod selection;
