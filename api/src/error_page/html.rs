//! Turns the Markdown of an error page into HTML: headings, paragraphs, lists, code and links.

/// The whole HTML page.
pub fn page(title: &str, markdown: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}: Muniment</title>\n\
         <link rel=\"stylesheet\" href=\"/docs/page.css\">\n</head>\n<body class=\"errors\">\n<main>\n{}</main>\n</body>\n</html>\n",
        body(markdown),
    )
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Title,
    Heading,
    Bullet,
    Step,
    Text,
}

impl Kind {
    /// The kind of a line, and the text after its mark.
    fn of(line: &str) -> (Self, &str) {
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let step = line[digits..].strip_prefix(". ").filter(|_| digits > 0);
        let marked = [("# ", Self::Title), ("## ", Self::Heading), ("- ", Self::Bullet)];
        let found = marked.iter().find_map(|(mark, kind)| Some((*kind, line.strip_prefix(mark)?)));
        found.or_else(|| step.map(|text| (Self::Step, text))).unwrap_or((Self::Text, line.trim()))
    }

    fn tag(self) -> &'static str {
        match self {
            Self::Title => "h1",
            Self::Heading => "h2",
            Self::Bullet | Self::Step => "li",
            Self::Text => "p",
        }
    }

    /// The list of an item.
    fn list(self) -> Option<&'static str> {
        match self {
            Self::Bullet => Some("ul"),
            Self::Step => Some("ol"),
            Self::Title | Self::Heading | Self::Text => None,
        }
    }
}

fn body(markdown: &str) -> String {
    let mut html = String::new();
    let mut list = None;
    for (kind, text) in blocks(markdown) {
        if list != kind.list() {
            html.extend(list.map(|list| format!("</{list}>\n")));
            html.extend(kind.list().map(|list| format!("<{list}>\n")));
            list = kind.list();
        }
        let tag = kind.tag();
        html.push_str(&format!("<{tag}>{}</{tag}>\n", inline(&text)));
    }
    html.extend(list.map(|list| format!("</{list}>\n")));
    html
}

/// Joins the lines of each block.
fn blocks(markdown: &str) -> Vec<(Kind, String)> {
    let mut blocks: Vec<(Kind, String)> = Vec::new();
    let mut is_open = false;
    for line in markdown.lines() {
        let (kind, text) = Kind::of(line);
        match blocks.last_mut().filter(|_| is_open && kind == Kind::Text && !text.is_empty()) {
            Some((_, block)) => {
                block.push(' ');
                block.push_str(text);
            }
            None if text.is_empty() => {}
            None => blocks.push((kind, text.to_owned())),
        }
        is_open = !text.is_empty();
    }
    blocks
}

/// Escapes a text, and marks code between backticks and links.
fn inline(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let parts = escaped.split('`').enumerate();
    let code = parts.map(|(at, part)| if at % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() });
    let mut html = String::new();
    let text: String = code.collect();
    let mut rest = text.as_str();
    while let Some((before, label, target, after)) = link(rest) {
        html.push_str(&format!("{before}<a href=\"{target}\">{label}</a>"));
        rest = after;
    }
    html + rest
}

/// The first `[label](/target)`, with the text before and after it.
fn link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (head, rest) = text.split_once("](/")?;
    let (before, label) = head.rsplit_once('[')?;
    let end = rest.find(')')?;
    let target = &text[head.len() + 2..head.len() + 3 + end];
    Some((before, label, target, &rest[end + 1..]))
}
