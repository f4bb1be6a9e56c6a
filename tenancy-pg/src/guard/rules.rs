//! Which statements are admitted, and what is said of the others.

use super::lexer::{Lexer, Token, Unterminated};

/// A statement that the guard refused before it was sent. The transaction goes on as if it had not been tried.
///
/// Admitted are `SELECT`, `INSERT`, `UPDATE`, `DELETE`, `MERGE`, `VALUES`, `TABLE` and `WITH`, and `CALL`: the server lets
/// no procedure commit within a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Forbidden {
    /// `BEGIN`, `COMMIT`, `ROLLBACK`, `SAVEPOINT` and their like.
    #[error("the handle begins and ends transactions and savepoints, a statement may not")]
    Transaction,
    /// `SET`, `RESET`, `DISCARD`, `LOAD`, `SET ROLE`, whatever names `set_config`, and an update of the view
    /// `pg_settings`, which calls it.
    #[error("a statement may not change settings or the role, see TxOptions")]
    Session,
    /// `PREPARE`, `EXECUTE`, `DEALLOCATE`: a prepared statement outlives its transaction.
    #[error("the driver prepares statements, a statement may not")]
    Prepared,
    /// `DECLARE`, `FETCH`, `MOVE`, `CLOSE`: a cursor can outlive its transaction.
    #[error("cursors can't be used, stream the rows instead")]
    Cursor,
    /// `LISTEN`, `UNLISTEN`, `NOTIFY`: a channel is shared by all tenants.
    #[error("channels are shared by all tenants")]
    Channel,
    /// `COPY`. Postgres refuses `COPY .. FROM` under row level security.
    #[error("use copy_out; Postgres refuses COPY FROM under row level security, use insert_all")]
    Copy,
    /// What runs SQL that it is given as a text, out of the guard's sight: `DO`, `query_to_xml` and its like, `ts_stat`,
    /// `ts_rewrite`.
    #[error("a statement may not run text as SQL")]
    Hidden,
    /// `EXPLAIN`. The planner's estimates come from samples of every tenant's rows, and a handful of comparisons with a
    /// constant tells the values in them, to the last digit.
    #[error("a plan tells values of other tenants' rows; explain as the owner, or with danger::connection")]
    Plan,
    /// Whatever else there is: objects (`SELECT INTO` too), rights, roles, maintenance, and `TRUNCATE`, which goes past
    /// row level security, and `LOCK` and `SHOW`, which `FOR UPDATE` and `current_setting` stand in for.
    #[error("only statements that read and write rows can be run here, see migrate")]
    Definition,
    /// More than one statement.
    #[error("only one statement at a time can be run here")]
    Several,
    /// A text, name or comment that does not end, a zero byte, a name in `U&".."`, or a statement that begins with
    /// neither a keyword nor a parenthesis.
    #[error("the statement can't be read with certainty")]
    Unreadable,
}

/// Admits one statement that reads or writes rows, or nothing at all.
///
/// A single pass that copies nothing: for a usual statement far below the cost of a round-trip.
///
/// # Errors
/// [`Forbidden`], for the first reason in the order of the text.
pub(crate) fn check(sql: &str) -> Result<(), Forbidden> {
    if sql.contains('\0') {
        return Err(Forbidden::Unreadable);
    }
    let mut part = Part::Start;
    let (mut place, mut inserts, mut updates) = (Place::default(), false, false);
    for token in Lexer::new(sql) {
        let token = token?;
        part = match (part, token) {
            (part @ (Part::Start | Part::After), Token::Semicolon) => part,
            (Part::Body, Token::Semicolon) => Part::After,
            (Part::After, _more) => return Err(Forbidden::Several),
            (Part::Start, Token::Word(word)) => verb(word)?,
            (Part::Start, Token::Open) => Part::Body,
            (Part::Start, Token::Quoted(_) | Token::Escaped | Token::Close | Token::Other) => {
                return Err(Forbidden::Unreadable);
            }
            (Part::Body, _other) => Part::Body,
        };
        match token {
            Token::Escaped => return Err(Forbidden::Unreadable),
            Token::Quoted(name) => {
                check_name(updates, |one| name == one)?;
                inserts = false;
            }
            // SELECT INTO makes a table.
            Token::Word(word) if word.eq_ignore_ascii_case("into") && !inserts => return Err(Forbidden::Definition),
            Token::Word(word) => {
                check_name(updates, |one| folds_to(word, one))?;
                inserts = place.begins() && is_one_of(word, &["insert", "merge"]);
                updates |= word.eq_ignore_ascii_case("update");
            }
            Token::Open | Token::Close | Token::Semicolon | Token::Other => inserts = false,
        }
        place = place.behind(token);
    }
    Ok(())
}

