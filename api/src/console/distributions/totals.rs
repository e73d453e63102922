//! The money of a distribution by state, and whether it adds up.

use serde::Deserialize;

use crate::console::wording;

/// The money of a distribution, as the API adds it up.
#[derive(Deserialize)]
pub struct Totals {
    pub gross: String,
    pub withholding: String,
    pub net: String,
    pub paid: String,
    pub open: String,
    pub held: String,
    pub excluded: String,
    pub failed: String,
}

/// A part of the money: its name, colour, symbol, amount, and where it stands on the bar.
pub struct Part {
    pub name: &'static str,
    pub tone: &'static str,
    pub icon: &'static str,
    pub amount: String,
    pub status: &'static str,
    pub from: i128,
    pub width: i128,
}

/// The money by state. The bar is a thousand wide.
pub fn parts(totals: &Totals) -> Vec<Part> {
    let all = [
        ("Paid", "done", "done", &totals.paid, "paid"),
        ("To be paid", "net", "net", &totals.open, "calculated,queued"),
        ("Held", "ours", "lock", &totals.held, "held"),
        ("Failed", "failed", "failed", &totals.failed, "failed"),
        ("Excluded", "none", "none", &totals.excluded, "excluded"),
    ];
    let net = cents(&totals.net).unwrap_or_default().max(1);
    let mut from = 0;
    let part =
        |(name, tone, icon, amount, status): (&'static str, &'static str, &'static str, &String, &'static str)| {
            let width = cents(amount).unwrap_or_default() * 1_000 / net;
            let part = Part { name, tone, icon, amount: wording::digits(amount), status, from, width };
            from += width;
            part
        };
    all.into_iter().map(part).collect()
}

/// The sum in words, and whether it holds. None before anything is calculated.
pub fn proof(totals: &Totals) -> Option<(String, bool)> {
    let parts = [&totals.paid, &totals.open, &totals.held, &totals.failed, &totals.excluded];
    let sum: Option<i128> = parts.iter().map(|text| cents(text)).sum();
    let (net, withheld, gross) = (cents(&totals.net)?, cents(&totals.withholding)?, cents(&totals.gross)?);
    let holds = sum == Some(net) && net + withheld == gross;
    let shown: Vec<_> = parts.iter().map(|text| wording::digits(text)).collect();
    let digits = |text: &String| wording::digits(text);
    let text = format!(
        "{} = {} net; with {} withheld, {} gross.",
        shown.join(" + "),
        digits(&totals.net),
        digits(&totals.withholding),
        digits(&totals.gross)
    );
    (gross > 0).then_some((text, holds))
}

/// An amount of two decimals as a number of cents.
fn cents(text: &str) -> Option<i128> {
    text.replace('.', "").parse().ok().filter(|_| text.split('.').nth(1).is_some_and(|rest| rest.len() == 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_add_up_or_say_that_they_do_not() {
        let text = |text: &str| text.to_owned();
        let mut totals = Totals {
            gross: text("100.00"),
            withholding: text("10.00"),
            net: text("90.00"),
            paid: text("60.00"),
            open: text("20.00"),
            held: text("10.00"),
            excluded: text("0.00"),
            failed: text("0.00"),
        };
        assert!(proof(&totals).unwrap().1);
        assert_eq!(parts(&totals)[1].from, 666);
        totals.paid = text("60.01");
        assert!(!proof(&totals).unwrap().1);
        assert_eq!((cents("12"), cents("1.2"), cents("1,000.00")), (None, None, None));
    }
}
