use serde_json::json;

use super::*;

fn page(query: &str) -> Result<Page> {
    let uri: Uri = format!("/x?{query}").parse().unwrap();
    Page::read(&uri, &[]).map(|(page, _)| page)
}

#[test]
fn page_out_of_range_is_refused() {
    assert_eq!(page("").unwrap(), Page { number: 1, limit: 20 });
    assert_eq!(page("page=3&limit=100").unwrap().offset(), 200);
    for query in
        ["page=0", "limit=0", "limit=101", "limit=ten", "limit=", "page=-1", "page=%2B1", "page=2&page=2", "page=5002"]
    {
        assert_eq!(page(query).unwrap_err().code, Code::InvalidParameter, "{query}");
    }
    assert_eq!(page("pages=1").unwrap_err().code, Code::UnknownParameter);
}

#[test]
fn incomplete_count_is_reported() {
    let of = |total: Total| json!(Page { number: 1, limit: 20 }.pagination(total));
    let counted = json!({ "page": 1, "limit": 20, "total": 1_000, "total_pages": 50 });
    assert_eq!(of(Total::from(1_000)), counted);
    let mut ended = counted;
    ended["total_is_exact"] = json!(false);
    assert_eq!(of(Total { count: 1_000, exact: false }), ended);
}

#[test]
fn number_of_pages_is_rounded_up() {
    let page = Page { number: 1, limit: 20 };
    for (total, pages) in [(0, 0), (1, 1), (20, 1), (21, 2)] {
        assert_eq!(page.pages(total), pages);
    }
}
