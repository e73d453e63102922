use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A receiver that answers every connection with these bytes, and counts the connections.
async fn receiver(answer: Vec<u8>) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, seen) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let counted = seen.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut request = [0; 4096];
                _ = socket.read(&mut request).await;
                _ = socket.write_all(&answer).await;
                // A receiver that says nothing hangs.
                if answer.is_empty() {
                    tokio::time::sleep(SECOND * 60).await;
                }
            });
        }
    });
    (port, seen)
}

async fn post(answer: &[u8]) -> Answer {
    let (port, _) = receiver(answer.to_vec()).await;
    let poster = Poster::new(SECOND, system_lookup(), |_| true).unwrap();
    poster.post(&format!("http://localhost:{port}/in"), &[], "{}".to_owned()).await
}

#[tokio::test]
async fn every_kind_of_answer_has_a_status_or_a_fault() {
    let ok = post(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone").await;
    assert_eq!((ok.status, ok.fault, ok.response.as_str()), (Some(200), None, "done"));
    let limited = post(b"HTTP/1.1 429 Too Many\r\nretry-after: 77\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!((limited.status, limited.retry_after.as_deref()), (Some(429), Some("77")));
    // A redirect is an answer like any other, and is not followed.
    let moved = post(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!((moved.status, moved.fault), (Some(302), None));
    assert_eq!(post(b"\x00\x01 garbage \xff\r\n\r\n").await.fault, Some("protocol"));
    assert_eq!(post(b"").await.fault, Some("timeout"));
    let huge = [b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &vec![b'x'; 32 << 20]].concat();
    let huge = post(&huge).await;
    assert_eq!((huge.status, huge.response.len()), (Some(200), KEPT_BYTES_MAX));
    let nothing = Poster::new(SECOND, system_lookup(), |_| true).unwrap();
    assert_eq!(nothing.post("http://localhost:1/in", &[], String::new()).await.fault, Some("connect"));
}

#[tokio::test]
async fn a_name_that_moves_to_a_private_address_is_refused_at_the_next_attempt() {
    let (port, seen) = receiver(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec()).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    // The first look-up says the address of the receiver, each later one adds a private address.
    let lookup: Lookup = Arc::new(move |_| {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let found = match counted.fetch_add(1, Ordering::SeqCst) {
            0 => vec![here],
            _ => vec![here, IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))],
        };
        async move { Ok(found) }.boxed()
    });
    let poster = Poster::new(SECOND, lookup, |address| address.is_loopback()).unwrap();
    let url = format!("http://hooks.portal.example:{port}/in");
    assert_eq!(poster.post(&url, &[], String::new()).await.status, Some(200));
    assert_eq!(poster.post(&url, &[], String::new()).await.fault, Some("forbidden_address"));
    // One look-up for each connection: what was vetted is what was connected to.
    assert_eq!((asked.load(Ordering::SeqCst), seen.load(Ordering::SeqCst)), (2, 1));
}
