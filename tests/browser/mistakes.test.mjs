// What people do wrong, and what happens between two of them: a legible message, nothing changed, and what was typed is kept.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { as as signedInAs, ask, ATTENTION, attention, browser, demo, endSession, freeze, listens, signIn } from "./world.mjs";

const KEPT = /Nothing was changed, and what you typed is kept\./;
const REASON = "The provider moves its machines.";

let site, chrome;

before(async () => {
  site = await demo(process.env.MUNIMENT_BINARY);
  chrome = await browser();
});

after(async () => {
  await chrome?.close();
  await site?.stop();
});

const as = (person, act, options) => signedInAs(chrome, site, person, act, options);
const main = (page) => page.innerText("main");
const submit = (page) => page.click("main form button[type=submit]");
const states = async () => (await ask(site, "/blockchain/signers")).body.data.map((lane) => lane.lane_state);

/** The page before an act on the first signer, with a reason typed. */
async function sheet(page, word) {
  await page.goto("/console/signers");
  await page.goto(await page.locator(`a[href$='/act/${word}']`).first().getAttribute("href"));
  await page.fill("textarea[name=reason]", REASON);
}

/** Lets the signer sign again, for the next test. */
async function resume(page) {
  await sheet(page, "resume");
  await submit(page);
  await page.waitForURL((url) => !url.pathname.includes("/act/"));
  assert.deepEqual(await states(), ["active"]);
}

/** The addresses of the approvals that wait. */
async function approvals(page) {
  await page.goto("/console/approvals");
  return page.$$eval("main [data-row] a", (links) => links.map((link) => link.getAttribute("href")));
}

for (const [token, spoil] of [["csrf_token_missing", (input) => input.remove()], ["csrf_token_invalid", (input) => { input.value = "x"; }]]) {
  test(`a form without its token changes nothing and says so: ${token}`, async () => {
    await as("operator", async (page) => {
      await sheet(page, "pause");
      await page.$eval("main form input[name=csrf]", spoil);
      const answer = page.waitForResponse((response) => response.request().method() === "POST");
      await submit(page);
      assert.equal((await answer).status(), 403);
      assert.match(await main(page), new RegExp(`${token}[\\s\\S]*What you typed is kept`));
      assert.equal(await page.inputValue("textarea[name=reason]"), REASON);
      assert.deepEqual(await states(), ["active"]);
      // The page that says so has a token of its own.
      await submit(page);
      await page.locator("[role=status]", { hasText: "The signer is paused." }).waitFor();
      await resume(page);
    });
  });
}

test("a session that has ended leads to the sign-in and back", async () => {
  await as("operator", async (page) => {
    await page.goto("/console/queue");
    await endSession(page);
    await page.goto("/console/audit");
    assert.match(page.url(), /sign-in/);
    await signIn(page, site, "operator");
    await page.waitForURL("**/console/audit");
  });
});

test("a session that ends before a form is sent keeps the form, and nothing is sent by itself", async () => {
  await as("operator", async (page) => {
    await sheet(page, "pause");
    await endSession(page);
    await submit(page);
    await page.locator("[role=alert]", { hasText: KEPT }).waitFor();
    await signIn(page, site, "operator");
    await page.locator("textarea[name=reason]").waitFor();
    assert.equal(await page.inputValue("textarea[name=reason]"), REASON);
    assert.deepEqual(await states(), ["active"]);
    await submit(page);
    await page.locator("[role=status]", { hasText: "The signer is paused." }).waitFor();
    assert.deepEqual(await states(), ["paused"]);
    await resume(page);
  });
});

test("a page that is open says when the session has ended", async () => {
  await as("operator", async (page) => {
    await page.goto("/console/operations");
    await listens(page);
    await endSession(page);
    // The stream of an open page outlives the cookie; the next look at the page does not.
    await freeze(site, "case 2026-4");
    await page.locator("#link", { hasText: /^Signed out since \d\d:\d\d:\d\d$/ }).waitFor();
    assert.ok(await page.locator("[data-row]").count(), "what was read stays");
  });
});

