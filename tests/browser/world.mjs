// The browser, the binary with its demo, and the people who sign in.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { cpSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { chromium } from "playwright-core";

const PATIENCE = 300_000;
/** How long a page may take on a machine that does other things too. */
const PAGE_PATIENCE = 60_000;
/** Seconds of a code's half minute that must be left: a code that ends while it is typed proves nothing. */
const CODE_ROOM = 12;
/** Blocks in which a high base fee falls to nothing. */
const CALM_BLOCKS = 64;

export const DESK = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 800 };
/** How a page is looked at in every run. `ops/test --long` looks at all four, and so does who accepts pictures. */
export const LOOKS = [["light", DESK], ["dark", PHONE], ...(process.env.MUNIMENT_LONG || process.env.MUNIMENT_ACCEPT ? [["dark", DESK], ["light", PHONE]] : [])];
/** The operations that need a person. */
export const ATTENTION = "/console/operations?status=attention";

/** Starts the demo of a binary in a folder of its own, with a copy of MUNIMENT_DEMO, and waits until it has everything to show. */
export async function demo(binary) {
  const folder = mkdtempSync(join(tmpdir(), "muniment-browser."));
  if (process.env.MUNIMENT_DEMO) cpSync(process.env.MUNIMENT_DEMO, join(folder, "data"), { recursive: true });
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, MUNIMENT_LISTEN: "127.0.0.1:0", MUNIMENT_DEVCHAIN_LISTEN: "127.0.0.1:0" };
  // Nobody is asked to come more slowly here: one browser looks at more pages in a minute than a person can.
  const settings = readFileSync(new URL("../../ops/muniment.toml", import.meta.url), "utf8");
  for (const [, bucket] of settings.matchAll(/^(\w+)_per_minute = /gm)) env[`MUNIMENT_RATES_${bucket.toUpperCase()}_PER_MINUTE`] = "0";
  const site = { folder };
  let child;
  site.start = async () => {
    const log = join(folder, "log");
    writeFileSync(log, "");
    const out = openSync(log, "a");
    child = spawn(binary, [], { cwd: folder, env, stdio: ["ignore", out, out] });
    const until = Date.now() + PATIENCE;
    while (!readFileSync(log, "utf8").includes("Ctrl-C stops everything")) {
      if (child.exitCode !== null || Date.now() > until) throw new Error(`the demo is not ready\n${readFileSync(log, "utf8").slice(-4000)}`);
      await pause(200);
    }
    const lines = readFileSync(join(folder, "data", "demo.env"), "utf8").split("\n");
    const facts = Object.fromEntries(lines.filter(Boolean).map((line) => [line.split("=")[0], line.slice(line.indexOf("=") + 2, -1)]));
    Object.assign(site, { url: facts.API, chain: facts.CHAIN, key: facts.KEY, password: facts.PASSWORD, exhibit: facts.EXHIBIT });
  };
  site.end = async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null) await new Promise((ended) => child.once("exit", ended));
  };
  site.stop = async () => {
    await site.end();
    rmSync(folder, { recursive: true, force: true });
  };
  /** What a command of the binary prints. */
  site.command = (...words) => execFileSync(binary, words, { cwd: folder, env, encoding: "utf8" });
  site.incident = (name) => site.command("demo", "--incident", name);
  await site.start();
  return site;
}

/** Debian's chromium, without its sandbox: in a container it cannot have one. */
export function browser() {
  return chromium.launch({ executablePath: process.env.MUNIMENT_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
}

/** A page of a person who is signed in. What the page reports as an error is kept in `page.faults`. */
export async function signedIn(browser, site, person, options = {}) {
  const context = await browser.newContext({ baseURL: site.url, viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(PAGE_PATIENCE);
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  // The status of the page itself is what a test looks at; of anything else that the page loads, a refusal is a fault.
  const own = (message) => message.text().startsWith("Failed to load resource") && message.location().url.split("?")[0] === page.url().split("?")[0];
  const expected = (message) => own(message) || (page.sessionEnded && message.text().includes("401"));
  page.on("console", (message) => message.type() === "error" && !expected(message) && page.faults.push(message.text()));
  await page.goto("/console/sign-in");
  await signIn(page, site, person);
  await page.waitForURL((url) => !url.pathname.includes("sign-in"));
  return page;
}

/** Ends the session where the page does not see it: what an open page asks from then on is refused. */
export async function endSession(page) {
  page.sessionEnded = true;
  await page.context().clearCookies();
}

/** Fills in the first step of the sign-in. */
export async function signIn(page, site, person) {
  await page.fill("input[name=email]", `${person}@demo.example`);
  await page.fill("input[name=password]", site.password);
  await page.click("main button[type=submit]");
}

/** A page of somebody who is signed in, to do something in which nothing may go wrong. */
export async function as(browser, site, person, act, options) {
  const page = await signedIn(browser, site, person, options);
  try {
    await act(page);
    assert.deepEqual(page.faults, []);
  } finally {
    await page.context().close();
  }
}

/** Waits until the script of a page runs: before that no key is heard. */
export const listens = (page) => page.locator("#link", { hasText: /Live|Paused/ }).waitFor();

/** Opens an operation that needs a person, whose row says this. */
export async function attention(page, words) {
  await page.goto(ATTENTION);
  await page.locator("[data-row]", { hasText: words }).first().locator("a").first().click();
  await page.waitForURL(/\/operations\/op_/);
}

/** A freeze of an investor's wallet, by the API. */
export async function freeze(site, reference) {
  const free = (await ask(site, `/v1/offerings/${site.exhibit}/holders`)).body.data.filter((one) => !one.frozen);
  // A freeze takes over what waits for the same wallet, so another one is better.
  const waiting = JSON.stringify((await ask(site, "/blockchain/operations?needs_attention=true")).body).toLowerCase();
  const address = (free.find((one) => !waiting.includes(one.wallet_address.toLowerCase())) ?? free[0]).wallet_address;
  const body = { offering_id: site.exhibit, address, reason_code: "sanctions", case_reference: reference };
  const answer = await ask(site, "/blockchain/freeze", body);
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return { id: answer.body.id, address };
}

/** Waits until a code has enough of its half minute left to be typed. */
export async function codeRoom() {
  const left = 30 - (Date.now() / 1_000) % 30;
  if (left < CODE_ROOM) await pause((left + 0.2) * 1_000);
}

/** The six digits that an authenticator app shows for a secret, now or some half minutes later (RFC 6238). */
export function codeOf(secret, steps = 0) {
  const bits = [...secret].map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const tag = createHmac("sha1", key).update(step).digest();
  return String((tag.readUInt32BE(tag[19] & 0xf) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

/** A request of the operator to the API. */
export async function ask(site, path, body) {
  const headers = { Authorization: `Bearer ${site.key}`, "Content-Type": "application/json" };
  if (body) headers["Idempotency-Key"] = String(process.hrtime.bigint());
  const answer = await fetch(site.url + path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() };
}

/** A request to the demo's own chain. */
export async function askChain(site, method, params) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const answer = await fetch(site.chain, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  return (await answer.json()).result;
}

/** Lets the fees of the chain fall. What waited is in a block at once. */
export async function calmMarket(site) {
  await askChain(site, "devchain_setBaseFeeMin", [0]);
  await askChain(site, "anvil_mine", [CALM_BLOCKS]);
}
