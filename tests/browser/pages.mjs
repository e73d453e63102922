// Every page that a person can reach by links: one of each kind.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { ask } from "./world.mjs";

/** How long the demo may take for what the pages show. */
const PATIENCE = 120_000;

/** The kind of a page: its address with `{id}` for what names one thing, and without its query. */
export function kind(path) {
  return path.split("?")[0].replace(/\/(op|apr|off|dist|inv|usr|key|lan|whe|whd|rec|run|[a-z]{2,5})_[0-9a-z]{20,}/g, "/{id}");
}

/** How many words a page shows, without numbers and times. */
export const words = async (page) => (await page.innerText("main")).split(/\s+/).filter((word) => !/\d/.test(word)).length;

/** What the demo lacks and a page shows: a webhook endpoint with a delivery, and a finished reconciliation run. */
async function furnish(site) {
  const endpoint = await ask(site, "/v1/webhooks/endpoints", { url: "https://hooks.portal.example/in", event_types: ["*"] });
  assert.equal(endpoint.status, 201, JSON.stringify(endpoint.body));
  assert.equal((await ask(site, `/v1/webhooks/endpoints/${endpoint.body.id}/test`, {})).status, 202);
  const run = await ask(site, "/blockchain/reconciliation-runs", {});
  assert.equal(run.status, 202, JSON.stringify(run.body));
  await until(async () => (await ask(site, `/blockchain/reconciliation-runs/${run.body.id}`)).body.completed_at);
  await until(async () => (await ask(site, `/v1/webhooks/endpoints/${endpoint.body.id}/deliveries`)).body.data.length);
}

async function until(happened) {
  const end = Date.now() + PATIENCE;
  while (!(await happened())) {
    assert.ok(Date.now() < end, `not in ${PATIENCE / 1_000} s: ${happened}`);
    await pause(200);
  }
}

/** One address of each kind, found by following links from the pages of the navigation. An offering with a token is a kind of its own. */
export async function everyPage(page, site) {
  site.furnished ??= furnish(site);
  await site.furnished;
  const found = new Map();
  const kindOf = (path) => kind(path.replace(site.exhibit, "{deployed}"));
  const queue = ["/console", `/console/offerings/${site.exhibit}`];
  while (queue.length) {
    const path = queue.shift();
    if (found.has(kindOf(path))) continue;
    // A file to save is no page.
    const answer = await page.goto(path).catch((error) => { if (!/Download is starting/.test(error.message)) throw error; });
    if (!answer || !new URL(page.url()).pathname.startsWith("/console")) continue;
    found.set(kindOf(path), { path, status: answer.status(), words: await words(page) });
    const links = await page.$$eval("a[href]", (all) => all.map((a) => a.getAttribute("href")));
    queue.push(...links.filter((link) => link.startsWith("/console") && !link.startsWith("/console/assets")).map((link) => link.split("#")[0]));
  }
  for (const must of ["/console/webhooks/{id}", "/console/webhooks/deliveries/{id}", "/console/reconciliation/{id}", "/console/offerings/{deployed}"]) {
    assert.ok(found.has(must), `no ${must} among ${[...found.keys()].join(" ")}`);
  }
  return [...found.values()];
}