test("a page with a fragment in its address is live, and one with the keys on top says that it is paused and catches up", async () => {
  await as("operator", async (page) => {
    const bar = (text) => page.locator("#link", { hasText: text }).waitFor();
    const change = async (name) => {
      const { body } = await ask(site, "/v1/webhooks/endpoints", { url: `https://hooks.portal.example/${name}`, event_types: ["*"] });
      assert.match(body.id, /^whe_/);
      return page.locator(`[id="${body.id}"]`);
    };
    await page.goto("/console/webhooks#main");
    await bar(/^Live$/);
    await (await change("main")).waitFor();
    for (const [hash, close] of [["keys", () => page.keyboard.press("Escape")], ["nav", () => page.evaluate(() => { location.hash = "main"; })]]) {
      await page.evaluate((to) => { location.hash = to; }, hash);
      await bar(/^Paused since \d\d:\d\d:\d\d$/);
      const looks = [];
      page.on("request", (request) => request.headers()["x-console-live"] && looks.push(request.url()));
      const row = await change(hash);
      await page.waitForTimeout(2_000);
      assert.deepEqual(looks, [], "it is not read again meanwhile");
      await close();
      await row.waitFor();
      await bar(/^Live$/);
    }
  });
});

for (const javaScriptEnabled of [true, false]) {
  test(`a double click is one change: ${javaScriptEnabled ? "with" : "without"} JavaScript`, async () => {
    await as("operator", async (page) => {
      await sheet(page, "pause");
      const before = (await ask(site, "/blockchain/signers")).body.data[0].version;
      await page.locator("main form button[type=submit]").dblclick();
      await page.locator("[role=status]", { hasText: "The signer is paused." }).waitFor();
      assert.equal((await ask(site, "/blockchain/signers")).body.data[0].version, before + 1);
      await resume(page);
    }, { javaScriptEnabled });
  });
}

test("of two people who act on one signer the second is told, and keeps what they typed", async () => {
  await as("operator", async (first) => {
    await as("operator.b", async (second) => {
      await sheet(first, "pause");
      await sheet(second, "pause");
      await submit(first);
      await first.locator("[role=status]", { hasText: "The signer is paused." }).waitFor();
      await submit(second);
      await second.locator("[role=alert]", { hasText: KEPT }).waitFor();
      assert.equal(await second.inputValue("textarea[name=reason]"), REASON);
    });
    await resume(first);
  });
});

test("an approval that somebody decided meanwhile is not decided again", async () => {
  await as("operator.b", async (late) => {
    const [address] = await approvals(late);
    await late.goto(address);
    await late.fill("form.decide textarea", REASON);
    await as("admin", async (early) => {
      await early.goto(address);
      await early.fill("form.decide textarea", "The amount is wrong.");
      await early.click("button[value=reject]");
      await early.locator("[role=status]", { hasText: "Rejected. Nothing runs." }).waitFor();
    });
    await late.click("button[value=approve]");
    await late.fill("input[name=identity_password]", site.password);
    await submit(late);
    await late.locator("input[name=identity_password]").waitFor({ state: "detached" });
    assert.match(await main(late), /What happened[\s\S]*What you typed is kept/);
    assert.equal(await late.inputValue("textarea[name=reason]"), REASON);
    await late.goto(address);
    assert.match(await main(late), /The amount is wrong\./);
    assert.equal(await late.locator("button[value=approve]").count(), 0);
  });
});

test("a filter that means nothing filters nothing, says so, and is kept", async () => {
  await as("operator", async (page) => {
    await page.goto("/console/operations");
    const rows = await page.locator("[data-row]").count();
    await page.fill("[data-search]", "<melted>");
    await page.keyboard.press("Enter");
    await page.locator("[role=alert]", { hasText: "Operations cannot be filtered by <melted>." }).waitFor();
    assert.equal(await page.inputValue("[data-search]"), "<melted>");
    assert.equal(await page.locator("[data-row]").count(), rows);
    for (const query of ["status=melted", "after=op_1", "signer=0x12", "age=-1", "q=%00", "status=failed&status=%F0%9F"]) {
      assert.equal((await page.goto(`/console/operations?${query}`)).status(), 200, query);
    }
    for (const path of ["/console/operations/op_1", "/console/signers/x/act/pause", "/console/nothing"]) {
      const answer = await page.goto(path);
      assert.ok([400, 404].includes(answer.status()), `${path}: ${answer.status()}`);
      assert.match(await main(page), /What happened[\s\S]*What to do/, path);
    }
  });
});

test("the hash of another chain's transaction proves nothing, and the page says what is missing", async () => {
  await as("operator", async (page) => {
    await attention(page, "Dead letter");
    await page.goto(`${page.url()}/reconcile?tx_hash=0x${"5e".repeat(32)}`);
    assert.match(await main(page), /Six checks, it proves nothing[\s\S]*It cannot be confirmed with this transaction\. Nothing was changed\./);
    assert.equal(await page.locator("form[method=post] textarea").count(), 0);
    assert.equal(await page.locator(".checks li").count(), 6);
    await page.goto(ATTENTION);
    assert.ok(await page.locator("[data-row]", { hasText: "Dead letter" }).count(), "it still needs a person");
  });
});
