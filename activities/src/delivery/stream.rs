//! Reads a stream of server-sent events: the events of this platform, for the command that forwards them to a developer's own server.

use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Client, Response};

use crate::rpc::transport::tls;

const CONNECT: Duration = Duration::from_secs(5);
/// A stream that is silent for longer has broken: the platform sends a comment every ten seconds.
const SILENCE: Duration = Duration::from_secs(35);
/// The largest message.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// An open stream.
pub struct EventStream {
    response: Response,
    bytes: Vec<u8>,
}

/// A message. An opening has an id and no data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Where to continue from.
    pub id: Option<String>,
    /// The event.
    pub data: Option<String>,
}

/// Why there is no stream.
#[derive(Clone, Debug)]
pub enum NoStream {
    /// The platform answered this status and body.
    Refused(u16, String),
    /// There was no answer.
    Silent(String),
}

impl EventStream {
    /// Opens a stream with an API key, after a message with this id.
    pub async fn open(url: &str, key: &str, after: Option<&str>) -> Result<Self, NoStream> {
        let silent = |error: reqwest::Error| NoStream::Silent(cause(&error));
        let client = Client::builder().tls_backend_preconfigured(tls().map_err(NoStream::Silent)?);
        let client = client.no_proxy().connect_timeout(CONNECT).read_timeout(SILENCE).build().map_err(silent)?;
        let mut request =
            client.get(url).bearer_auth(key).header(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = after {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.map_err(silent)?;
        match response.status().as_u16() {
            200 => Ok(Self { response, bytes: Vec::new() }),
            status => Err(NoStream::Refused(status, response.text().await.unwrap_or_default())),
        }
    }

    /// The next message. None at the end of the stream.
    pub async fn next(&mut self) -> Result<Option<Message>, String> {
        loop {
            if let Some(end) = self.bytes.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.bytes.drain(..end + 2).collect();
                let message = read(&String::from_utf8_lossy(&block));
                if message != Message::default() {
                    return Ok(Some(message));
                }
                continue;
            }
            if self.bytes.len() > MESSAGE_BYTES_MAX {
                return Err("a message is too long".to_owned());
            }
            match self.response.chunk().await.map_err(|error| cause(&error))? {
                Some(chunk) => self.bytes.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }
}

fn read(block: &str) -> Message {
    let mut message = Message::default();
    for line in block.lines() {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => message.id = Some(value.to_owned()),
            "data" => message.data = Some(message.data.map_or_else(String::new, |data| data + "\n") + value),
            // Comments, and fields that the platform does not need here.
            _ => {}
        }
    }
    message
}

/// The innermost cause, which names what failed.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_message_are_read_and_comments_are_none() {
        let message =
            |id: Option<&str>, data: Option<&str>| Message { id: id.map(str::to_owned), data: data.map(str::to_owned) };
        assert_eq!(read(": open\nid: evt_1\nretry: 2000\n\n"), message(Some("evt_1"), None));
        assert_eq!(read("id: evt_2\ndata: {\ndata: }\n\n"), message(Some("evt_2"), Some("{\n}")));
        assert_eq!(read("data:x\n\n"), message(None, Some("x")));
        assert_eq!(read(": waiting\n\n"), Message::default());
    }
}
