use proptest::prelude::*;

use super::*;

fn sql(statement: &str) -> String {
    normalise(statement, None)
}

#[track_caller]
fn is(statement: &str, expected: &str) {
    assert_eq!(sql(statement), expected, "{statement}");
}

#[test]
fn literals_are_question_marks() {
    is("SELECT * FROM t WHERE a = 'x''y' AND b=-1.5e-7", "SELECT * FROM t WHERE a = ? AND b=?");
    is("select 1, .5, 0xFF, 10L, 1e+5 from t1 where x.y2 > 3", "select ? from t1 where x.y2 > ?");
    is("select a-1, a - 1, a+'x' from t", "select a-?, a - ?, a+? from t");
    is("select N'x', E'a\nb', X'00', U&'q', _utf8'z' from t", "select ? from t");
    is("select q'[it's]', nq'!x!' from dual", "select ? from dual");
    is("select $$it's$$, $a$ $$ $a$ from t where i = $1", "select ? from t where i = ?");
    is(
        "update t set a=?, b=?1 where c=:name and d::int = 3",
        "update t set a=?, b=? where c=:name and d::int = ?",
    );
    is("create user u identified by secret default x", "create user u identified by ? default x");
    is("alter user x identified by NEW replace OLD", "alter user x identified by ? replace ?");
    is(
        "grant connect to a, b identified by P1, P2, P3 with admin option",
        "grant connect to a, b identified by ? with admin option",
    );
    is("{call p(1, 'x', ?)}", "{call p(?)}");
    is("{? = call p({ts '2020-01-01 00:00:00'})}", "{? = call p({ts ?})}");
}

#[test]
fn lists_comments_and_blanks_are_folded() {
    is("select * from t where a in (1,2 ,  3)", "select * from t where a in (?)");
    is("select * from t where a in ('a')", "select * from t where a in (?)");
    is("insert into t values (1,'a'),(2,'b') , (3,'c')", "insert into t values (?)");
    is("insert into t(a,b) values (-1, +2)", "insert into t(a, b) values (?)");
    is(" /* c 'x */ select -- it's\n 1\r\n\t from /*+ h */ t ; ", "select ? from t");
    is("select a # a comment's\n from t", "select a from t");
    is("with x as (select 1) select * from x", "with x as (select ?) select * from x");
}

