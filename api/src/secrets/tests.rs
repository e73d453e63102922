use super::*;

/// Secrets in a folder that goes at once: they live in memory.
pub fn fresh() -> Secrets {
    let folder = std::env::temp_dir().join(format!("muniment-secrets.{}", std::process::id()));
    let path = folder.join(format!("{:?}.json", std::thread::current().id()));
    let secrets = Secrets::open(&path, || muniment_domain::id::Ids::Random.bytes()).unwrap();
    std::fs::remove_file(path).unwrap();
    secrets
}

#[test]
fn a_code_is_for_its_purpose_and_its_parts_alone() {
    let secrets = fresh();
    let code = secrets.mac("refresh", &[b"ab", b"c"]);
    assert!(secrets.is_mac(&code, "refresh", &[b"ab", b"c"]));
    assert!(!secrets.is_mac(&code, "csrf", &[b"ab", b"c"]));
    assert!(!secrets.is_mac(&code, "refresh", &[b"a", b"bc"]));
    assert!(!secrets.is_mac(&code[..31], "refresh", &[b"ab", b"c"]));
    assert!(!fresh().is_mac(&code, "refresh", &[b"ab", b"c"]));
}

#[test]
fn what_is_sealed_opens_for_its_owner_alone() {
    let secrets = fresh();
    let sealed = secrets.seal("usr_1", b"seed", [7; 16]).unwrap();
    assert_eq!(secrets.unseal("usr_1", &sealed).unwrap(), b"seed");
    assert!(secrets.unseal("usr_2", &sealed).is_none());
    assert!(secrets.unseal("usr_1", "AAAA").is_none());
}

#[test]
fn a_second_start_reads_what_the_first_one_made_and_nobody_else_can() {
    let folder = std::env::temp_dir().join(format!("muniment-secrets-twice.{}", std::process::id()));
    let (path, random) = (folder.join("auth.json"), || muniment_domain::id::Ids::Random.bytes());
    let first = Secrets::open(&path, random).unwrap();
    assert_eq!(first.signing, Secrets::open(&path, random).unwrap().signing);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(Secrets::open(&path, random).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}
