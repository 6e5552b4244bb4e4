//! In a build of the whole workspace the tests are linked with libpcp_pmda. The linker would then
//! resolve libpcp_pmda's calls of its own functions to the same-named functions of the test
//! executable, that is to ours, and the two libraries could not be compared. Therefore the tests
//! export nothing.

fn main() {
    println!("cargo::rerun-if-changed=tests/exports.map");
    let map = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exports.map");
    println!("cargo::rustc-link-arg-tests=-Wl,--version-script={}", map.display());
}
