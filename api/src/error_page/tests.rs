//! Every code has one explanation, and every explanation is a page that a person can read.

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_code_is_explained_once() {
    let codes: Vec<_> = entries().map(|entry| entry.code).collect();
    assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len());
    for (shared, _) in SHARED {
        assert!(Code::ALL.iter().any(|code| code.as_str() == *shared), "{shared} is no code of a problem");
    }
}

#[test]
fn every_page_says_what_happened_whether_money_is_affected_and_what_to_do() {
    for entry in entries() {
        let markdown = entry.markdown();
        for heading in ["\n## What happened\n\n", "\n## Is money affected?\n\n", "\n## What to do\n\n1. "] {
            assert_eq!(markdown.matches(heading).count(), 1, "{}: {heading:?} is missing", entry.code);
        }
        if let Explanation::Page(page) = entry.explanation {
            assert_eq!(page.lines().next(), Some(format!("# `{}`: {}", entry.code, entry.title).as_str()));
        }
    }
}

#[test]
fn each_file_of_the_runbooks_belongs_to_a_code() {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../ops/runbooks")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
    let files: BTreeSet<_> = names.filter(|name| name != "README.md").collect();
    let pages = entries().filter(|entry| matches!(entry.explanation, Explanation::Page(_)));
    assert_eq!(files, pages.map(|entry| format!("{}.md", entry.code)).collect());
}

#[test]
fn markdown_becomes_escaped_html() {
    let html = html::page(
        "a",
        "# `a<b`: title\n\nOne\nparagraph.\n\n1. First `x`\n   goes on.\n2. Second\n\n- [`c`](/errors/c): see\n",
    );
    assert!(html.contains("<h1><code>a&lt;b</code>: title</h1>\n<p>One paragraph.</p>\n<ol>\n"), "{html}");
    assert!(html.contains("<li>First <code>x</code> goes on.</li>\n<li>Second</li>\n</ol>\n"), "{html}");
    assert!(html.contains("<ul>\n<li><a href=\"/errors/c\"><code>c</code></a>: see</li>\n</ul>"), "{html}");
}
