//! `--page`: one self-contained HTML file that shows the metrics through pmproxy(1).
//! The build makes it of the parts in `clients/page/`, by `build.py` there.

/// The page, with marks where the addresses belong.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/apm.html"));

/// The page with the pmproxy and the pmcd that it asks when its own address names no others;
/// `None`: pmproxy on the browser's machine, and pmcd on pmproxy's (`local:`).
#[must_use]
pub fn html(proxy: Option<&str>, hostspec: Option<&str>) -> String {
    let mut page = PAGE.to_owned();
    for (mark, text) in [("content=\"@PROXY@\"", proxy), ("content=\"@HOSTSPEC@\"", hostspec)] {
        if let Some(text) = text {
            page = page.replacen(mark, &format!("content=\"{}\"", escape(text)), 1);
        }
    }
    page
}

/// `text` as the value of an attribute.
fn escape(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_where_the_page_looks_for_them() {
        let page = html(Some("http://web1:44322"), Some("web1"));
        assert!(page.contains("<meta name=\"apm-proxy\" content=\"http://web1:44322\">"));
        assert!(page.contains("<meta name=\"apm-hostspec\" content=\"web1\">"));
        assert_eq!(html(None, None), PAGE);
    }

    #[test]
    fn addresses_cannot_end_their_attribute() {
        let page = html(Some("\"><script>x</script>"), Some("a'b&<"));
        assert!(page.contains("content=\"&quot;&gt;&lt;script&gt;x&lt;/script&gt;\""));
        assert!(page.contains("content=\"a&#39;b&amp;&lt;\""));
        assert!(!page.contains("<script>x"));
    }

    #[test]
    fn nothing_comes_from_elsewhere() {
        for outside in ["<script src", "<link rel=\"stylesheet\"", " src=\"http", "@import"] {
            assert!(!PAGE.contains(outside), "{outside}");
        }
        assert!(PAGE.contains("default-src 'none'"));
    }
}
