//! The two halves of one deed: what our books say, and what the chain says.

use serde::Deserialize;

use crate::console::wording;

/// One half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Half {
    /// The colour of its meaning: ours, net, done, failed, none.
    pub tone: &'static str,
    pub icon: &'static str,
    pub word: String,
}

/// Both halves and how they meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// What our books say.
    pub ours: Half,
    /// What the chain says.
    pub chain: Half,
    /// How they are cut: agree, waits, clash.
    pub cut: &'static str,
    /// The cut, for those who do not see it.
    pub told: &'static str,
}

/// The fields of an operation that a pair is made of.
#[derive(Clone, Debug, Deserialize)]
pub struct States {
    /// The status in our books.
    pub status: String,
    /// How a person closed it.
    pub resolution: Option<String>,
    /// What the chain says.
    pub on_chain: String,
    /// The block of its last step.
    pub block_number: Option<i64>,
}

impl Pair {
    /// The pair of an operation.
    pub fn of(states: &States) -> Self {
        let (ours, chain) = (ours(states), chain(states));
        let books = (states.status.as_str(), states.resolution.as_deref());
        let (cut, told) = match (books, states.on_chain.as_str()) {
            (("confirmed", _), "final") => ("agree", "They agree."),
            // Our books say that it ended, and the chain may still say otherwise.
            (("failed" | "dead_letter", None), "final" | "included" | "sent" | "signed" | "partly_final") => {
                ("clash", "The two disagree: a person has to decide.")
            }
            (("failed" | "dead_letter", _), _) => ("agree", "They agree."),
            _ => ("waits", "The chain has not had its last word."),
        };
        Self { ours, chain, cut, told }
    }
}

fn half(tone: &'static str, icon: &'static str, word: impl Into<String>) -> Half {
    Half { tone, icon, word: word.into() }
}

fn ours(states: &States) -> Half {
    match (states.status.as_str(), states.resolution.as_deref()) {
        (_, Some("abandoned")) => half("none", "none", "Abandoned"),
        ("pending", _) => half("ours", "ours", "Pending"),
        ("submitted", _) => half("net", "net", "Submitted"),
        ("confirmed", _) => half("done", "done", "Confirmed"),
        ("failed", _) => half("failed", "failed", "Failed"),
        ("dead_letter", _) => half("failed", "failed", "Dead letter"),
        (other, _) => half("none", "none", wording::word(other)),
    }
}

fn chain(states: &States) -> Half {
    let block = states.block_number.map(wording::number).unwrap_or_default();
    match states.on_chain.as_str() {
        "nothing_signed" => half("none", "none", "Nothing signed"),
        "signed" => half("ours", "ours", "Signed, not seen"),
        "sent" => half("net", "net", "Sent, not mined"),
        "included" => half("net", "net", "Mined, not final"),
        "partly_final" => half("net", "net", "Partly final"),
        "final" => half("done", "done", format!("Final {block}").trim().to_owned()),
        "reverted" => half("failed", "failed", "Reverted, final"),
        "cancelled" => half("none", "none", "Nonce burnt, final"),
        "taken" => half("failed", "failed", "Nonce taken by another"),
        other => half("none", "none", wording::word(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(status: &str, resolution: Option<&str>, on_chain: &str) -> &'static str {
        let (status, on_chain) = (status.to_owned(), on_chain.to_owned());
        Pair::of(&States { status, resolution: resolution.map(str::to_owned), on_chain, block_number: None }).cut
    }

    #[test]
    fn a_dead_letter_whose_effect_is_final_is_a_contradiction() {
        assert_eq!(cut("dead_letter", None, "final"), "clash");
        assert_eq!(cut("dead_letter", None, "sent"), "clash");
        assert_eq!(cut("failed", None, "nothing_signed"), "agree");
        assert_eq!(cut("failed", Some("abandoned"), "sent"), "agree");
        assert_eq!(cut("submitted", None, "final"), "waits", "our books have not confirmed it");
        assert_eq!(cut("confirmed", None, "final"), "agree");
    }
}
