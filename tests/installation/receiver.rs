//! A server that receives webhooks, and answers as it is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How it answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// With this status and these header lines.
    Status(u16, &'static str),
    /// With 200, after so long.
    Late(Duration),
    /// Not at all.
    Hang,
    /// By closing the connection.
    Drop,
    /// With bytes that are no HTTP.
    Garbage,
    /// With a body of this many bytes.
    Huge(usize),
}

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// A receiver on a port of its own.
#[derive(Clone)]
pub struct Receiver {
    pub port: u16,
    reply: Arc<Mutex<Reply>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Received {
    /// A header, by its lower-case name.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// A text of the body.
    pub fn text(&self, pointer: &str) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap();
        body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

impl Receiver {
    /// Listens, and answers 200.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let receiver = Self { port, reply: Arc::new(Mutex::new(Reply::Status(200, ""))), received: Arc::default() };
        let own = receiver.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let own = own.clone();
                tokio::spawn(async move { own.serve(socket).await });
            }
        });
        receiver
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/in", self.port)
    }

    /// Answers so from now on.
    pub fn reply(&self, reply: Reply) {
        *self.reply.lock().unwrap() = reply;
    }

    /// The requests so far.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// How many requests named an event of this type.
    pub fn count(&self, kind: &str) -> usize {
        self.received().iter().filter(|request| request.text("/type") == kind).count()
    }

    async fn serve(&self, mut socket: TcpStream) -> Option<()> {
        let mut bytes = Vec::new();
        loop {
            let end = loop {
                match bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                    Some(end) => break end + 4,
                    None if socket.read_buf(&mut bytes).await.ok()? == 0 => return None,
                    None => {}
                }
            };
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let lines = head.lines().skip(1).filter_map(|line| line.split_once(": "));
            let headers: Vec<_> = lines.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let length: usize = length.map_or(0, |(_, length)| length.parse().unwrap());
            while bytes.len() < end + length {
                if socket.read_buf(&mut bytes).await.ok()? == 0 {
                    return None;
                }
            }
            let body = String::from_utf8(bytes[end..end + length].to_vec()).unwrap();
            bytes.drain(..end + length);
            self.received.lock().unwrap().push(Received { headers, body });
            let answer = |status: u16, lines: &str| {
                format!("HTTP/1.1 {status} Answer\r\n{lines}content-length: 6\r\n\r\nanswer")
            };
            let reply = self.reply.lock().unwrap().clone();
            match reply {
                Reply::Status(status, lines) => socket.write_all(answer(status, lines).as_bytes()).await.ok()?,
                Reply::Late(time) => {
                    tokio::time::sleep(time).await;
                    socket.write_all(answer(200, "").as_bytes()).await.ok()?;
                }
                Reply::Hang => tokio::time::sleep(Duration::from_secs(600)).await,
                Reply::Drop => return None,
                Reply::Garbage => {
                    socket.write_all(b"\x16\x03\x01 garbage\xff\r\n\r\n").await.ok()?;
                    return None;
                }
                Reply::Huge(size) => {
                    socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
                    _ = socket.write_all(&vec![b'x'; size]).await;
                    return None;
                }
            }
        }
    }
}
