//! A flood of requests above the limits, from many addresses, and the memory that it takes.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;

use crate::client::Client;
use crate::installation::Installation;
use crate::process;
use crate::table::{Line, percent};

const AT_ONCE: usize = 16;
/// The memory that it may add to the process.
const MEGABYTES_MAX: f64 = 64.0;
/// One request in this many has a key. That is still many times the limit of a key.
const KEYED: u32 = 8;
/// The default limit of a key.
const KEY_PER_MINUTE: f64 = 1_200.0;

/// Sends requests for twice this time, as fast as they are answered. The second half shows whether the memory goes on growing.
pub async fn measure(site: &Installation, time: Duration) -> Line {
    let (mut binary, port) = site.start("api", None).await;
    let mut clients = join_all((0..AT_ONCE).map(|_| site.client(port))).await;
    let sent = AtomicU32::new(0);
    flood(&mut clients, Duration::from_millis(500), &sent, site).await;
    let before = process::resident_megabytes(binary.pid());
    flood(&mut clients, time, &sent, site).await;
    let half = process::resident_megabytes(binary.pid());
    flood(&mut clients, time, &sent, site).await;
    let (peak, after) = (process::peak_megabytes(binary.pid()), process::resident_megabytes(binary.pid()));
    let sent = f64::from(sent.load(Ordering::Relaxed));
    let key_minutes = (time * 2).as_secs_f64() / 60.0 * KEY_PER_MINUTE;
    let times = sent / f64::from(KEYED) / key_minutes;
    binary.terminate(time);
    Line {
        row: "flood",
        on: format!("PostgreSQL, {:.0} addresses, one key at {times:.0} × its limit", sent - sent / f64::from(KEYED)),
        goal: "≤ 64 MB more, at 10 × the limits",
        result: format!("{before:.0} MB before, {half:.0} half way, {peak:.0} at most, {after:.0} after"),
        baseline: "an idle process: the same".to_owned(),
        ratio: percent(peak, before),
        met: Some(peak - before <= MEGABYTES_MAX && times >= 10.0),
    }
}

async fn flood(clients: &mut [Client], time: Duration, sent: &AtomicU32, site: &Installation) {
    let (start, key) = (Instant::now(), &(site.key.clone(), None));
    // A wrong token is counted by address without a read of the database, so that the flood stays fast.
    let guess = &("e30.e30.e30".to_owned(), None);
    let all = clients.iter_mut().map(|client| async move {
        while start.elapsed() < time {
            let number = sent.fetch_add(1, Ordering::Relaxed);
            let keyed = number.is_multiple_of(KEYED);
            client.act_as(if keyed { key } else { guess });
            let address = Ipv4Addr::from_bits(0x0a00_0000 + number);
            let status = client.get_from(address, "/blockchain/operations?limit=1").await;
            let expected = if keyed { [200, 429] } else { [401, 429] };
            assert!(expected.contains(&status), "{status} from {address}");
        }
    });
    join_all(all).await;
}
