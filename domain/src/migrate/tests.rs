//! `migrations/schema.md` is drawn from the schema that the migrations make.

use std::fmt::Write;

use sqlx::{Connection, SqliteConnection};

use super::MIGRATOR;

const HEADER: &str = "# The schema

Drawn from the migrated database by a test of `domain/src/migrate.rs`, with the keys of each table. The other columns are in the files.
A line reads from the table that is referred to, to the table with the foreign key: `||` exactly one, `|o` one or none, `o{` any number.
";

/// A foreign key, as the diagram shows it.
#[derive(sqlx::FromRow)]
struct Reference {
    parent: String,
    columns: String,
    /// One row refers to one row of the parent at most.
    single: bool,
    /// The columns may be null.
    optional: bool,
}

pub(super) async fn migrated() -> SqliteConnection {
    let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    MIGRATOR.run_direct(None, &mut conn, false).await.unwrap();
    conn
}

/// The columns of the primary key and of foreign keys, as lines of the diagram.
async fn keys(conn: &mut SqliteConnection, table: &str) -> Vec<String> {
    let keys = "select lower(c.type) || ' ' || c.name || ' ' || case when c.pk > 0 and f.name is not null then 'PK, FK' \
                    when c.pk > 0 then 'PK' else 'FK' end \
                from pragma_table_info($1) c \
                left join (select distinct \"from\" as name from pragma_foreign_key_list($1)) f on f.name = c.name \
                where c.pk > 0 or f.name is not null order by c.cid";
    sqlx::query_scalar(keys).bind(table).fetch_all(conn).await.unwrap()
}

async fn references(conn: &mut SqliteConnection, table: &str) -> Vec<Reference> {
    let references = "select f.parent, f.columns, \
            exists (select 1 from pragma_index_list($1) l left join sqlite_master m on m.name = l.name \
                where l.\"unique\" = 1 and (l.partial = 0 or m.sql like '% where ' || f.columns || ' is not null') \
                and (select group_concat(i.name, ', ') from pragma_index_info(l.name) i) = f.columns) as single, \
            exists (select 1 from pragma_table_info($1) c where c.\"notnull\" = 0 and c.pk = 0 \
                and instr(', ' || f.columns || ', ', ', ' || c.name || ', ') > 0) as optional \
        from (select id, \"table\" as parent, group_concat(\"from\", ', ') as columns \
            from pragma_foreign_key_list($1) group by id) f \
        order by f.columns";
    sqlx::query_as(references).bind(table).fetch_all(conn).await.unwrap()
}

/// The tables of each migration file, in the order of reading.
fn contents() -> String {
    let mut text = "\n| file | tables |\n|---|---|\n".to_owned();
    for migration in MIGRATOR.iter() {
        let created =
            migration.sql.as_str().lines().filter_map(|line| line.strip_prefix("create table ")?.strip_suffix(" ("));
        let tables = created.map(|table| format!("`{table}`")).collect::<Vec<_>>().join(", ");
        let name = migration.description.replace(' ', "_");
        writeln!(text, "| `{:04}_{name}.sql` | {tables} |", migration.version).unwrap();
    }
    text
}

async fn diagram() -> String {
    let mut conn = migrated().await;
    let tables = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' \
                  and name <> 'muniment_migrations' order by rowid";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut conn).await.unwrap();
    let (mut boxes, mut lines) = (String::new(), String::new());
    for table in tables {
        let keys = keys(&mut conn, &table).await.join("\n        ");
        writeln!(boxes, "    {table} {{\n        {keys}\n    }}").unwrap();
        for Reference { parent, columns, single, optional } in references(&mut conn, &table).await {
            let (from, to) = (if optional { "|o" } else { "||" }, if single { "o|" } else { "o{" });
            writeln!(lines, "    {parent} {from}--{to} {table} : \"{columns}\"").unwrap();
        }
    }
    format!("\n```mermaid\nerDiagram\n{boxes}{lines}```\n")
}

#[tokio::test]
async fn the_diagram_shows_the_migrated_schema() {
    let wanted = format!("{HEADER}{}{}", contents(), diagram().await);
    let written = std::env::temp_dir().join("muniment-schema.md");
    if include_str!("../../../migrations/schema.md") != wanted {
        std::fs::write(&written, wanted).unwrap();
        panic!("the schema has changed: read {} and copy it to migrations/schema.md", written.display());
    }
}

#[test]
fn migrations_are_numbered_without_gaps() {
    let versions: Vec<i64> = MIGRATOR.iter().map(|migration| migration.version).collect();
    let expected: Vec<i64> = (1..).take(versions.len()).collect();
    assert_eq!(versions, expected);
}
