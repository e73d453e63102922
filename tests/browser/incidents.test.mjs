// Five incidents of the demo. Each is ended from the console, by what its pages and their runbook say, in at most ten actions.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ask, askChain, browser, calmMarket, demo, signedIn } from "./world.mjs";

const ACTIONS_MAX = 10;
const PATIENCE = 90_000;

let site, chrome;

before(async () => {
  site = await demo(process.env.MUNIMENT_BINARY);
  chrome = await browser();
});

after(async () => {
  await chrome?.close();
  await site?.stop();
});

/** A person at the console who counts what they do: opening, clicking and typing are one action each. */
async function onDuty(act) {
  const page = await signedIn(chrome, site, "operator");
  let actions = 0;
  const person = {
    page,
    click: async (what) => { actions += 1; await page.locator(what).first().click(); await page.waitForLoadState(); },
    type: async (where, text) => { actions += 1; await page.fill(where, text); },
    reads: async (words) => assert.match(await page.innerText("main"), words),
    /** Money asks for the password once more, in place. */
    proves: async () => {
      if (!(await page.locator("input[name=identity_password]").count())) return;
      await person.type("input[name=identity_password]", site.password);
      await person.click("main button[type=submit]");
    },
  };
  try {
    await page.goto("/console");
    await act(person);
    assert.ok(actions <= ACTIONS_MAX, `${actions} actions`);
    assert.deepEqual(page.faults, []);
  } finally {
    await page.context().close();
  }
}

/** The operation that an incident names. */
const named = (printed) => printed.match(/op_[0-9a-z]{26}/)[0];

async function until(what, read) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await read();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
    await pause(200);
  }
}

const operation = async (id) => (await ask(site, `/blockchain/operations/${id}`)).body;
const isConfirmed = (id) => until(`${id} is confirmed`, async () => (await operation(id)).status === "confirmed");
const lane = async () => (await ask(site, "/blockchain/signers")).body.data[0];
/** How many transactions the chain has of the lane's key. The lane shows what a worker saw some time ago. */
const sent = async () => askChain(site, "eth_getTransactionCount", [(await lane()).address, "latest"]);
const becomes = (state) => until(`the lane is ${state}`, async () => (await lane()).lane_state === state);

/** What the holders of a distribution have received, by the chain: the sum of each line's payments. */
async function paidOnce(id) {
  const steps = (await operation(id)).steps;
  assert.deepEqual(steps.map((step) => step.outcome), steps.map(() => "success"), JSON.stringify(steps));
}

/** Reads the runbook of a stopped lane, imports the call that the database does not know, and resumes the lane. */
async function importsAndResumes(person, reason) {
  const { page } = person;
  // Another lane may need something, too.
  await person.click("[id^=need-lan_] a[href$='/import']");
  await person.click("a[href='/errors/unknown_calls']");
  assert.match(await page.innerText("body"), /restored from a backup[\s\S]*Import:[\s\S]*Resume the signer/);
  await page.goBack();
  await person.reads(/1 call in the blocks[\s\S]*matches nothing here/);
  await person.click("input[name=acknowledge]");
  await person.type("textarea[name=reason]", reason);
  await person.click("main form button[type=submit]");
  await person.proves();
  await person.click("a[href$='/act/resume']");
  await person.type("textarea[name=reason]", reason);
  await person.click("main form button[type=submit]");
  await person.reads(/Active/);
}

test("a payout that was mined but is a dead letter is confirmed by its proof", async () => {
  const id = named(site.incident("mined-dead-letter"));
  await onDuty(async (person) => {
    await person.click(`#need-${id} a`);
    await person.reads(/Dead letter[\s\S]*Its effect is final on the chain\. Our books do not say so yet\./);
    await person.click("a[href$='/reconcile']");
    await person.click("a.hash[href*='tx_hash=']");
    await person.reads(/Six checks, all passed/);
    await person.type("textarea[name=reason]", "Its transaction is final, and all six checks passed.");
    await person.click("main form[method=post] button[type=submit]");
    await person.proves();
    await person.reads(/Confirmed/);
  });
  await isConfirmed(id);
  await paidOnce(id);
});

