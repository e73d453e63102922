use clap::CommandFactory;

use super::*;

fn parse(line: &str) -> Result<Arguments, String> {
    let words = ["muniment"].into_iter().chain(line.split_whitespace());
    Arguments::try_parse_from(words).map_err(|error| error.to_string())
}

#[test]
fn the_definition_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn options_and_commands_are_read_in_any_order() {
    assert_eq!(parse("").unwrap().command, None);
    assert_eq!(parse("--config a.toml run").unwrap(), parse("run --config a.toml").unwrap());
    assert_eq!(parse("admin keys rotate").unwrap().command, Some(Command::Admin(Admin::Keys(KeysCommand::Rotate))));
    assert_eq!(
        parse("admin keys accept-loss").unwrap().command,
        Some(Command::Admin(Admin::Keys(KeysCommand::AcceptLoss)))
    );
    let created = parse("admin key create --email a@b.example --role operator --days 30").unwrap().command;
    let Some(Command::Admin(Admin::Key(KeyCommand::Create(key)))) = created else { panic!("{created:?}") };
    assert_eq!((key.role, key.days, key.scopes, &*key.name), (Role::Operator, 30, None, "command line"));
}

#[test]
fn a_reason_may_have_several_words() {
    let paused = parse("admin lane pause lan_1 the key has leaked").unwrap().command;
    let Some(Command::Admin(Admin::Lane(LaneCommand::Pause(paused)))) = paused else { panic!("{paused:?}") };
    assert_eq!((&*paused.lane_id, &*paused.reason.text()), ("lan_1", "the key has leaked"));
}

#[test]
fn an_error_names_what_is_allowed() {
    let unknown = parse("admin user create --email a@b.example --role investor").unwrap_err();
    assert!(unknown.contains("[possible values: operator, admin, auditor]"), "{unknown}");
    let missing = parse("admin lane pause lan_1").unwrap_err();
    assert!(missing.contains("<REASON>..."), "{missing}");
}

#[test]
fn an_invalid_command_line_is_refused() {
    for line in [
        "start",
        "run now",
        "--config",
        "admin",
        "admin keys",
        "admin lane pause lan_1",
        "admin lane import",
        "admin lane import lan_1 --acknowledge 0x00",
        "admin lane import lan_1 --apply --acknowledge 0x00",
        "admin lane import lan_1 --all",
        "admin chain clear main because",
        "admin key create --email a",
        "admin user create --email a@b.example",
        "admin user create --email a@b.example --role investor",
        "admin key create --role king --email a@b",
        "admin key create --role operator --email a@b --days 3651",
        "admin key create --role operator --email nobody",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}