/// Admits a text that can be put between parentheses: one query, with no semicolon, that closes no parenthesis which it
/// has not opened.
///
/// # Errors
/// [`Forbidden`].
pub(crate) fn check_query(sql: &str) -> Result<(), Forbidden> {
    check(sql)?;
    let mut depth = 0_usize;
    for token in Lexer::new(sql) {
        match token? {
            Token::Open => depth += 1,
            Token::Close => depth = depth.checked_sub(1).ok_or(Forbidden::Unreadable)?,
            Token::Semicolon => return Err(Forbidden::Several),
            Token::Word(_) | Token::Quoted(_) | Token::Escaped | Token::Other => {}
        }
    }
    if depth == 0 { Ok(()) } else { Err(Forbidden::Unreadable) }
}

/// The word that a text begins with, as it is written; `None` where it begins with something else.
pub(crate) fn first_keyword(sql: &str) -> Option<&str> {
    match Lexer::new(sql).find(|token| *token != Ok(Token::Semicolon)) {
        Some(Ok(Token::Word(word))) => Some(word),
        _other => None,
    }
}

/// Where in the text the next token stands.
#[derive(Clone, Copy)]
enum Part {
    /// Before the first statement.
    Start,
    Body,
    /// Behind a semicolon.
    After,
}

/// Whether a statement can begin here: what it does may be the name of a column as well, and `SELECT count(*) insert INTO
/// taken` makes a table.
#[derive(Clone, Copy, Default)]
struct Place {
    /// How many parentheses are open.
    depth: usize,
    before: Before,
    /// The statement's own verb has been read, behind its `WITH` if it has one.
    has_verb: bool,
}

#[derive(Clone, Copy, Default)]
enum Before {
    #[default]
    Nothing,
    Open,
    Close,
    Other,
}

impl Place {
    const fn begins(self) -> bool {
        match self.before {
            Before::Nothing | Before::Open => true,
            Before::Close => self.depth == 0 && !self.has_verb,
            Before::Other => false,
        }
    }

    fn behind(self, token: Token<'_>) -> Self {
        let before = match token {
            Token::Open => return Self { depth: self.depth + 1, before: Before::Open, ..self },
            Token::Close => return Self { depth: self.depth.saturating_sub(1), before: Before::Close, ..self },
            Token::Semicolon => return self,
            Token::Word(_) | Token::Quoted(_) | Token::Escaped | Token::Other => Before::Other,
        };
        let is_verb = matches!(token, Token::Word(word) if is_one_of(word, VERBS));
        Self { before, has_verb: self.has_verb || is_verb && self.depth == 0 && self.begins(), ..self }
    }
}

fn verb(word: &str) -> Result<Part, Forbidden> {
    if is_one_of(word, ADMITTED) {
        return Ok(Part::Body);
    }
    let known = REFUSED.iter().find(|(words, _)| is_one_of(word, words));
    Err(known.map_or(Forbidden::Definition, |(_, why)| *why))
}

/// Refuses the names of what changes a setting (an update of the view `pg_settings` calls `set_config`) and of what runs
/// a text as SQL.
fn check_name(updates: bool, is: impl Fn(&str) -> bool) -> Result<(), Forbidden> {
    if is("set_config") || updates && is("pg_settings") {
        return Err(Forbidden::Session);
    }
    if RUNS_TEXT.iter().any(|name| is(name)) { Err(Forbidden::Hidden) } else { Ok(()) }
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|one| word.eq_ignore_ascii_case(one))
}

/// Whether the server reads a name without quotes as this one. In a database of a one-byte encoding with a Turkish
/// locale it folds `İ` to `i`.
fn folds_to(word: &str, name: &str) -> bool {
    let folded = word.chars().map(|c| if c == 'İ' { 'i' } else { c.to_ascii_lowercase() });
    folded.eq(name.chars())
}

impl From<Unterminated> for Forbidden {
    fn from(Unterminated: Unterminated) -> Self {
        Self::Unreadable
    }
}

