use super::*;

#[test]
fn paths_are_matched_at_their_ends() {
    for (path, endpoint) in [
        ("/agent/register", Endpoint::Register),
        ("/a/b/agent/session", Endpoint::Session),
        ("/agent/submit/agd", Endpoint::Definitions),
        ("/x/agent/submit/trc", Endpoint::Traces),
        ("/submit/agent", Endpoint::Definitions),
        ("/submit/trace", Endpoint::Traces),
        ("/healthz", Endpoint::Health),
        ("/", Endpoint::Other),
        ("/agent/submit/trc/", Endpoint::Other),
        ("/myagent/session", Endpoint::Other),
    ] {
        assert_eq!(Endpoint::of(path), endpoint, "{path}");
    }
}
