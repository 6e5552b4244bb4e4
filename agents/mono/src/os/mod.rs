//! The operating system: sockets and files, the stop signal of the thread, signals and forks.

pub(crate) mod link;
pub(crate) mod stop;
pub(crate) mod sys;
