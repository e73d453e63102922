// Shows /openapi.json. Text is only ever set as text, so nothing in the document or in an answer can become markup.

const METHODS = ["get", "post", "put", "patch", "delete"];
const byId = (id) => document.getElementById(id);

function make(tag, properties = {}, ...children) {
  const { data, ...own } = properties;
  const element = Object.assign(document.createElement(tag), own);
  Object.assign(element.dataset, data);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const specification = await (await fetch("/openapi.json")).json();

const named = ([path, methods]) => METHODS.filter((method) => methods[method]).map((method) => [methods[method].operationId, `${method.toUpperCase()} ${path}`]);
const routes = new Map(Object.entries(specification.paths).flatMap(named));

function resolve(node) {
  if (!node || !node.$ref) return node ?? {};
  return node.$ref.slice(2).split("/").reduce((at, part) => at?.[part], specification) ?? {};
}

// A schema in one line. A name stands for an object, whose fields follow it; what is a text or a number is called so.
function kind(schema) {
  if (!schema) return "";
  const known = resolve(schema);
  if (schema.$ref && (known.properties || known.allOf)) return schema.$ref.split("/").pop();
  if (schema.$ref) return kind(known);
  const ways = schema.oneOf ?? schema.anyOf;
  if (ways) return ways.map(kind).join(" | ");
  if (schema.allOf) return schema.allOf.map(kind).join(" & ");
  const named = { array: () => `list of ${kind(schema.items)}`, null: () => "null" };
  const types = [schema.type ?? "any"].flat();
  return types.map((type) => named[type]?.() ?? schema.format ?? type).join(" | ");
}

// What an item or a value is like, without the list and the null around it.
function inner(schema) {
  const known = resolve(schema);
  const way = known.oneOf?.find((one) => one.type !== "null") ?? known.items;
  return way ? inner(way) : known;
}

function range(least, most, noun) {
  if (least !== undefined && most !== undefined) return `${least} to ${most}${noun}`;
  if (least !== undefined) return `at least ${least}${noun}`;
  return most === undefined ? null : `at most ${most}${noun}`;
}

function limits(schema) {
  const list = resolve(schema);
  const one = inner(schema);
  return [
    one.enum && `One of ${one.enum.map((word) => `\`${word}\``).join(", ")}`,
    range(list.minItems, list.maxItems, " items"),
    range(one.minLength, one.maxLength, " characters"),
    range(one.minimum, one.maximum, ""),
    one.pattern && `Pattern \`${one.pattern}\``,
    one.default !== undefined && `Default ${one.default}`,
  ].filter(Boolean).map((text) => `${text[0].toUpperCase()}${text.slice(1)}.`).join(" ");
}

// The fields of an object, and those of the objects in it: no deeper than two names, because some hold each other.
function fields(schema, before = "") {
  const known = resolve(schema);
  const parts = known.allOf ?? known.oneOf;
  if (parts) return parts.flatMap((part) => fields(part, before));
  return Object.entries(known.properties ?? {}).flatMap(([name, field]) => {
    const own = { name: `${before}${name}`, field, required: known.required?.includes(name) };
    const list = resolve(field).items ? "[]" : "";
    return [own, ...(before ? [] : fields(inner(field), `${name}${list}.`))];
  });
}

// What stands between backticks is code.
function prose(text) {
  return (text ?? "").split("`").map((part, index) => (index % 2 ? make("code", { textContent: part }) : part));
}

function meaning(...sentences) {
  return make("span", {}, ...prose(sentences.filter(Boolean).join(" ")));
}

function row(...cells) {
  return make("tr", {}, ...cells.map((cell) => make("td", {}, cell)));
}

function table(caption, heads, rows) {
  if (rows.length === 0) return null;
  const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col", textContent: text })));
  return make("table", {}, make("caption", { textContent: caption, hidden: true }), make("thead", {}, head), make("tbody", {}, ...rows));
}

function schemaTable(caption, schema, always) {
  const rows = fields(schema).map(({ name, field, required }) =>
    row(make("code", { textContent: name }), kind(field), required ? always : "",
      meaning(field.description, limits(field), field["x-shown-to"] && `For ${field["x-shown-to"].join(" and ")} only.`)));
  return table(caption, ["Field", "Type", "", "Meaning"], rows);
}

// All refusals have the same fields, which are not shown again with each of them.
function content(message, always) {
  const [type, body] = Object.entries(message.content ?? {})[0] ?? [];
  if (!body) return null;
  const example = body.example ?? Object.values(body.examples ?? {})[0]?.value;
  return make("div", {}, make("p", {}, `${type}: ${kind(body.schema)}`),
    always ? schemaTable("Fields", body.schema, always) : null,
    example === undefined ? null : make("pre", { tabIndex: 0, textContent: JSON.stringify(example, null, 2) }));
}

