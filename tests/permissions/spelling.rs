//! An id in another spelling matches nothing, in every position.

use super::objects::{Asking, Case, nouns};
use super::ownership::Ownership;
use super::table::{Line, lines, missing};

/// An existing id in a spelling that tries to bypass a check.
fn writings(id: &str, noun: &str) -> Vec<String> {
    let Some((prefix, rest)) = id.split_once('_') else {
        return vec![format!("0{id}"), format!("+{id}"), format!("{id}0"), format!("{id}.0")];
    };
    let other = missing(if noun == "users" { "sessions" } else { "users" });
    let other = other.split('_').next().unwrap();
    vec![
        format!("{other}_{rest}"),
        format!("{prefix}{rest}"),
        format!("_{rest}"),
        rest.to_owned(),
        id.to_uppercase(),
        format!("{prefix}_{}", rest.to_uppercase()),
        format!("{id}0"),
        id[..id.len() - 1].to_owned(),
        format!("{prefix}_8{}", &rest[1..]),
        format!("{id}%20"),
        format!("%20{id}"),
        format!("{id}%00"),
        format!("{id}%0A"),
        format!("{id}%FF"),
        format!("{id}%2F"),
        format!("%2F{id}"),
        format!("{id}%2Fx"),
        format!("{id}'"),
        format!("{id}%27%20or%201=1--"),
        format!("{prefix}_%25"),
        "%25".to_owned(),
        "%C3%A9".to_owned(),
        "0".to_owned(),
        "null".to_owned(),
        format!("{id}/"),
        format!("/{id}"),
    ]
}

/// Calls each route as a caller who sees the object.
pub async fn otherwise(all: &Ownership, asking: &Asking) -> Vec<String> {
    let judge = async |asking: &Asking, line: Line| {
        let mut wrong = Vec::new();
        let noun = nouns(&line)[0];
        let things = || all.things.iter().filter(|thing| thing.noun == noun);
        let owners = all.callers.iter().filter(|caller| !caller.is_refused(&line));
        let found =
            owners.flat_map(|caller| things().map(move |thing| (caller, thing))).find(|(c, t)| c.sees(&line, &[], t));
        let (caller, thing) = found.unwrap_or_else(|| panic!("nobody sees what {} is about", line.path));
        let rest: Vec<_> = nouns(&line)[1..].iter().map(|noun| missing(noun)).collect();
        let case = Case { line, caller, things: vec![thing] };
        for writing in writings(&thing.id, noun) {
            let path = case.path(&[vec![writing], rest.clone()].concat());
            let answer = asking.ask(&case, &path).await;
            let is_problem = answer.headers.get("content-type").is_some_and(|kind| kind == "application/problem+json");
            let refused = answer.status == 404 || answer.problem() == (400, "invalid_parameter".to_owned());
            let forbidden = answer.problem() == (403, "forbidden".to_owned()) && line.path.ends_with("/portfolio");
            if !is_problem || !(refused || forbidden) {
                wrong.push(format!("{} {path} for {}: {} {}", line.method, caller.name, answer.status, answer.body));
            }
        }
        wrong
    };
    asking.all(lines().into_iter().filter(Line::is_of_something).collect(), judge).await
}
