//! The operating system: sockets and files, the stop signal of the thread, signals and forks.

mod descriptor;
pub(crate) mod link;
pub(crate) mod stop;
pub(crate) mod sys;
