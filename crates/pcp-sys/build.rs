//! Bindings to libpcp_pmda, made from the headers of the installed PCP.

fn main() {
    println!("cargo::rerun-if-changed=wrapper.h");
    bindings::generate();
}

mod bindings {
    use std::{env, path::PathBuf};

    /// The functions used by pmdaapm and its export; no others are bound.
    const FUNCTIONS: &str = "pmSetProgname|pmGetProgname|pmSetProcessIdentity|pmGetUsername|pmErrStr_r|pmUnitsStr_r|pmGetConfig|\
        pmdaDaemon|pmdaGetOptions|pmdaUsageMessage|pmdaOpenLog|pmdaSetFlags|pmdaSetCommFlags|\
        pmdaSetLabelCallBack|pmdaSetEndContextCallBack|pmdaSetResultCallBack|pmdaInit|pmdaConnect|\
        pmdaRehash|pmdaInstance|pmdaLabel|pmdaText|pmdaAddLabels|pmdaTree.*|pmdaCacheOp|pmdaCacheStore|pmdaCacheLookup|\
        __pmdaMainPDU|__pmdaInFd|pmExtractValue|\
        pmNewContext|pmUseContext|pmDestroyContext|pmReconnectContext|pmGetContextHostName_r|pmLookupName|pmNameID|\
        pmGetChildrenStatus|pmLookupDesc|pmFetch|pmFetchArchive|pmFreeResult|pmStore|pmGetInDom|pmGetInDomArchive|pmGetInstancesLabels|\
        pmFreeLabelSets|pmSetMode|pmGetArchiveLabel|pmGetArchiveEnd|pmParseTimeWindow|pmParseInterval|pmNewZone|pmNewContextZone";
    const TYPES: &str = "pmda.*|pmDesc|pmID|pmInDom|pmUnits|pmResult|pmResult_v2|pmValueSet|pmValueBlock|pmAtomValue|\
        pmLabelSet|pmLabel|pmLogLabel|pmInResult|pmProfile|pmLongOptions";
    const CONSTANTS: &str = "PM_ERR_.*|PM_TYPE_.*|PM_SEM_.*|PM_TEXT_.*|PM_LABEL_.*|PM_SPACE_.*|PM_TIME_.*|PM_COUNT_.*|PM_INDOM_NULL|PM_IN_NULL|PMDA_.*|PCP_ATTR_.*|PM_VAL_.*|PM_PROFILE_.*|PM_CONTEXT_.*|PM_MODE_.*|PMNS_.*|PMCD_.*";

    pub(crate) fn generate() {
        let pcp =
            pkg_config::Config::new().atleast_version("6.0").probe("libpcp_pmda").unwrap_or_else(
                |e| panic!("libpcp_pmda 6.0 or later is needed (Debian: libpcp-pmda3-dev): {e}"),
            );
        println!("cargo::rustc-env=PCP_SYS_VERSION={}", pcp.version);
        let bindings = bindgen::Builder::default()
            .header("wrapper.h")
            .clang_args(pcp.include_paths.iter().map(|p| format!("-I{}", p.display())))
            // pmapi.h is included as <pcp/pmapi.h>, but pkg-config may return the pcp directory
            // itself.
            .clang_args(
                pcp.include_paths
                    .iter()
                    .filter_map(|p| p.parent())
                    .map(|p| format!("-I{}", p.display())),
            )
            .allowlist_function(FUNCTIONS)
            .allowlist_type(TYPES)
            .allowlist_var(CONSTANTS)
            .rust_edition(bindgen::RustEdition::Edition2024)
            .use_core()
            .generate_comments(false)
            .derive_default(false)
            .formatter(bindgen::Formatter::None)
            .generate()
            .unwrap_or_else(|e| {
                panic!(
                    "bindgen failed on pmda.h (is libclang installed? Debian: libclang-dev): {e}"
                )
            });
        let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
        let text = bindings.to_string();
        // PCP 7 makes pmdaResult a macro for pmResult_v2; bindgen ignores it
        // (docs/protocols/pcp-events.md section 7).
        println!("cargo::rustc-check-cfg=cfg(pcp_result_v2)");
        if text.contains("pub struct pmResult_v2") {
            println!("cargo::rustc-cfg=pcp_result_v2");
        }
        std::fs::write(out.join("pcp.rs"), text)
            .unwrap_or_else(|e| panic!("cannot write bindings: {e}"));
    }
}