// The codes of a refusal, each on its line.
function refusals(description) {
  const lines = description.split("\n").map((line) => line.replace(/^- /, ""));
  return make("ul", {}, ...lines.map((line) => make("li", {}, ...prose(line))));
}

// The routes of what an answer holds.
function leads(response) {
  const ids = Object.keys(response.links ?? {});
  if (ids.length === 0) return null;
  const links = ids.map((id) => make("li", {}, make("a", { href: `#${id}`, textContent: routes.get(id) ?? id })));
  return make("details", {}, make("summary", { textContent: "Leads to" }), make("ul", {}, ...links));
}

function answers(operation) {
  return Object.entries(operation.responses).map(([status, reference]) => {
    const response = resolve(reference);
    const title = status < 400 ? response.description : Object.keys(Object.values(response.content ?? {})[0]?.examples ?? {}).join(", ");
    return make("details", {}, make("summary", {}, make("code", { textContent: status }), ` ${title}`),
      status < 400 ? null : refusals(response.description), leads(response), content(response, status < 400 && "always"));
  });
}

async function csrfToken(token) {
  const answer = await fetch("/v1/csrf-token", { headers: { Authorization: `Bearer ${token}` } });
  return answer.ok ? (await answer.json()).csrfToken : null;
}

// The request of a filled form, without what only the session knows.
function request(path, operation, form) {
  const headers = new Headers();
  const query = new URLSearchParams();
  let url = path;
  for (const parameter of operation.parameters.map(resolve)) {
    const value = form.elements.namedItem(parameter.name)?.value ?? "";
    if (parameter.in === "path") url = url.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (value && parameter.in === "query") query.set(parameter.name, value);
    else if (value) headers.set(parameter.name, value);
  }
  const body = form.elements.namedItem("body")?.value || undefined;
  if (body) headers.set("Content-Type", "application/json");
  return { url: query.size ? `${url}?${query}` : url, headers, body };
}

// The same for a shell. The token stays out of it: it is in the variable TOKEN, and a session's CSRF token in CSRF.
function curl(method, path, operation, form) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const { url, headers, body } = request(path, operation, form);
  const lines = [`curl -sS -X ${method.toUpperCase()} ${quoted(location.origin + decodeURI(url))}`];
  if (operation.security?.length !== 0) lines.push('-H "Authorization: Bearer $TOKEN"');
  if (operation.parameters.map(resolve).some((parameter) => parameter.name === "X-CSRF-Token")) lines.push('-H "X-CSRF-Token: $CSRF"');
  for (const [name, value] of headers) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body) lines.push(`-d ${quoted(body)}`);
  return lines.join(" \\\n  ");
}

async function send(method, path, operation, form, shown) {
  const { url, headers, body } = request(path, operation, form);
  const token = byId("token").value.trim();
  if (token) headers.set("Authorization", `Bearer ${token}`);
  if (token && method !== "get" && !token.startsWith("rap_") && !headers.has("X-CSRF-Token")) {
    const csrf = await csrfToken(token);
    if (csrf) headers.set("X-CSRF-Token", csrf);
  }
  const answer = await fetch(url, { method: method.toUpperCase(), headers, body });
  const text = await answer.text();
  const pretty = answer.headers.get("content-type")?.includes("json") ? JSON.stringify(JSON.parse(text), null, 2) : text;
  shown.textContent = `${answer.status} ${answer.statusText}\n${[...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n")}\n\n${pretty}`;
}

function trial(method, path, operation) {
  const inputs = operation.parameters.map(resolve).filter((parameter) => parameter.name !== "X-CSRF-Token").map((parameter) => {
    const fresh = parameter.name === "Idempotency-Key" ? crypto.randomUUID() : "";
    return make("label", {}, `${parameter.name} (${parameter.in})`,
      make("input", { name: parameter.name, value: fresh, placeholder: parameter.example ?? "", required: parameter.in === "path" }));
  });
  const example = operation.requestBody?.content["application/json"].example;
  const shown = make("pre", { tabIndex: 0, ariaLive: "polite", hidden: true });
  const form = make("form", {}, ...inputs,
    example === undefined ? null : make("label", {}, "Body", make("textarea", { name: "body", spellcheck: false, value: JSON.stringify(example, null, 2) })),
    make("button", { textContent: "Send" }));
  const shell = make("pre", { tabIndex: 0 });
  const told = () => { shell.textContent = curl(method, path, operation, form); };
  form.addEventListener("input", told);
  told();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    shown.hidden = false;
    shown.textContent = "Waiting for the answer.";
    try {
      await send(method, path, operation, form, shown);
    } catch (error) {
      shown.textContent = `No answer came: ${error.message}`;
    }
  });
  return make("details", {}, make("summary", { textContent: "Try it" }), form, shown, make("p", {}, "In a shell:"), shell);
}

