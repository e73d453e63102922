//! JSON-RPC over one kept-alive connection, blocking; and our own server in a thread.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use muniment_devchain::{Config, Devchain};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub fn connect(address: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    pub fn post(&mut self, body: &str) -> std::io::Result<Value> {
        let head = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.stream.get_mut().write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(serde_json::from_slice(&body).unwrap())
    }

    /// The whole response but for its id and version.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut response = self.post(&request.to_string()).unwrap();
        let members = response.as_object_mut().unwrap();
        assert_eq!(members.remove("jsonrpc"), Some(json!("2.0")));
        assert_eq!(members.remove("id"), Some(json!(1)));
        response
    }

    /// The result of a call that must succeed.
    pub fn ok(&mut self, method: &str, params: Value) -> Value {
        let mut response = self.call(method, params);
        assert!(response.get("error").is_none(), "{method}: {response}");
        response["result"].take()
    }
}

/// A served chain, shut down when dropped.
pub struct Served {
    pub address: String,
    shutdown: CancellationToken,
    thread: Option<std::thread::JoinHandle<()>>,
}

pub fn serve(config: Config) -> Served {
    let shutdown = CancellationToken::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let stop = shutdown.clone();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let chain = Devchain::open(config).unwrap();
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap().to_string()).unwrap();
            chain.serve(listener, stop).await.unwrap();
        });
    });
    Served { address: receiver.recv().unwrap(), shutdown, thread: Some(thread) }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.shutdown.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
