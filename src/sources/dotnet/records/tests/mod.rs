//! Records of whole streams, and of hostile ones.

mod captures;
mod hostile;
mod kit;
mod runtime;
mod settings;
