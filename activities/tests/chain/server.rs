//! A fake HTTP node that can also be slow or broken.
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::node::FakeNode;

/// How the server answers.
pub enum Manner {
    Honest,
    Status(u16, &'static str),
    Hang,
    Close,
    Text(&'static str),
    Endless,
}

pub struct Server {
    pub url: String,
    pub requests: Arc<AtomicUsize>,
    pub manner: Arc<std::sync::Mutex<Manner>>,
}

impl Server {
    pub async fn start(manner: Manner) -> Server {
        let node = Arc::new(FakeNode::new());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://127.0.0.1:{}/v3/secret-0123456789", listener.local_addr().unwrap().port());
        let requests = Arc::new(AtomicUsize::new(0));
        let manner = Arc::new(std::sync::Mutex::new(manner));
        let (served, counter, manners) = (node, requests.clone(), manner.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, served.clone(), counter.clone(), manners.clone()));
            }
        });
        Server { url, requests, manner }
    }

    pub fn turns(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

async fn serve(
    mut stream: TcpStream,
    node: Arc<FakeNode>,
    requests: Arc<AtomicUsize>,
    manner: Arc<std::sync::Mutex<Manner>>,
) {
    while let Some(body) = read_body(&mut stream).await {
        requests.fetch_add(1, Ordering::SeqCst);
        let reply = match &*manner.lock().unwrap() {
            Manner::Honest => {
                let request: Value = serde_json::from_slice(&body).unwrap();
                http(200, "", &node.answer(&request).to_string())
            }
            Manner::Status(status, headers) => http(*status, headers, "go away"),
            Manner::Text(text) => http(200, "", text),
            Manner::Close => return,
            Manner::Hang => String::new(),
            Manner::Endless => "HTTP/1.1 200 OK\r\n\r\n".into(),
        };
        if reply.is_empty() {
            return std::future::pending().await;
        }
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
        if !reply.contains("content-length") {
            let chunk = vec![b' '; 1 << 20];
            while stream.write_all(&chunk).await.is_ok() {}
            return;
        }
    }
}

fn http(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

async fn read_body(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length: usize = head.split("content-length: ").nth(1)?.lines().next()?.trim().parse().ok()?;
            while bytes.len() < end + 4 + length {
                if stream.read_buf(&mut bytes).await.ok()? == 0 {
                    return None;
                }
            }
            return Some(bytes.split_off(end + 4));
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
