//! A flood: far more than the limits allow, from more addresses than anybody has. What it leaves in memory.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;

use crate::client::Client;
use crate::process;
use crate::stand::Stand;
use crate::table::{Line, percent};

const AT_ONCE: usize = 16;
/// What all of it may take besides what the process had before.
const MEGABYTES_MAX: f64 = 64.0;
/// One in so many is asked with a key: that is still many times what a key may ask.
const KEYED: u32 = 8;
/// What a key may ask in a minute by default.
const KEY_PER_MINUTE: f64 = 1_200.0;

/// Asks a fresh process for twice the time as fast as it answers; the second half shows whether it goes on growing.
pub async fn measure(stand: &Stand, time: Duration) -> Line {
    let (mut binary, port) = stand.start("api", None).await;
    let mut clients = join_all((0..AT_ONCE).map(|_| stand.client(port))).await;
    let asked = AtomicU32::new(0);
    flood(&mut clients, Duration::from_millis(500), &asked, stand).await;
    let before = process::resident_megabytes(binary.pid());
    flood(&mut clients, time, &asked, stand).await;
    let half = process::resident_megabytes(binary.pid());
    flood(&mut clients, time, &asked, stand).await;
    let (peak, after) = (process::peak_megabytes(binary.pid()), process::resident_megabytes(binary.pid()));
    let asked = f64::from(asked.load(Ordering::Relaxed));
    let key_minutes = (time * 2).as_secs_f64() / 60.0 * KEY_PER_MINUTE;
    let times = asked / f64::from(KEYED) / key_minutes;
    binary.terminate(time);
    Line {
        row: "flood",
        on: format!("PostgreSQL, {:.0} addresses, one key at {times:.0} × its limit", asked - asked / f64::from(KEYED)),
        goal: "≤ 64 MB more, at 10 × the limits",
        ours: format!("{before:.0} MB before, {half:.0} half way, {peak:.0} at most, {after:.0} after"),
        bare: "a process that nobody asks: the same".to_owned(),
        ratio: percent(peak, before),
        met: Some(peak - before <= MEGABYTES_MAX && times >= 10.0),
    }
}

async fn flood(clients: &mut [Client], time: Duration, asked: &AtomicU32, stand: &Stand) {
    let (start, key) = (Instant::now(), &(stand.key.clone(), None));
    // A wrong token is counted by its address alone: a look at the database for each would make a small flood.
    let guess = &("e30.e30.e30".to_owned(), None);
    let all = clients.iter_mut().map(|client| async move {
        while start.elapsed() < time {
            let number = asked.fetch_add(1, Ordering::Relaxed);
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