test("a nonce that waits at the fee cap is found from the overview, and goes on when the market falls", async () => {
  const id = named(site.incident("jammed-lane"));
  await onDuty(async (person) => {
    await person.reads(/waits at nonce \d+, and 0 behind it/);
    await person.click("[id^=need-lan_] a");
    await person.reads(/is the lowest that is not mined[\s\S]*base fee/);
    await person.click(`a[href='/console/operations/${id}']`);
    await person.reads(/It waits:[\s\S]*What to do/);
    await person.click("main a[href^='/errors/']");
    assert.match(await person.page.innerText("body"), /Wait/);
  });
  await calmMarket(site);
  await isConfirmed(id);
  await paidOnce(id);
  await onDuty(async (person) => assert.equal(await person.page.locator("[id^=need-lan_]").count(), 0));
});

test("a payout that stopped between two pages shows which one paid, and pays the other one once", async () => {
  const id = named(site.incident("half-paid-page"));
  await onDuty(async (person) => {
    await person.click("[id^=need-lan_] a");
    await person.click(`a[href='/console/operations/${id}']`);
    await person.reads(/It waits:/);
    const states = await person.page.$$eval("#steps tbody tr", (rows) => rows.map((row) => row.innerText));
    assert.ok(states.length > 1 && states.slice(0, -1).every((text) => /Final, success/.test(text)), states.join("\n"));
    assert.doesNotMatch(states.at(-1), /Final/);
  });
  await calmMarket(site);
  await isConfirmed(id);
  await paidOnce(id);
});

test("a key that was used outside puts its lane in quarantine, until a person has looked at what it did", async () => {
  site.incident("key-used-outside");
  await becomes("quarantined");
  await onDuty(async (person) => {
    await person.reads(/is in quarantine/);
    await importsAndResumes(person, "The stranger's key has lost its role; the case is 2026-11.");
  });
  await becomes("active");
});

test("a lane with unknown calls cannot be resumed", async () => {
  site.incident("key-used-outside");
  await becomes("quarantined");
  await onDuty(async (person) => {
    await person.page.goto("/console/signers");
    await person.click("a[href$='/act/resume']");
    await person.type("textarea[name=reason]", "Without looking at what the key did.");
    await person.click("main form button[type=submit]");
    await person.reads(/does not know: 1\.[\s\S]*Nothing was changed, and what you typed is kept/);
  });
  await onDuty((person) => importsAndResumes(person, "Now it was looked at, and the key is replaced."));
  await becomes("active");
});

test("a restored backup is noticed, and nothing that the chain knows is sent again", async () => {
  // The second start takes the backup.
  await site.end();
  await site.start();
  const address = (await ask(site, `/v1/offerings/${site.exhibit}/holders`)).body.data.find((one) => !one.frozen).wallet_address;
  const wanted = { offering_id: site.exhibit, address, reason_code: "sanctions", case_reference: "case 2026-9" };
  const frozen = (await ask(site, "/blockchain/freeze", wanted)).body;
  await isConfirmed(frozen.id);
  const before = await sent();
  await site.end();
  site.incident("restored-backup");
  await site.start();
  assert.equal((await ask(site, `/blockchain/operations/${frozen.id}`)).status, 404, "the backup does not know it");
  await becomes("quarantined");
  await onDuty((person) => importsAndResumes(person, "The backup was restored; the freeze is on the chain."));
  await becomes("active");
  assert.equal(await sent(), before, "nothing was sent");
  // The token's own events say that the wallet is frozen.
  const holder = async () => (await ask(site, `/v1/offerings/${site.exhibit}/holders`)).body.data.find((one) => one.wallet_address === address);
  await until("the freeze is read again", async () => (await holder()).frozen);
});
