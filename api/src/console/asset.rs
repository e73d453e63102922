//! The style sheets, the script and the icon. They are part of the binary, and their addresses hold their hash, so browsers keep them for good.

use std::sync::LazyLock;

use alloy_primitives::hex;
use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::code::Code;
use crate::http::error::Problem;

const KEPT: &str = "public, max-age=31536000, immutable";
const HASH_CHARACTERS: usize = 12;

struct Asset {
    stem: &'static str,
    ending: &'static str,
    media_type: &'static str,
    bytes: &'static [u8],
}

static ASSETS: [Asset; 4] = [
    Asset { stem: "console", ending: "css", media_type: "text/css", bytes: include_bytes!("assets/console.css") },
    Asset { stem: "parts", ending: "css", media_type: "text/css", bytes: include_bytes!("assets/parts.css") },
    Asset { stem: "console", ending: "js", media_type: "text/javascript", bytes: include_bytes!("assets/console.js") },
    Asset { stem: "icon", ending: "svg", media_type: "image/svg+xml", bytes: include_bytes!("assets/icon.svg") },
];

/// The addresses that pages name.
pub struct Addresses {
    /// Tokens, layout and the parts that every page has.
    pub style: String,
    /// The parts of single pages.
    pub parts: String,
    /// Keys, copying and live updates.
    pub script: String,
    /// The icon.
    pub icon: String,
}

/// The addresses of this binary.
pub static ADDRESSES: LazyLock<Addresses> = LazyLock::new(|| {
    let at = |index: usize| format!("/console/assets/{}", name(&ASSETS[index]));
    Addresses { style: at(0), parts: at(1), script: at(2), icon: at(3) }
});

fn name(asset: &Asset) -> String {
    let hash = hex::encode(Sha256::digest(asset.bytes));
    format!("{}-{}.{}", asset.stem, &hash[..HASH_CHARACTERS], asset.ending)
}

/// Serves one of them.
pub async fn serve(Path(wanted): Path<String>) -> Result<Response, Problem> {
    let found = ASSETS.iter().find(|asset| name(asset) == wanted);
    let asset = found.ok_or_else(|| Problem::new(Code::NotFound, "The console has no such file."))?;
    Ok(([(header::CONTENT_TYPE, asset.media_type), (header::CACHE_CONTROL, KEPT)], asset.bytes).into_response())
}
