use super::*;

struct Numbers;

impl Report for Numbers {
    const NAME: &'static str = "numbers";
    const COLUMNS: &'static [&'static str] = &["number", "name"];
    type Line = Value;

    fn head(&self) -> Value {
        json!({ "report": Self::NAME })
    }

    async fn next(&mut self, _: &mut Tx) -> muniment_domain::Result<Option<Vec<Value>>> {
        Ok(None)
    }

    fn totals(&self) -> Vec<Value> {
        vec![json!({ "name": "both" })]
    }
}

fn written(format: Format) -> String {
    let lines = [json!({ "number": 1, "name": "=x" }), json!({ "number": null, "name": "y" })];
    let parts = [
        begin::<Numbers>(&Numbers.head(), format),
        several(Numbers::COLUMNS, &lines[..1], 0, format),
        several(Numbers::COLUMNS, &lines[..0], 1, format),
        several(Numbers::COLUMNS, &lines[1..], 1, format),
        end::<Numbers>(&Numbers.totals(), format),
    ];
    parts.concat()
}

#[test]
fn report_parts_form_one_table_and_one_object() {
    assert_eq!(written(Format::Csv), "number,name\r\n1,'=x\r\n,y\r\ntotal,both\r\n");
    let object: Value = serde_json::from_str(&written(Format::Json)).unwrap();
    let lines = json!([{ "number": 1, "name": "=x" }, { "number": null, "name": "y" }]);
    assert_eq!(object, json!({ "report": "numbers", "lines": lines, "totals": [{ "name": "both" }] }));
}
