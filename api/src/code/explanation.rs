//! What happened and what to do, for one code.

/// The explanation of a code, which its page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explanation {
    /// A few sentences. The page is made from them.
    Short {
        /// An event.
        happened: &'static str,
        /// What to do.
        action: &'static str,
        /// Whether money or the state of a chain is affected.
        effect: &'static str,
    },
    /// A page of `ops/runbooks`, because there are several steps to do.
    Page(&'static str),
}

/// Reads one explanation of a table: `page`, or what happened, what to do and, where something changed, the effect.
macro_rules! explanation {
    ($code:literal, page) => {
        $crate::code::explanation::Explanation::Page(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../ops/runbooks/",
            $code,
            ".md"
        )))
    };
    ($code:literal, $happened:literal, $action:literal) => {
        explanation!($code, $happened, $action, "No money moved and nothing was changed.")
    };
    ($code:literal, $happened:literal, $action:literal, $effect:literal) => {
        $crate::code::explanation::Explanation::Short { happened: $happened, action: $action, effect: $effect }
    };
}

pub(crate) use explanation;
