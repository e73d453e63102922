//! Small charts of the last hour, one point a minute. The server draws them, so a page needs no script for them.

use std::fmt::Write;

/// The drawing is as wide and as high as this, and is stretched by the page.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 46.0;
/// The lowest and the highest value are drawn here.
const FLOOR: f64 = 44.0;
const TOP: f64 = 7.0;

/// A chart: its name, the newest value in words, and its shapes.
pub struct Chart {
    /// What is shown.
    pub name: String,
    /// The main value, and the text beside it.
    pub value: (String, String),
    /// Where a click leads.
    pub href: &'static str,
    /// Bars as place, top and height.
    pub bars: Vec<(String, String, String)>,
    /// Lines as paths, each with its class.
    pub lines: Vec<(&'static str, String)>,
}

impl Chart {
    /// A chart without shapes.
    pub const fn new(name: String, value: (String, String), href: &'static str) -> Self {
        Self { name, value, href, bars: Vec::new(), lines: Vec::new() }
    }

    /// Bars of these values, the highest as high as the chart.
    pub fn bars(mut self, values: &[Option<f64>]) -> Self {
        let (step, most) = (WIDTH / values.len() as f64, most(values));
        for (index, value) in values.iter().enumerate() {
            let height = value.map_or(0.0, |value| value / most * (FLOOR - TOP));
            if height > 0.0 {
                let x = index as f64 * step + 0.6;
                self.bars.push((format!("{x:.1}"), format!("{:.1}", FLOOR - height), format!("{height:.1}")));
            }
        }
        self
    }

    /// A line through these values, with gaps where there is none.
    pub fn line(mut self, class: &'static str, values: &[Option<f64>], most: f64) -> Self {
        let step = WIDTH / values.len() as f64;
        let (mut path, mut is_drawing) = (String::new(), false);
        for (index, value) in values.iter().enumerate() {
            if let Some(value) = value {
                let (x, y) = (index as f64 * step + step / 2.0, FLOOR - (value / most).min(1.0) * (FLOOR - TOP));
                // A point alone is a stroke of no length, which round ends make visible. Writing to a string cannot fail.
                _ = match is_drawing {
                    true => write!(path, "L{x:.1} {y:.1}"),
                    false => write!(path, "M{x:.1} {y:.1}h0"),
                };
            }
            is_drawing = value.is_some();
        }
        if !path.is_empty() {
            self.lines.push((class, path));
        }
        self
    }

    /// A line across at this value.
    pub fn limit(mut self, value: f64, most: f64) -> Self {
        let y = FLOOR - (value / most).min(1.0) * (FLOOR - TOP);
        self.lines.push(("sp-d", format!("M0 {y:.1}H{WIDTH}")));
        self
    }

    /// The part of the drawing that is seen.
    pub fn view_box() -> String {
        format!("0 0 {WIDTH} {HEIGHT}")
    }
}

/// The highest of these values; one where there is none, so that nothing is divided by zero.
pub fn most(values: &[Option<f64>]) -> f64 {
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    if most > 0.0 { most } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bar_is_as_high_as_the_chart_and_nothing_has_no_bar() {
        let chart = Chart::new(String::new(), Default::default(), "").bars(&[Some(2.0), None, Some(0.0), Some(4.0)]);
        let drawn: Vec<_> = chart.bars.iter().map(|(x, y, height)| [x.as_str(), y, height]).collect();
        assert_eq!(drawn, [["0.6", "25.5", "18.5"], ["225.6", "7.0", "37.0"]]);
    }

    #[test]
    fn a_line_has_gaps_where_nothing_was_seen() {
        let values = [Some(1.0), Some(2.0), None, Some(0.0)];
        let chart = Chart::new(String::new(), Default::default(), "").line("sp-l", &values, most(&values));
        assert_eq!(chart.lines, [("sp-l", "M37.5 25.5h0L112.5 7.0M262.5 44.0h0".to_owned())]);
        let empty = Chart::new(String::new(), Default::default(), "").line("sp-l", &[None], 1.0);
        assert!(empty.lines.is_empty());
    }
}
