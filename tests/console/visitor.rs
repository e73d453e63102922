//! A person without JavaScript: follows addresses, keeps cookies, sends the forms of pages.

use std::collections::BTreeMap;

use muniment_domain::user::Role;
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};

use world::http_client_builder;

use crate::installation::{Installation, PASSWORD, Server};

/// The person. A clone is another window of the same browser.
#[derive(Clone)]
pub struct Visitor {
    url: String,
    client: reqwest::Client,
    cookies: BTreeMap<String, String>,
}

/// What they see.
#[derive(Debug)]
pub struct Seen {
    pub status: u16,
    pub location: String,
    pub text: String,
    pub cookies: Vec<String>,
    pub policy: String,
}

impl Visitor {
    /// Nobody yet.
    pub fn new(server: &Server) -> Self {
        let client = http_client_builder().redirect(reqwest::redirect::Policy::none());
        Self { url: server.url.clone(), client: client.build().unwrap(), cookies: BTreeMap::new() }
    }

    /// Somebody with this role, signed in.
    pub async fn with_role(site: &Installation, server: &Server, name: &str, role: Role) -> Self {
        let person = site.person(server, name, role).await;
        let mut visitor = Self::new(server);
        visitor.sign_in(&person.email).await;
        visitor
    }

    /// Signs in by the form.
    pub async fn sign_in(&mut self, email: &str) -> Seen {
        let fields = [("email", email), ("password", PASSWORD), ("next", "/console/operations")];
        let seen = self.post("/console/sign-in", &fields).await;
        assert_eq!((seen.status, seen.location.as_str()), (303, "/console/operations"), "{seen:?}");
        seen
    }

    pub async fn get(&mut self, path: &str) -> Seen {
        let request = self.client.get(format!("{}{path}", self.url));
        self.send(request).await
    }

    /// Reads a page as its script does when something has changed.
    pub async fn reload(&mut self, path: &str) -> Seen {
        let request = self.client.get(format!("{}{path}", self.url)).header("x-console-live", "1");
        self.send(request).await
    }

    /// Sends fields as a form.
    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Seen {
        self.post_from(None, path, fields).await
    }

    /// Does so with the header that tells a browser's page.
    pub async fn post_from(&mut self, page: Option<(&str, &str)>, path: &str, fields: &[(&str, &str)]) -> Seen {
        let encode = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        let body: Vec<_> = fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        let mut request = self.client.post(format!("{}{path}", self.url));
        if let Some((header, value)) = page {
            request = request.header(header, value);
        }
        self.send(request.header("content-type", "application/x-www-form-urlencoded").body(body.join("&"))).await
    }

    /// Sends the form of a page that stands open.
    pub async fn submit(&mut self, page: &Seen, path: &str, fields: &[(&str, &str)]) -> Seen {
        let form = page.text.split(&format!("method=\"post\" action=\"{path}\"")).nth(1);
        let form = form.unwrap_or_else(|| panic!("no form to {path}: {}", page.text)).split("</form>").next().unwrap();
        let hidden = hidden(form);
        let given = |name: &str| fields.iter().any(|(known, _)| *known == name);
        let mut all: Vec<(&str, &str)> = hidden.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        all.retain(|(name, _)| !given(name));
        all.extend(fields);
        self.post(path, &all).await
    }

    async fn send(&mut self, request: reqwest::RequestBuilder) -> Seen {
        let response = request.header(COOKIE, self.cookie()).send().await.unwrap();
        let headers = response.headers().clone();
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let set: Vec<_> = headers.get_all(SET_COOKIE).iter().map(|value| value.to_str().unwrap().to_owned()).collect();
        for cookie in &set {
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        let (location, policy) = (text(LOCATION), text(reqwest::header::CONTENT_SECURITY_POLICY));
        let status = response.status().as_u16();
        Seen { status, location, policy, cookies: set, text: response.text().await.unwrap() }
    }

    /// Opens the stream of a live page.
    pub async fn listen(&self) -> reqwest::Response {
        let request = self.client.get(format!("{}/console/live", self.url));
        request.header(COOKIE, self.cookie()).send().await.unwrap()
    }

    fn cookie(&self) -> String {
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        cookies.join("; ")
    }

    /// Forgets the session, as when it has ended.
    pub fn forget(&mut self) {
        self.cookies.remove("muniment_console");
    }
}

/// The value of a hidden field of the page's own form.
pub fn field(page: &Seen, name: &str) -> String {
    let main = page.text.split("<main").nth(1).unwrap();
    let value = main.split(&format!("<input type=\"hidden\" name=\"{name}\" value=\"")).nth(1);
    value.unwrap_or_else(|| panic!("no {name}: {}", page.text)).split('"').next().unwrap().to_owned()
}

/// The hidden fields of a form.
fn hidden(form: &str) -> Vec<(String, String)> {
    let fields = form.split("<input type=\"hidden\" name=\"").skip(1);
    fields
        .map(|field| {
            let (name, rest) = field.split_once("\" value=\"").unwrap();
            (name.to_owned(), rest.split('"').next().unwrap().to_owned())
        })
        .collect()
}
