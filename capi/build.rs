//! In a build of the whole workspace the tests are linked with libpcp_pmda, and a linker then lets
//! an executable's functions take the place of those that a library calls: libpcp_pmda's calls of
//! its own functions would end up in ours, and the two could not be compared. So the tests export
//! nothing.

fn main() {
    println!("cargo::rerun-if-changed=tests/exports.map");
    let map = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exports.map");
    println!("cargo::rustc-link-arg-tests=-Wl,--version-script={}", map.display());
}