const ADMITTED: &[&str] = &["select", "insert", "update", "delete", "merge", "with", "values", "table", "call"];
/// What one of them does, behind `WITH` or without it.
const VERBS: &[&str] = &["select", "insert", "update", "delete", "merge", "values", "table"];
const REFUSED: &[(&[&str], Forbidden)] = &[
    (&["begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"], Forbidden::Transaction),
    (&["set", "reset", "discard", "load"], Forbidden::Session),
    (&["prepare", "execute", "deallocate"], Forbidden::Prepared),
    (&["declare", "fetch", "move", "close"], Forbidden::Cursor),
    (&["listen", "unlisten", "notify"], Forbidden::Channel),
    (&["copy"], Forbidden::Copy),
    (&["do"], Forbidden::Hidden),
    (&["explain"], Forbidden::Plan),
];
/// The built-in functions that take SQL, or the name of what they run it on, as a text.
const RUNS_TEXT: &[&str] = &[
    "query_to_xml",
    "query_to_xmlschema",
    "query_to_xml_and_xmlschema",
    "cursor_to_xml",
    "cursor_to_xmlschema",
    "table_to_xml",
    "table_to_xmlschema",
    "table_to_xml_and_xmlschema",
    "schema_to_xml",
    "schema_to_xmlschema",
    "schema_to_xml_and_xmlschema",
    "database_to_xml",
    "database_to_xmlschema",
    "database_to_xml_and_xmlschema",
    "ts_stat",
    "ts_rewrite",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_on_rows_are_admitted() {
        for sql in [
            "",
            ";",
            "select 'x; commit' as a; -- done",
            "(select 1) union all (table note)",
            "with x as (insert into note default values returning id) select * from x",
            "INSERT /* or */ INTO note values ($1)",
            "merge into note using y on true when matched then delete",
            "; insert into note select insert from (values (1)) as v (insert)",
            "with insert (merge) as (select count(*) into_it from note), x as (insert into note values (1) returning *) \
                 merge into note using x on true when not matched then insert values (1)",
            "select 1 as explain",
            "select 'set_config', $$pg_settings$$ from set_config_of",
            "select name, setting from pg_settings for update",
            "call anything(1)",
        ] {
            assert_eq!(check(sql), Ok(()), "{sql}");
        }
    }

    #[test]
    fn everything_else_is_refused_by_its_reason() {
        for (sql, why) in [
            ("commit", Forbidden::Transaction),
            (" /* a */ ; Start transaction", Forbidden::Transaction),
            ("prepare transaction 'x'", Forbidden::Prepared),
            ("set local role x", Forbidden::Session),
            ("select pg_catalog.\"set_config\"('a.b', '', true)", Forbidden::Session),
            ("select SET_CONFIG /* a */ ('a.b', '', true)", Forbidden::Session),
            ("select set_confİg('a.b', '', true)", Forbidden::Session),
            ("update pg_settings set setting = ''", Forbidden::Session),
            ("with x as (update only pg_catalog.\"pg_settings\" set setting = '') table x", Forbidden::Session),
            ("select U&\"set\\005fconfig\"('a.b', '', true)", Forbidden::Unreadable),
            ("select * into taken from note", Forbidden::Definition),
            ("select insert into taken from n", Forbidden::Definition),
            ("select count(*) merge into taken from note", Forbidden::Definition),
            ("with n as (select 1) select count(*) insert into taken from n", Forbidden::Definition),
            (
                "with n as (insert into note values (1) returning f(1)) select f(1) insert into taken from n",
                Forbidden::Definition,
            ),
            ("(select f(1) insert into taken)", Forbidden::Definition),
            ("explain select 1", Forbidden::Plan),
            (";/* a */ Explain (analyze, buffers) ((select 1))", Forbidden::Plan),
            ("explain analyze execute x", Forbidden::Plan),
            ("explain (analyze) create table x as select 1", Forbidden::Plan),
            ("do $$ begin end $$", Forbidden::Hidden),
            ("select query_to_XML('select 1', true, true, '')", Forbidden::Hidden),
            ("select \"ts_stat\"('select 1')", Forbidden::Hidden),
            ("truncate note", Forbidden::Definition),
            ("repack note", Forbidden::Definition),
            ("copy note from stdin", Forbidden::Copy),
            ("select 1; select 2", Forbidden::Several),
            ("select 1; commit", Forbidden::Several),
            ("select E'\\'; commit; --", Forbidden::Unreadable),
            ("select 1 /* /* */", Forbidden::Unreadable),
            ("select '\0'", Forbidden::Unreadable),
            ("\"select\" 1", Forbidden::Unreadable),
        ] {
            assert_eq!(check(sql), Err(why), "{sql}");
        }
    }

    #[test]
    fn a_query_stays_between_its_parentheses() {
        assert_eq!(check_query("select ')' from (values (1)) v -- )"), Ok(()));
        for sql in ["select 1) to stdout; drop table note; copy (select 1", "select 1) to program 'x' --", "select (1"]
        {
            assert!(check_query(sql).is_err(), "{sql}");
        }
        assert_eq!(check_query("select 1;"), Err(Forbidden::Several));
        assert_eq!(check_query("set role x"), Err(Forbidden::Session));
    }

    #[test]
    fn the_first_keyword_is_behind_blanks_and_comments() {
        assert_eq!(first_keyword(" -- with\n;/* x */ Select 1"), Some("Select"));
        for sql in ["", "(select 1)", "\"select\"", "'x", "/* select"] {
            assert_eq!(first_keyword(sql), None, "{sql}");
        }
    }
}
