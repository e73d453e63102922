use super::*;

#[test]
fn etag_is_a_quoted_version() {
    assert_eq!(read(&etag(7)), Some(7));
    for tag in ["v7", "\"7\"", "W/\"v7\"", "*", "\"v-7\"", "\"v\"", "\"v7\", \"v8\"", "\"v99999999999999999999\""] {
        assert_eq!(read(tag), None, "{tag}");
    }
}

#[test]
fn longer_etag_is_read_up_to_its_version() {
    for (tag, version) in [("\"v7\"", 7), ("\"v7-3\"", 7), (" \"v12-0-2-150000\" ", 12)] {
        assert_eq!(head(tag), Some(version), "{tag}");
    }
    for tag in ["", "v7", "\"v-7\"", "W/\"v7\"", "\"v7-3", "\"v7-x\"", "\"v7\"-3\""] {
        assert_eq!(head(tag), None, "{tag}");
    }
}
