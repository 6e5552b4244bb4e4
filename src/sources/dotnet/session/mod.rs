//! When to ask a process what: a state machine without I/O and without a clock.