function inside(method, path, operation) {
  const parameters = operation.parameters.map(resolve).map((parameter) =>
    row(make("code", { textContent: parameter.name }), parameter.in, parameter.required ? "required" : "",
      meaning(parameter.description, limits(parameter.schema ?? {}))));
  return make("div", { className: "inside" }, make("p", {}, ...prose(operation.description)),
    parameters.length ? make("h3", { textContent: "Parameters" }) : null, table("Parameters", ["Name", "In", "", "Meaning"], parameters),
    operation.requestBody ? make("h3", { textContent: "Body" }) : null, operation.requestBody ? content(operation.requestBody, "required") : null,
    make("h3", { textContent: "Answers" }), ...answers(operation), trial(method, path, operation));
}

// What is inside is made when it is opened first: a page of everything at once would be slow to read, for people and for browsers.
function entry(method, path, operation) {
  const words = `${method} ${path} ${operation.summary} ${JSON.stringify(operation.responses)}`;
  const codes = Object.values(operation.responses).map((answer) => resolve(answer).description).join(" ");
  const summary = make("summary", {}, make("b", { className: `method ${method}`, textContent: method.toUpperCase() }),
    make("code", { textContent: path }), make("span", { textContent: operation.summary }));
  const details = make("details", { className: "operation", id: operation.operationId, data: { words: `${words} ${codes}`.toLowerCase() } }, summary);
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(inside(method, path, operation));
  });
  return details;
}

function show() {
  const nouns = new Map();
  for (const [path, methods] of Object.entries(specification.paths)) {
    for (const method of METHODS.filter((name) => methods[name])) {
      const noun = methods[method].tags[0];
      nouns.set(noun, [...(nouns.get(noun) ?? []), entry(method, path, methods[method])]);
    }
  }
  const sorted = [...nouns].sort(([one], [other]) => one.localeCompare(other));
  byId("about").replaceChildren(...prose(specification.info.description));
  byId("nouns").append(make("ul", {}, ...sorted.map(([noun]) => make("li", {}, make("a", { href: `#noun-${noun}`, textContent: noun })))));
  byId("operations").append(...sorted.map(([noun, entries]) =>
    make("section", { id: `noun-${noun}`, ariaLabel: noun }, make("h2", { textContent: noun.replaceAll("-", " ") }), ...entries)));
  jump();
}

function jump() {
  const asked = location.hash && document.getElementById(location.hash.slice(1));
  if (asked) {
    asked.open = true;
    asked.scrollIntoView();
  }
}

function find() {
  const words = byId("find").value.toLowerCase().split(/\s+/);
  for (const section of document.querySelectorAll("section")) {
    const entries = [...section.querySelectorAll(".operation")];
    for (const entry of entries) entry.hidden = !words.every((word) => entry.dataset.words.includes(word));
    section.hidden = entries.every((entry) => entry.hidden);
  }
}

async function posted(path, body) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  return [answer.ok, await answer.json()];
}

// A person with a second factor is asked for the code, and sends the form again.
let pending = null;
async function signIn(form) {
  const value = (name) => form.elements.namedItem(name).value;
  const [ok, told] = pending
    ? await posted("/v1/auth/mfa/verify", { mfa_token: pending, code: value("code") })
    : await posted("/v1/auth/login", { email: value("email"), password: value("password") });
  pending = ok ? told.mfa_token ?? null : null;
  byId("code").hidden = !pending;
  if (told.access_token) byId("token").value = told.access_token;
  if (!pending) form.elements.namedItem("password").value = "";
  if (!ok) return told.detail ?? told.title;
  return pending ? "Now the code of your second factor." : "Signed in. The token is in the field above.";
}

byId("signin").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    byId("signed").textContent = await signIn(event.target);
  } catch (error) {
    byId("signed").textContent = `No answer came: ${error.message}`;
  }
});
// Before this moment a click would send the form to nobody.
byId("signin").querySelector("button").disabled = false;
byId("caller").addEventListener("submit", (event) => event.preventDefault());
byId("find").addEventListener("input", find);
addEventListener("hashchange", jump);
show();
