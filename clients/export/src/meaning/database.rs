//! Statements and URLs of databases as the conventions have them.

/// What `db.system.name` calls what agents call otherwise.
const SYSTEMS: &[(&str, &str)] = &[
    ("postgres", "postgresql"),
    ("pgsql", "postgresql"),
    ("sqlserver", "microsoft.sql_server"),
    ("mssql", "microsoft.sql_server"),
    ("jtds", "microsoft.sql_server"),
    ("oracle", "oracle.db"),
    ("h2", "h2database"),
    ("db2", "ibm.db2"),
    ("hsqldb", "hsqldb"),
    ("mongo", "mongodb"),
    ("sql", "other_sql"),
];
/// Words before the first table of a statement.
const BEFORE: [&str; 5] = ["from", "into", "update", "join", "table"];

/// `db.query.summary`: the verb and the first table.
pub(super) fn summary(statement: &str) -> String {
    let mut words = statement
        .split(|c: char| c.is_whitespace() || c == '(' || c == ',')
        .filter(|word| !word.is_empty());
    let verb = statement
        .trim_start()
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .unwrap_or_default();
    if verb.is_empty() {
        return "SQL".to_owned();
    }
    let verb = verb.to_uppercase();
    while let Some(word) = words.next() {
        if BEFORE.iter().any(|before| word.eq_ignore_ascii_case(before))
            && let Some(table) = words.next()
        {
            let table: String =
                table.chars().take_while(|c| c.is_alphanumeric() || "_.\"`".contains(*c)).collect();
            // What is in brackets comes first.
            if !table.is_empty() && !table.eq_ignore_ascii_case("select") {
                return format!("{verb} {table}");
            }
        }
    }
    verb
}

/// `db.operation.name`, if the text is one statement.
pub(super) fn operation(statement: &str) -> Option<String> {
    let (_, behind) = statement.split_once(';').unwrap_or((statement, ""));
    let verb = statement.trim_start().split(|c: char| !c.is_alphanumeric()).next()?;
    (behind.trim().is_empty() && !verb.is_empty()).then(|| verb.to_uppercase())
}

/// `db.system.name` of what the agent says, or of `jdbc:SYSTEM:` of the URL.
pub(super) fn system(kind: &str, url: &str) -> String {
    let of_url =
        url.strip_prefix("jdbc:").and_then(|rest| rest.split(':').next()).unwrap_or_default();
    let kind = if matches!(kind, "" | "sql" | "db") && !of_url.is_empty() { of_url } else { kind };
    let kind = kind.to_ascii_lowercase();
    SYSTEMS.iter().find(|(of, _)| *of == kind).map_or(kind, |(_, name)| (*name).to_owned())
}

/// Host and port of `jdbc:postgresql://HOST:PORT/NAME`, `jdbc:oracle:thin:@HOST:PORT:NAME`.
pub(super) fn server(url: &str) -> Option<(&str, Option<u16>)> {
    let place = url.find("//").map(|at| at + 2).or_else(|| url.find('@').map(|at| at + 1))?;
    let rest = url.get(place..)?;
    let rest = rest.get(..rest.find(['/', ';', '?']).unwrap_or(rest.len()))?;
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    // Several servers are none.
    if rest.contains(',') { None } else { address(rest) }
}

/// `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`; what comes behind the port is no part of it.
pub(super) fn address(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(inner) = text.strip_prefix('[') {
        let (host, behind) = inner.split_once(']')?;
        return Some((host, behind.strip_prefix(':').and_then(|port| port.parse().ok())));
    }
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return Some((text, None));
    }
    let mut parts = text.split(':');
    let host = parts.next().filter(|host| !host.is_empty())?;
    Some((host, parts.next().and_then(|port| port.parse().ok())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_few_values() {
        assert_eq!(summary("select * from orders where id = 7"), "SELECT orders");
        assert_eq!(summary("INSERT INTO shop.\"lines\"(id) VALUES (1)"), "INSERT shop.\"lines\"");
        assert_eq!(summary("  update stock set n=1"), "UPDATE stock");
        assert_eq!(summary("select a from (select b from c)"), "SELECT c");
        assert_eq!(summary("BEGIN"), "BEGIN");
        assert_eq!(summary("?"), "SQL");
    }

    #[test]
    fn an_operation_is_of_one_statement() {
        assert_eq!(operation("delete from a; "), Some("DELETE".to_owned()));
        assert_eq!(operation("delete from a; delete from b"), None);
    }

    #[test]
    fn a_server_is_taken_apart() {
        assert_eq!(server("jdbc:postgresql://db1:5432/shop"), Some(("db1", Some(5432))));
        assert_eq!(server("jdbc:oracle:thin:@db2:1521:orcl"), Some(("db2", Some(1521))));
        assert_eq!(server("jdbc:sqlserver://db3;databaseName=x"), Some(("db3", None)));
        assert_eq!(server("jdbc:mysql://u:p@[::1]:3306/x"), Some(("::1", Some(3306))));
        assert_eq!(server("jdbc:mysql://a,b/x"), None);
        assert_eq!(server("jdbc:h2:mem:x"), None);
    }

    #[test]
    fn systems_have_their_names() {
        assert_eq!(system("sql", "jdbc:h2:mem:x"), "h2database");
        assert_eq!(system("sql", ""), "other_sql");
        assert_eq!(system("PostgreSQL", ""), "postgresql");
    }
}
