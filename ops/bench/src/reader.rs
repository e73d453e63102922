//! A person at the console: one connection, the cookie of a session, and what comes over the wire.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::installation::PASSWORD;

const PATIENCE: Duration = Duration::from_secs(30);

/// The person.
pub struct Reader {
    port: u16,
    stream: BufReader<TcpStream>,
    cookie: String,
}

/// What they are sent.
pub struct Seen {
    /// The status.
    pub status: u16,
    /// The head of the answer.
    pub head: String,
    /// The body as it was sent.
    pub body: Vec<u8>,
}

impl Reader {
    /// Signs in by the form of the page.
    pub async fn sign_in(port: u16, email: &str) -> Self {
        let mut reader = Self { port, stream: connected(port).await, cookie: String::new() };
        let encoded = |text: &str| text.replace('@', "%40").replace(' ', "+");
        let form = format!("email={}&password={}", encoded(email), encoded(PASSWORD));
        let head = format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n", form.len());
        let seen = reader.exchange("POST", "/console/sign-in", &head, &form).await;
        let cookies = seen.head.lines().filter_map(|line| line.strip_prefix("set-cookie: muniment_console="));
        let session = cookies.filter_map(|cookie| cookie.split(';').next()).next().unwrap_or_default();
        assert!(seen.status == 303 && !session.is_empty(), "nobody is signed in: {} {}", seen.status, seen.head);
        reader.cookie = format!("muniment_console={session}");
        reader
    }

    /// The same session on another connection.
    pub async fn again(&self) -> Self {
        Self { port: self.port, stream: connected(self.port).await, cookie: self.cookie.clone() }
    }

    /// Gets a page as it is, which must be there.
    pub async fn page(&mut self, path: &str) -> String {
        let seen = self.exchange("GET", path, "", "").await;
        assert_eq!(seen.status, 200, "{path}: {}", seen.head);
        String::from_utf8(seen.body).expect("a page is text")
    }

    /// Gets a page or a file as a browser does; how many bytes came.
    pub async fn bytes(&mut self, path: &str) -> usize {
        let seen = self.exchange("GET", path, "Accept-Encoding: gzip\r\n", "").await;
        assert_eq!(seen.status, 200, "{path}: {}", seen.head);
        seen.head.len() + seen.body.len()
    }

    /// Opens the stream of a live page, and reads its beginning.
    pub async fn listen(&mut self) {
        self.send("GET", "/console/live", "", "").await;
        assert!(self.head().await.starts_with("HTTP/1.1 200"), "the stream does not open");
        self.hear("event: open").await;
    }

    /// Waits until the stream says this.
    pub async fn hear(&mut self, words: &str) {
        let heard = async {
            let mut line = String::new();
            while !line.contains(words) {
                line.clear();
                assert!(
                    self.stream.read_line(&mut line).await.expect("the stream goes on") > 0,
                    "the stream has ended"
                );
            }
        };
        timeout(PATIENCE, heard).await.expect("the stream says it");
    }

    async fn exchange(&mut self, method: &str, path: &str, more: &str, body: &str) -> Seen {
        self.send(method, path, more, body).await;
        let head = self.head().await;
        let number = |text: &str| text.trim().parse::<usize>().ok();
        let length = head.lines().find_map(|line| number(line.strip_prefix("content-length:")?));
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).await.expect("the console answers in full");
        Seen { status: head.get(9..12).and_then(number).map_or(0, |status| status as u16), head, body }
    }

    async fn send(&mut self, method: &str, path: &str, more: &str, body: &str) {
        let cookie = if self.cookie.is_empty() { String::new() } else { format!("Cookie: {}\r\n", self.cookie) };
        let request = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{cookie}{more}\r\n{body}", self.port);
        self.stream.write_all(request.as_bytes()).await.expect("the console reads");
    }

    async fn head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(
                self.stream.read_line(&mut head).await.expect("the console answers") > 0,
                "the connection has ended"
            );
        }
        head
    }
}

async fn connected(port: u16) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("the interface listens");
    stream.set_nodelay(true).expect("a connection takes options");
    BufReader::new(stream)
}
