//! The two tables of a job: its rows, and the names of all transactions that were committed.
//!
//! What is there is looked at in the catalogue alone: to make an index, even one that is there, waits for whatever is
//! prepared, and that may be this program's own to end.

use super::names::TableName;
use postgres::Client;

/// The columns of the rows, as the catalogue tells them.
const ROW_COLUMNS: &str = "name text, operator integer, split bigint, number bigint, payload bytea";
const PROOF_COLUMNS: &str = "name text";

/// What is there under the name of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TableSight {
    /// Nothing.
    Absent,
    /// A table that a job has made.
    Own,
    /// Something else: what, as a sentence.
    Foreign(String),
}

/// See [`super::RealTable::look`].
pub(super) fn look(table: &TableName, client: &mut Client) -> Result<TableSight, postgres::Error> {
    let rows = columns(&table.rows(), client)?;
    let proofs = columns(&table.proofs(), client)?;
    let foreign = |name: String, found: &str, expected: &str| {
        TableSight::Foreign(format!("{name} has the columns ({found}), and a job's has ({expected})"))
    };
    Ok(match (rows, proofs) {
        (None, None) => TableSight::Absent,
        (Some(found), _) if found != ROW_COLUMNS => foreign(table.rows(), &found, ROW_COLUMNS),
        (_, Some(found)) if found != PROOF_COLUMNS => foreign(table.proofs(), &found, PROOF_COLUMNS),
        (None, Some(_)) => TableSight::Absent,
        (Some(_), None) => {
            TableSight::Foreign(format!("{} is there without {}", table.rows(), table.proofs()))
        }
        (Some(_), Some(_)) => TableSight::Own,
    })
}

/// The columns of a table, in order; `None` when there is none of that name.
fn columns(name: &str, client: &mut Client) -> Result<Option<String>, postgres::Error> {
    let found = client.query_one(
        "SELECT to_regclass($1) IS NOT NULL, coalesce(string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' \
         ORDER BY attnum), '') FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
        &[&name],
    )?;
    let is_there: bool = found.get(0);
    Ok(is_there.then(|| found.get(1)))
}

/// See [`super::RealTable::make`]. The proofs come first: rows without them are nobody's.
pub(super) fn make(table: &TableName, client: &mut Client) -> Result<(), postgres::Error> {
    let (rows, proofs, index) = (table.rows(), table.proofs(), table.proofs_index());
    let parts = [
        (&proofs, format!("TABLE {proofs} (name text NOT NULL)")),
        (&index, format!("INDEX {index} ON {proofs} (name)")),
        (
            &rows,
            format!(
                "TABLE {rows} (name text NOT NULL, operator integer NOT NULL, split bigint NOT NULL, \
                 number bigint NOT NULL, payload bytea NOT NULL)"
            ),
        ),
    ];
    for (name, definition) in parts {
        let is_there: bool = client.query_one("SELECT to_regclass($1) IS NOT NULL", &[name])?.get(0);
        if !is_there {
            client.batch_execute(&format!("CREATE {definition}"))?;
        }
    }
    Ok(())
}
