use super::*;

fn parse(line: &str) -> Result<Arguments, String> {
    Arguments::parse(line.split_whitespace().map(str::to_owned)).map_err(|failure| failure.to_string())
}

#[test]
fn a_command_and_its_file_are_read_in_any_order() {
    assert_eq!(parse("").unwrap().command, Command::Demo);
    assert_eq!(parse("--config a.toml run").unwrap(), parse("run --config a.toml").unwrap());
    let created = parse("admin key create --email a@b.example --role operator --days 30").unwrap().command;
    assert_eq!(parse("admin keys rotate").unwrap().command, Command::RotateKeys);
    assert!(matches!(created, Command::CreateKey(NewKey { role: Role::Operator, days: 30, scopes: None, .. })));
}

#[test]
fn what_is_no_command_is_refused() {
    for line in [
        "start",
        "run now",
        "--config",
        "admin",
        "admin keys",
        "admin lane pause lan_1",
        "admin lane import",
        "admin chain clear main because",
        "admin key create --email a",
        "admin user create --email a@b.example",
        "admin user create --email a@b.example --role investor",
        "admin key create --role king --email a@b",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}
