//! How a mail leaves: by a command of the machine, or by a mail server.

use std::process::Stdio;
use std::time::Duration;

use lettre::address::Envelope;
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::config::mail::Mail;
use crate::failure::Failure;

const SECONDS_MAX: u64 = 30;

/// What sends mails.
pub enum Sender {
    /// A command that takes a message on its standard input.
    Command(String),
    /// A mail server, and the address that mails are from.
    Server(Box<AsyncSmtpTransport<Tokio1Executor>>, String),
    /// Nothing.
    Nobody,
}

/// Why a mail is not known to be sent.
pub struct Unsent {
    /// Whether it may be out all the same.
    pub is_doubtful: bool,
    /// The cause, for the log.
    pub cause: String,
}

impl Unsent {
    fn refused(cause: impl ToString) -> Self {
        Self { is_doubtful: false, cause: cause.to_string() }
    }
}

impl Sender {
    /// The sender of this configuration.
    pub fn new(mail: &Mail) -> Result<Self, Failure> {
        match mail.smtp_url.get() {
            Some(url) => {
                let server = AsyncSmtpTransport::<Tokio1Executor>::from_url(url)
                    .map_err(|error| Failure::new(format!("mail.smtp_url cannot be used: {error}.")))?;
                let server = server.timeout(Some(Duration::from_secs(SECONDS_MAX))).build();
                Ok(Self::Server(Box::new(server), mail.from.clone()))
            }
            None if mail.command.is_empty() => Ok(Self::Nobody),
            None => Ok(Self::Command(mail.command.clone())),
        }
    }

    /// Sends one message.
    pub async fn send(&self, to: &str, message: &str) -> Result<(), Unsent> {
        let sent = async {
            match self {
                Self::Nobody => Ok(()),
                Self::Command(command) => by_command(command, message).await,
                Self::Server(server, from) => by_server(server, (from, to), message).await,
            }
        };
        let late = format!("it took longer than {SECONDS_MAX} s");
        let limit = Duration::from_secs(SECONDS_MAX);
        tokio::time::timeout(limit, sent).await.unwrap_or(Err(Unsent { is_doubtful: true, cause: late }))
    }
}

async fn by_command(command: &str, message: &str) -> Result<(), Unsent> {
    let mut words = command.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().map_err(Unsent::refused)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(message.as_bytes()).await.map_err(Unsent::refused)?;
    }
    match child.wait().await {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Unsent::refused(format!("the command ended with {status}"))),
        Err(error) => Err(Unsent::refused(error)),
    }
}

async fn by_server(
    server: &AsyncSmtpTransport<Tokio1Executor>,
    (from, to): (&str, &str),
    message: &str,
) -> Result<(), Unsent> {
    let from = from.parse().map_err(Unsent::refused)?;
    let to = to.parse().map_err(Unsent::refused)?;
    let envelope = Envelope::new(Some(from), vec![to]).map_err(Unsent::refused)?;
    match server.send_raw(&envelope, message.as_bytes()).await {
        Ok(_) => Ok(()),
        // The server said no, or nothing reached it. Anything else may have ended behind the last byte.
        Err(error) => {
            let is_refused = error.is_transient() || error.is_permanent() || error.is_client();
            Err(Unsent { is_doubtful: !is_refused, cause: error.to_string() })
        }
    }
}
