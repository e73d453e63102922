//! How the hosts of webhook endpoints are looked up.

use muniment_activities::delivery::Lookup;
#[cfg(not(feature = "failpoints"))]
use muniment_activities::delivery::system_lookup;

/// The look-up of the operating system.
#[cfg(not(feature = "failpoints"))]
pub fn lookup() -> Lookup {
    system_lookup()
}

/// The look-up that a test wants: `MUNIMENT_HOSTS` names a file with a host and its addresses in each line. It is read each time, because a
/// name can lead elsewhere at its second look-up.
#[cfg(feature = "failpoints")]
pub fn lookup() -> Lookup {
    use std::sync::Arc;

    use futures::FutureExt;

    let Some(path) = std::env::var_os("MUNIMENT_HOSTS") else {
        return muniment_activities::delivery::system_lookup();
    };
    Arc::new(move |host| {
        let text = std::fs::read_to_string(&path);
        let found = text.map(|text| {
            let mut lines = text.lines().map(|line| line.split_whitespace());
            let line = lines.find_map(|mut words| (words.next() == Some(&host)).then_some(words));
            line.into_iter().flatten().filter_map(|address| address.parse().ok()).collect()
        });
        std::future::ready(found).boxed()
    })
}
