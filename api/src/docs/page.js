// Shows /openapi.json. Text is only ever set as text, so nothing in the document or in an answer can become markup.

const METHODS = ["get", "post", "patch", "delete"];
const byId = (id) => document.getElementById(id);

function make(tag, properties = {}, ...children) {
  const { data, ...own } = properties;
  const element = Object.assign(document.createElement(tag), own);
  Object.assign(element.dataset, data);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const specification = await (await fetch("/openapi.json")).json();

function resolve(node) {
  if (!node || !node.$ref) return node ?? {};
  return node.$ref.slice(2).split("/").reduce((at, part) => at?.[part], specification) ?? {};
}

// A schema in one line; names of other schemas are shown, not followed, because some hold each other.
function kind(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.enum) return schema.enum.join(" | ");
  const ways = schema.oneOf ?? schema.anyOf;
  if (ways) return ways.map(kind).join(" | ");
  if (schema.allOf) return schema.allOf.map(kind).join(" & ");
  const named = { array: () => `list of ${kind(schema.items)}`, null: () => "null" };
  const types = [schema.type ?? "any"].flat();
  return types.map((type) => named[type]?.() ?? schema.format ?? type).join(" | ");
}

function limits(schema) {
  const words = { minimum: "at least", maximum: "at most", minLength: "characters, at least", maxLength: "characters, at most",
    minItems: "items, at least", maxItems: "items, at most", default: "default", pattern: "pattern" };
  return Object.entries(words).filter(([key]) => schema[key] !== undefined).map(([key, word]) => `${word} ${schema[key]}`).join("; ");
}

function fields(schema) {
  const known = resolve(schema);
  const parts = known.allOf ?? known.oneOf;
  if (parts) return parts.flatMap(fields);
  return Object.entries(known.properties ?? {}).map(([name, field]) => ({ name, field, required: known.required?.includes(name) }));
}

function row(...cells) {
  return make("tr", {}, ...cells.map((cell) => make("td", {}, cell)));
}

function table(caption, heads, rows) {
  if (rows.length === 0) return null;
  const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col", textContent: text })));
  return make("table", {}, make("caption", { textContent: caption, hidden: true }), make("thead", {}, head), make("tbody", {}, ...rows));
}

function schemaTable(caption, schema) {
  const rows = fields(schema).map(({ name, field, required }) =>
    row(make("code", { textContent: name }), kind(field), required ? "required" : "",
      [field.description, limits(field)].filter(Boolean).join(" ")));
  return table(caption, ["Field", "Type", "", "Meaning"], rows);
}

function content(message) {
  const [type, body] = Object.entries(message.content ?? {})[0] ?? [];
  if (!body) return null;
  const example = body.example ?? Object.values(body.examples ?? {})[0]?.value;
  return make("div", {}, make("p", {}, `${type}: ${kind(body.schema)}`),
    schemaTable("Fields", body.schema),
    example === undefined ? null : make("pre", { tabIndex: 0, textContent: JSON.stringify(example, null, 2) }));
}

function answers(operation) {
  return Object.entries(operation.responses).map(([status, reference]) => {
    const response = resolve(reference);
    const title = status < 300 ? response.description : Object.keys(Object.values(response.content ?? {})[0]?.examples ?? {}).join(", ");
    return make("details", {}, make("summary", {}, make("code", { textContent: status }), ` ${title}`),
      status < 300 ? null : make("pre", { tabIndex: 0, textContent: response.description }), content(response));
  });
}

async function csrfToken(token) {
  const answer = await fetch("/v1/csrf-token", { headers: { Authorization: `Bearer ${token}` } });
  return answer.ok ? (await answer.json()).csrfToken : null;
}

async function send(method, path, operation, form, shown) {
  const headers = new Headers();
  const query = new URLSearchParams();
  const token = byId("token").value.trim();
  let url = path;
  for (const parameter of operation.parameters.map(resolve)) {
    const value = form.elements.namedItem(parameter.name)?.value ?? "";
    if (parameter.in === "path") url = url.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (value && parameter.in === "query") query.set(parameter.name, value);
    else if (value) headers.set(parameter.name, value);
  }
  if (token) headers.set("Authorization", `Bearer ${token}`);
  if (token && method !== "get" && !token.startsWith("rap_") && !headers.has("X-CSRF-Token")) {
    const csrf = await csrfToken(token);
    if (csrf) headers.set("X-CSRF-Token", csrf);
  }
  const body = form.elements.namedItem("body")?.value;
  if (body) headers.set("Content-Type", "application/json");
  const answer = await fetch(query.size ? `${url}?${query}` : url, { method: method.toUpperCase(), headers, body: body || undefined });
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
  return make("details", {}, make("summary", { textContent: "Try it" }), form, shown);
}

function inside(method, path, operation) {
  const parameters = operation.parameters.map(resolve).map((parameter) =>
    row(make("code", { textContent: parameter.name }), parameter.in, parameter.required ? "required" : "",
      [parameter.description, limits(parameter.schema ?? {})].filter(Boolean).join(" ")));
  return make("div", { className: "inside" }, make("p", { textContent: operation.description }),
    parameters.length ? make("h3", { textContent: "Parameters" }) : null, table("Parameters", ["Name", "In", "", "Meaning"], parameters),
    operation.requestBody ? make("h3", { textContent: "Body" }) : null, operation.requestBody ? content(operation.requestBody) : null,
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
  byId("about").textContent = specification.info.description;
  byId("nouns").append(make("ul", {}, ...sorted.map(([noun]) => make("li", {}, make("a", { href: `#noun-${noun}`, textContent: noun })))));
  byId("operations").append(...sorted.map(([noun, entries]) =>
    make("section", { id: `noun-${noun}`, ariaLabel: noun }, make("h2", { textContent: noun.replaceAll("-", " ") }), ...entries)));
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

byId("caller").addEventListener("submit", (event) => event.preventDefault());
byId("find").addEventListener("input", find);
show();
