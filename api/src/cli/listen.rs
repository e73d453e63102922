//! `muniment listen`: prints the events of an API key as they happen, and forwards each to a developer's own server, signed as a webhook.

use std::time::Duration;

use clap::Args;
use muniment_activities::delivery::{EventStream, Message, NoStream};
use serde_json::Value;

use super::forward::{Event, Forward};
use crate::cli::output;
use crate::failure::Failure;

/// The pause before a broken stream is opened again.
const RECONNECT: Duration = Duration::from_secs(2);

/// The arguments of `muniment listen`.
#[derive(Debug, PartialEq, Eq, Args)]
pub struct Listen {
    /// Post each event to this URL, with a Standard Webhooks signature.
    #[arg(long, value_name = "URL")]
    pub forward_to: Option<String>,
    /// Address of the API.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub api_url: String,
    /// API key with the scope webhooks:write.
    #[arg(long, value_name = "KEY", env = "MUNIMENT_API_KEY", hide_env_values = true)]
    pub api_key: String,
    /// Only events of this type.
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Sign with this secret, whsec_ and base64; a new one if absent.
    #[arg(long, value_name = "SECRET")]
    pub secret: Option<String>,
}

/// Listens until the process is ended, or an event finds nobody who reads its line. A broken stream is continued after its last event.
pub async fn run(wanted: &Listen) -> Result<(), Failure> {
    let forward = wanted.forward_to.as_deref().map(|url| Forward::new(url, wanted.secret.as_deref())).transpose()?;
    let query = wanted.kind.as_ref().map(|kind| {
        let kind: String = form_urlencoded::byte_serialize(kind.as_bytes()).collect();
        format!("?type={kind}")
    });
    let url = format!("{}/v1/events{}", wanted.api_url.trim_end_matches('/'), query.unwrap_or_default());
    let mut last: Option<String> = None;
    loop {
        match EventStream::open(&url, &wanted.api_key, last.as_deref()).await {
            Ok(stream) => {
                if last.is_none() && !output::print(&format!("Listening at {}. Ctrl-C ends.\n", wanted.api_url))? {
                    return Ok(());
                }
                let Some(why) = follow(stream, forward.as_ref(), &mut last).await? else { return Ok(()) };
                eprintln!("The stream ended ({why}). It is opened again.");
            }
            Err(NoStream::Refused(status, body)) if last.is_none() || (status < 500 && status != 429) => {
                return Err(refused(status, &body));
            }
            Err(NoStream::Silent(why)) if last.is_none() => {
                let detail =
                    format!("The API at {} does not answer: {why}. Name its address with --api-url.", wanted.api_url);
                return Err(Failure::new(detail));
            }
            Err(NoStream::Refused(status, _)) => eprintln!("The API answered {status}. It is asked again."),
            Err(NoStream::Silent(why)) => eprintln!("The API does not answer: {why}. It is asked again."),
        }
        tokio::time::sleep(RECONNECT).await;
    }
}

/// Prints and forwards until the stream ends. Returns why, or nothing if nobody reads the output.
async fn follow(
    mut stream: EventStream,
    forward: Option<&Forward<'_>>,
    last: &mut Option<String>,
) -> Result<Option<String>, Failure> {
    loop {
        let Message { id, data } = match stream.next().await {
            Ok(Some(message)) => message,
            Ok(None) => return Ok(Some("the API closed it".to_owned())),
            Err(why) => return Ok(Some(why)),
        };
        if let Some(event) = data.and_then(|data| serde_json::from_str::<Event>(&data).ok()) {
            let answer = match forward {
                Some(forward) => format!("  {}", forward.send(&event).await.text),
                None => String::new(),
            };
            let line = format!("{}  {}  {}  {}{answer}\n", event.timestamp, event.id, event.kind, event.data);
            if !output::print(&line)? {
                return Ok(None);
            }
        }
        // Only now: what was not forwarded yet is read again by the next stream.
        *last = id.or(last.take());
    }
}

fn refused(status: u16, body: &str) -> Failure {
    let problem: Value = serde_json::from_str(body).unwrap_or_default();
    let why = problem["detail"].as_str().or(problem["title"].as_str()).unwrap_or("there is no explanation");
    let code = problem["code"].as_str().unwrap_or("unknown");
    Failure::new(format!("The API refused the stream with {status} {code}: {why}"))
}
