//! `pcp apm export`.

fn main() {}