#[test]
fn names_are_kept_where_only_names_can_be() {
    is(
        r#"select "t"."id", "x" from "t" join "u" on "t"."a" = "b""#,
        "select t.id, ? from t join u on t.a = ?",
    );
    is(r#"insert into "t" values ("secret")"#, "insert into t values (?)");
    is(
        r#"select trim(from "secret") as "s" from `my t` where a = "x y""#,
        "select trim(from ?) as s from my t where a = ?",
    );
    is(
        "select * from [dbo].[Order Details] where a='x'",
        "select * from [dbo].[Order Details] where a=?",
    );
    is("select * from tbl_2024 where café = 1", "select * from tbl_2024 where café = ?");
    is("select a from #tmp where b = 1", "select a from #tmp where b = ?");
    is("select a#>'{x}' from t", "select a#>? from t");
}

#[test]
fn what_dialects_read_differently_is_dropped() {
    is(r"select * from t where a='it\'s' and b='secret'", "select * from t where a=?…");
    is(r"select * from t where a='C:\' and b='secret'", "select * from t where a=?…");
    is(r"select * from t where a='x\\' and b='secret'", "select * from t where a=?…");
    is(r"select * from t where a='x\ny' and b='secret'", "select * from t where a=? and b=?");
    is("select * from t where a='unterminated and b=1", "select * from t where a=?…");
    is("select 5--'secret'\n from t", "select ?…");
    is(
        r"select a from t where b like 'x' escape '\' or c = 'y'",
        "select a from t where b like ? escape ? or c = ?",
    );
    is(
        r"select a from t where b like 'x' escape '\\' or c = 'y'",
        "select a from t where b like ? escape ? or c = ?",
    );
    is(
        r"select a from t where b like 'x' escape '\'' or c = 'z'",
        "select a from t where b like ? escape ?…",
    );
    is("select /* /* */ 'x' */ 1", "select…");
    is("select a from #tmp where b = 'don't'", "select a from #tmp…");
    is("select $$x", "select…");
}

#[test]
fn only_sql_is_read() {
    let redis = |text| normalise(text, Some("redis"));
    assert_eq!([redis("SET user:5 secret"), redis("GET"), redis("")], ["SET ?", "GET", "?"]);
    is("HMSET k f secret", "HMSET ?");
    is(r#"{"find": "users", "filter": {"name": "bob"}}"#, "?");
    is("", "?");
    assert_eq!(normalise("select 'x'", Some("PostgreSQL")), "select ?");
    assert_eq!(normalise("select 'x'", Some("mongo")), "select ?");
}

#[test]
fn long_ones_are_cut_and_told_apart() {
    let of = |last: &str| {
        let columns: Vec<String> = (0..100).map(|n| format!("column_{n}")).collect();
        sql(&format!("select {} from t where {last} = 'x'", columns.join(", ")))
    };
    let (a, b) = (of("a"), of("b"));
    assert!(a != b && a == of("a") && a.len() <= OUTPUT + 16, "{a}");
    assert_eq!(a.split('#').next(), b.split('#').next());
    assert_eq!(sql(&format!("select '{}'", "x".repeat(100_000))), "select ?…");
    assert_eq!(key("select ? from\u{a0}t"), "select_?_from_t");
}

/// A piece of a statement, as dialects write it, and whether it is a literal.
fn piece() -> impl Strategy<Value = String> {
    let secret = "SECRET[a-z0-9]{0,8}";
    let quoted =
        "(SECRET|[a-z0-9 _;,()$#?.-]|''|/\\*|--){0,12}SECRET(SECRET|[a-z0-9 _;,()#?.-]){0,6}";
    let double = "SECRET[a-z0-9 ',;()]{0,8}";
    prop_oneof![
        3 => quoted.prop_map(|s| format!("'{s}'")),
        1 => double.prop_map(|s| format!(" = \"{s}\"")),
        1 => quoted.prop_map(|s| format!("N'{s}'")),
        1 => secret.prop_map(|s| format!("$${s}'$$")),
        1 => secret.prop_map(|s| format!("$x${s}$$ ' $x$")),
        1 => secret.prop_map(|s| format!("q'[{s}'s]'")),
        1 => secret.prop_map(|s| format!("/* {s} ' */")),
        1 => secret.prop_map(|s| format!("-- {s} it's\n")),
        1 => "[0-9]{1,3}".prop_map(|n| format!("77{n}77.5e-77")),
        1 => secret.prop_map(|s| format!("'{s}\\'{s}'")),
        1 => secret.prop_map(|s| format!("'{s}' escape '\\' = '{s}'")),
        3 => Just(" and a.b in (".to_owned()),
        3 => Just(", ".to_owned()),
        2 => Just(") ".to_owned()),
        2 => Just(" = ".to_owned()),
        2 => Just(" from \"t\".x ".to_owned()),
        1 => Just("\n".to_owned()),
    ]
}

proptest! {
    #[test]
    fn nothing_of_a_literal_is_left(pieces in proptest::collection::vec(piece(), 0..30)) {
        let statement = format!("select a {}", pieces.join(" "));
        let shown = sql(&statement);
        prop_assert!(!shown.contains("SECRET"), "{statement}\n{shown}");
        prop_assert!(!shown.contains("77"), "{statement}\n{shown}");
        prop_assert!(shown.len() <= OUTPUT + 16);
    }

    #[test]
    fn any_text_has_a_bounded_form(text in any::<String>(), sql in any::<bool>()) {
        let text = if sql { format!("select {text}") } else { text };
        let shown = normalise(&text, None);
        prop_assert!(!shown.is_empty() && shown.len() <= OUTPUT + 16);
        prop_assert!(!shown.contains(char::is_control));
        prop_assert!(!key(&shown).contains(char::is_whitespace));
    }

    #[test]
    fn signs_of_all_kinds_do_no_harm(text in "select [a-z '\"`$#?(),;/*\\\\.0-9\n-]{0,60}") {
        let shown = sql(&text);
        prop_assert!(!shown.is_empty() && !shown.contains('\''), "{text}\n{shown}");
    }
}

#[test]
fn a_line_is_searched_once_for_quotes() {
    // Takes minutes if each `#` searches the rest of its line.
    let statement = format!("select {}", "#a".repeat(INPUT / 2));
    (0..50).for_each(|_| assert!(sql(&statement).starts_with("select #a")));
    is("select #a, #b from t # it's", "select #a…");
}
