//! The pages of a distribution, each an operation of its own: newest first, or those that need a person.

use muniment_domain::id::OperationId;
use serde::Deserialize;

use crate::console::desk::Desk;
use crate::console::list::{Asked, Listed, ROWS};
use crate::console::operations::About;
use crate::console::pair::{Pair, States};
use crate::console::record::Section;
use crate::console::table::{Row, Table, cell, short};
use crate::console::wording;
use crate::http::error::Result;

/// The parameter of the address that chooses among them.
const SHOWN: &str = "pages";
const ATTENTION: &str = "attention";
const TABS: &[(&str, &str)] = &[("", "All"), (ATTENTION, "Needs a person")];

/// A part of the pages.
pub struct Pages {
    listed: Listed<Operation>,
    /// How many of all pages need a person.
    pub needing: i64,
}

#[derive(Deserialize)]
struct Operation {
    id: String,
    #[serde(flatten)]
    states: States,
    about: About,
    needs_attention: bool,
    tx_hash: Option<String>,
}

impl Pages {
    /// Reads those that the address asks for.
    pub async fn read(desk: &Desk, asked: &Asked, distribution_id: &str) -> Result<Self> {
        let path = format!("/blockchain/operations?subject_id={distribution_id}");
        let needing: Listed<Operation> = desk.read(&format!("{path}&needs_attention=true&limit=1")).await?;
        let needing = needing.pagination.total.unwrap_or_default();
        // When none needs a person any more, an old address shows all.
        let filter = if needing > 0 && asked.text(SHOWN) == ATTENTION { "&needs_attention=true" } else { "" };
        let after = OperationId::from(asked.text("after"));
        let after = if after.is_sound() { format!("&after={after}") } else { String::new() };
        let listed = desk.read(&format!("{path}{filter}{after}&limit={ROWS}")).await?;
        Ok(Self { listed, needing })
    }

    /// Whether none is shown.
    pub fn is_empty(&self) -> bool {
        self.listed.data.is_empty()
    }

    /// What a person must know of them.
    pub fn note(&self) -> Option<String> {
        match self.needing {
            0 => None,
            1 => Some("One page needs a person. The others go on by themselves.".to_owned()),
            many => Some(format!("{many} pages need a person. The others go on by themselves.")),
        }
    }

    /// The table.
    pub fn section(&self, asked: &Asked) -> Section {
        let next = self.listed.pagination.next_after.as_ref();
        let next = next.map(|after| format!("{}#pages", asked.with("after", after)));
        Section {
            id: "pages",
            title: "Pages",
            small: "each is one operation, with a fate of its own".to_owned(),
            tabs: if self.needing > 0 { asked.tabs_of(SHOWN, TABS, "pages") } else { Vec::new() },
            table: Table {
                columns: &[("Page", ""), ("Ours and the chain", ""), ("Transaction", "hide-s"), ("", "")],
                rows: self.listed.data.iter().map(row).collect(),
                empty: ("No page is paid yet.", "Executing makes a page for each group of holders."),
            },
            pages: (None, next),
        }
    }
}

fn row(op: &Operation) -> Row {
    let at = format!("/console/operations/{}", op.id);
    Row {
        id: op.id.clone(),
        cells: vec![
            cell(op.about.sentence()).two(wording::short_id(&op.id)).to(&at),
            cell("").paired(Pair::of(&op.states)),
            op.tx_hash.as_deref().map_or_else(|| cell("none final"), short),
            match op.needs_attention {
                true => cell("Needs a person").toned("person", "person").to(at),
                false => cell(""),
            },
        ],
    }
}
