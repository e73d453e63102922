// The operator console in a real browser, on the binary's own demo.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { as as signedInAs, ask, ATTENTION, attention, browser, codeOf, codeRoom, demo, freeze, listens, LOOKS, signIn } from "./world.mjs";
import { everyPage, kind, words } from "./pages.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

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
const path = (page) => new URL(page.url()).pathname;

test("a wrong password is refused, the right one leads to where one wanted to go, and signing out ends it", async () => {
  const page = await (await chrome.newContext({ baseURL: site.url })).newPage();
  await page.goto("/console/signers");
  await page.fill("input[name=email]", "operator@demo.example");
  await page.fill("input[name=password]", "not the password");
  await page.click("main button[type=submit]");
  assert.match(await page.innerText("[role=alert]"), /The e-mail address or the password is wrong\./);
  assert.equal(await page.inputValue("input[name=email]"), "operator@demo.example");
  await page.fill("input[name=password]", site.password);
  await page.click("main button[type=submit]");
  await page.waitForURL("**/console/signers");
  await page.goto("/console");
  await page.locator("form[action='/console/sign-out'] button").first().click();
  await page.waitForURL("**/console/sign-in**");
  await page.goto("/console/signers");
  assert.match(path(page), /sign-in/);
  await page.context().close();
});

test("a second factor is set up, asked for at the next sign-in, and removed", async () => {
  await as("issuer", async (page) => {
    const act = async (name, code) => {
      await page.locator("main a", { hasText: name }).first().click();
      await page.waitForURL("**/act/**");
      if (code) await page.fill("input[name=code]", code);
      await page.click("main form button[type=submit]");
    };
    await page.click(".me a");
    await page.waitForURL("**/console/account");
    await act("Set up a second factor");
    await page.fill("#identity", site.password);
    await page.click("main form button[type=submit]");
    const secret = await page.innerText("#secret");
    assert.match(secret, /^[A-Z2-7]{32}$/);
    await page.locator("main a", { hasText: "I have stored it" }).click();
    await act("Confirm the second factor", "12345");
    assert.match(await page.innerText("[role=alert]"), /wrong or already used/);
    await codeRoom();
    await page.fill("input[name=code]", codeOf(secret, -1));
    await page.click("main form button[type=submit]");
    await page.locator("[role=status]", { hasText: "The second factor is on." }).waitFor();
    await act("New recovery codes");
    const codes = (await page.innerText("#secret")).split("\n");
    assert.equal(new Set(codes).size, 10, codes.join());

    for (const code of [() => codes[3], () => codeOf(secret)]) {
      await page.goto("/console/account");
      await page.locator("form[action='/console/sign-out'] button").first().click();
      await page.waitForURL("**/console/sign-in**");
      await signIn(page, site, "issuer");
      await page.fill("input[name=code]", "12345");
      await page.click("main button[type=submit]");
      await codeRoom();
      assert.match(await page.innerText("[role=alert]"), /wrong or already used/);
      await page.fill("input[name=code]", code());
      await page.click("main button[type=submit]");
      await page.waitForURL((url) => !url.pathname.includes("sign-in"));
    }
    await page.goto("/console/account");
    await act("Remove the second factor");
    await codeRoom();
    await page.fill("#identity", codeOf(secret, 1));
    await page.click("main form button[type=submit]");
    await page.locator("[role=status]", { hasText: "The second factor is removed." }).waitFor();
  });
});

test("the page of the document signs in, sends a request, and shows each request for a shell", async () => {
  const page = await (await chrome.newContext({ baseURL: site.url })).newPage();
  await page.goto("/docs");
  await page.locator("details:has(#signin) > summary").click();
  await page.fill("#signin input[name=email]", "operator@demo.example");
  await page.fill("#signin input[name=password]", site.password);
  await page.click("#signin button");
  await page.waitForFunction(() => document.getElementById("token").value !== "");
  const open = async (id) => {
    const operation = page.locator(`[id="${id}"]`);
    await operation.locator("summary").first().click();
    await operation.locator("summary", { hasText: "Try it" }).click();
    return operation;
  };
  const own = await open("auth.me.get");
  await own.locator("form button").click();
  await own.locator("pre", { hasText: "operator@demo.example" }).waitFor();
  assert.match(await (await open("policies.replace")).innerText(), /curl -sS -X PUT/);
  await page.context().close();
});

for (const [scheme, size] of LOOKS) {
  test(`no page breaks a rule of WCAG 2.2 AA, scrolls sideways or reports an error: ${scheme}, ${size.width} px`, async () => {
    await as("admin", async (page) => {
      const pages = await everyPage(page, site);
      assert.ok(pages.length > 40, `${pages.length} kinds of pages`);
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize(size);
      const wrong = [];
      for (const { path, status } of pages) {
        if (status !== 200) wrong.push(`${path}: ${status}`);
        await page.goto(path);
        await page.evaluate(AXE);
        const { violations } = await page.evaluate((values) => globalThis.axe.run(document, { runOnly: values }), RULES);
        wrong.push(...violations.map((one) => `${kind(path)}: ${one.id} at ${one.nodes[0].target}: ${one.nodes[0].failureSummary}`));
        const beside = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (beside > 0) wrong.push(`${kind(path)}: scrolls sideways by ${beside} px`);
      }
      assert.deepEqual(wrong, []);
    });
  });
}

test("an approval shows what it would do now, at which block, and the balances before and after", async () => {
  await as("operator.b", async (page) => {
    const open = async (action) => {
      await page.goto("/console/approvals");
      await page.locator("[data-row]", { hasText: action }).locator("a").click();
      await page.locator("h2.sentence", { hasText: action }).waitFor();
      return page.locator("#simulation");
    };
    const payout = await open("Payout");
    assert.match(await payout.innerText(), /tried at block [\d,]+ .* ago[^]*It would succeed\. \d+ transactions?, [\d,]+ gas/);
    const number = (text) => Number(text.replace("\u2212", "-").replace(/[,+]/g, "").replace("none", "0"));
    const rows = await payout.locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.innerText)));
    const changes = rows.map((cells) => cells.map(number));
    assert.ok(changes.length >= 3, JSON.stringify(rows));
    for (const [before, after, change] of changes) assert.equal(Math.round((before + change - after) * 100), 0, JSON.stringify(rows));
    assert.ok(changes[0][2] < 0, "the payer pays");
    assert.equal(Math.round(changes.reduce((sum, [, , change]) => sum + change, 0) * 100), 0, "the holders get what the payer pays");
    assert.match(await payout.locator("tbody tr").first().innerText(), /of the signer/);
    const unfreeze = await open("Unfreeze");
    assert.match(await unfreeze.innerText(), /It would succeed\.[^]*No balance changes\./);
  });
});

test("what is selected is previewed, the list holds still meanwhile, and it is retried with one reason", async () => {
  const reason = "The cause was removed, so try again.";
  await as("operator", async (page) => {
    await page.goto("/console/operations");
    await listens(page);
    const row = page.locator("[data-row]", { hasText: "reverts" });
    const id = await row.getAttribute("id");
    await row.locator("input[type=checkbox]").check();
    assert.equal(await page.innerText("[data-count]"), "1 selected");
    const waiting = await freeze(site, "case 2026-8");
    await page.locator("[data-held]", { hasText: /List held still since .*, \d+ changes? waits?/ }).waitFor();
    assert.equal(await page.locator(`[id="${waiting.id}"]`).count(), 0, "nothing moves under the hand");
    await page.keyboard.press("r");
    await page.waitForURL(/\/operations\/retry/);
    assert.match(await main(page), /Retry 1 of 1[\s\S]*Nothing was changed yet\.[\s\S]*1 are held against the chain first/);
    assert.doesNotMatch(JSON.stringify((await ask(site, `/blockchain/operations/${id}`)).body.history), /The cause was removed/);
    await page.fill("textarea[name=reason]", reason);
    await page.click("main form button[type=submit]");
    await page.waitForURL((url) => url.pathname === "/console/operations");
    await page.goto(`/console/operations/${id}`);
    await page.locator("#history", { hasText: reason }).waitFor();
  });
});

test("the list of operations moves by itself when an operation is accepted and when it is final", async () => {
  await as("operator", async (page) => {
    await page.goto("/console/operations");
    await page.waitForFunction(() => document.querySelector("#link b")?.textContent === "Live");
    const { id } = await freeze(site, "case 2026-7");
    const row = page.locator(`[id="${id}"]`);
    await row.waitFor();
    await row.locator("text=Confirmed").first().waitFor();
  });
});

test("a refused operation shows the decoded revert, and greys what is not possible with the reason", async () => {
  await as("operator", async (page) => {
    await attention(page, "reverts");
    assert.match(await page.innerText(".verdict"), /What happened[\s\S]*What it means for the money[\s\S]*What to do/);
    const greyed = page.locator(".act.off").first();
    assert.match(await greyed.innerText(), /Not now: /);
    assert.equal(await greyed.locator("a").count(), 0);
    assert.match(await page.innerText("#error"), /The contract said|lock|role/);
  });
});

test("what is typed becomes a filter in the address, and each part of it can be taken away", async () => {
  await as("operator", async (page) => {
    await page.goto("/console/operations?status=confirmed");
    await listens(page);
    await page.keyboard.press("/");
    await page.keyboard.type("freeze 24h");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.search === "?status=confirmed&type=freeze&age=24h");
    const said = await page.$$eval("[data-row] .say", (all) => all.map((one) => one.textContent));
    assert.ok(said.length > 0 && said.every((text) => /^\s*Freeze/.test(text)), said.join());
    await page.locator("nav.tabs a", { hasText: "Failed" }).click();
    await page.waitForURL((url) => url.search === "?type=freeze&age=24h&status=failed");
    assert.match(await main(page), /No operation fits this filter\./);
    await page.click("[aria-label='Remove the filter type']");
    await page.waitForURL((url) => url.search === "?age=24h&status=failed");
  });
});

test("a transaction that proves nothing is refused by the checks, and what was typed is kept", async () => {
  await as("operator", async (page) => {
    await page.goto(ATTENTION);
    const address = await page.locator("[data-row] a").first().getAttribute("href");
    await page.goto(`${address}/reconcile?tx_hash=0x${"ab".repeat(32)}`);
    assert.equal(await page.inputValue("#hash"), `0x${"ab".repeat(32)}`);
    const text = await main(page);
    assert.match(text, /it proves nothing|no chain|not found|does not know/i);
    assert.equal(await page.locator("form[method=post] textarea[name=reason]").count(), 0, "there is nothing to confirm");
    await page.goto(`${address}/reconcile?tx_hash=melted`);
    assert.match(await page.innerText("main [role=alert]"), /64 hexadecimal digits/);
  });
});

test("the person who asked cannot approve, and a second one can", async () => {
  const open = async (page, address) => {
    await page.goto(address);
    return page.locator("button[value=approve]").count();
  };
  let address;
  await as("operator", async (page) => {
    await page.goto("/console/approvals");
    const all = await page.$$eval("main [data-row] a", (links) => links.map((link) => link.getAttribute("href")));
    for (const one of all) if (!(await open(page, one))) address = one;
    assert.ok(address, "the demo has an approval that this person asked for");
    await open(page, address);
    assert.match(await main(page), /You asked for it, so a colleague decides\./);
  });
  await as("operator.b", async (page) => {
    assert.equal(await open(page, address), 1, address);
    const reason = page.locator("form.decide textarea");
    if (await reason.count()) await reason.fill("Looked at with a colleague.");
    await page.click("button[value=approve]");
    // Money asks for the password once more, in place.
    await page.fill("input[name=identity_password]", site.password);
    await page.click("main button[type=submit]");
    await page.waitForSelector("input[name=identity_password]", { state: "detached" });
    assert.equal(await open(page, address), 0, "it is decided");
  });
});

test("a lane is paused and resumed beside its ruler", async () => {
  await as("operator", async (page) => {
    await page.goto("/console/signers");
    assert.ok(await page.locator(".rulerwrap, .ruler").count(), "there is a ruler");
    await page.locator("a[href$='/act/pause']").first().click();
    await page.fill("textarea[name=reason]", "To see the ruler while it stands.");
    await page.click("main form button[type=submit]");
    await page.waitForURL((url) => !url.pathname.includes("/act/"));
    await page.goto("/console/signers");
    await page.locator("a[href$='/act/resume']").first().click();
    await page.fill("textarea[name=reason]", "It was looked at.");
    await page.click("main form button[type=submit]");
    await page.waitForURL((url) => !url.pathname.includes("/act/"));
    await page.goto("/console/signers");
    assert.ok(await page.locator("a[href$='/act/pause']").count());
  });
});

test("an auditor sees every page of the navigation and no act", async () => {
  await as("auditor", async (page) => {
    // What one does to the own account is no act of the platform.
    const pages = (await everyPage(page, site)).filter((one) => !one.path.startsWith("/console/account"));
    assert.ok(pages.length > 15, `${pages.length} kinds of pages`);
    const acts = pages.filter(({ path }) => /\/act\/|\/operations\/retry|\/reconcile$/.test(path));
    assert.deepEqual(acts, []);
    for (const { path } of pages) {
      await page.goto(path);
      const posts = await page.$$eval("form[method=post]", (forms) => forms.map((form) => form.getAttribute("action")));
      assert.deepEqual(posts.filter((action) => !action.includes("sign-out")), [], path);
    }
  });
});

test("every page of the navigation opens by its keys, a row by J and Enter, and Esc leads back", async () => {
  await as("admin", async (page) => {
    const entries = await page.$$eval("#nav [data-key]", (all) => all.map((a) => [a.dataset.key, a.getAttribute("href")]));
    assert.ok(entries.length >= 14, `${entries.length} entries`);
    for (const [key, href] of entries) {
      await listens(page);
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.waitForURL((url) => url.pathname === href);
    }
    await page.goto("/console/operations");
    await listens(page);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/operations\/op_/);
    await listens(page);
    await page.keyboard.press("Escape");
    await page.waitForURL((url) => url.pathname === "/console/operations");
  });
});

test("the Tab key reaches everything on every page and shows where it is", async () => {
  await as("operator", async (page) => {
    for (const { path } of await everyPage(page, site)) {
      await page.goto(path);
      const wanted = await page.$$eval("main a[href], main button, main input:not([type=hidden])", (all) => all.filter((e) => e.checkVisibility()).length);
      const reached = new Set();
      let first, before;
      for (let step = 0; step < wanted + 80; step += 1) {
        await page.keyboard.press("Tab");
        const [stop, isContent, isShown] = await page.evaluate(() => {
          const at = document.activeElement ?? document.body;
          at.dataset.stop ??= String(document.querySelectorAll("[data-stop]").length);
          // A field may show it on the form around it.
          const shows = (one) => getComputedStyle(one).outlineStyle !== "none";
          return [at.dataset.stop, Boolean(at.closest("main")), shows(at) || Boolean(at.closest("form") && shows(at.closest("form")))];
        });
        // A field of several parts is several stops; the first one again, after another, is the end of the round.
        first ??= stop;
        if (stop === first && before !== undefined && before !== first) break;
        before = stop;
        if (isContent) {
          assert.ok(isShown, `${path}: the focus cannot be seen`);
          reached.add(stop);
        }
      }
      assert.ok(reached.size >= wanted, `${path}: ${reached.size} of ${wanted}`);
    }
  });
});

test("without JavaScript a person reads the pages and acts by plain forms", async () => {
  await as("operator.b", async (page) => {
    await page.goto("/console/signers");
    await page.locator("a[href$='/act/pause']").first().click();
    await page.fill("textarea[name=reason]", "By a plain form.");
    await page.click("main form button[type=submit]");
    await page.waitForURL((url) => !url.pathname.includes("/act/"));
    await page.goto("/console/signers");
    await page.locator("a[href$='/act/resume']").first().click();
    await page.fill("textarea[name=reason]", "By a plain form.");
    await page.click("main form button[type=submit]");
    await page.waitForURL((url) => !url.pathname.includes("/act/"));
  }, { javaScriptEnabled: false });
});

test("without JavaScript every page shows what it shows with it", async () => {
  let pages;
  await as("auditor", async (page) => { pages = await everyPage(page, site); });
  await as("auditor", async (page) => {
    for (const one of pages) {
      assert.equal((await page.goto(one.path)).status(), 200, one.path);
      const seen = await words(page);
      assert.ok(seen >= one.words * 0.8, `${one.path}: ${seen} words of ${one.words}`);
    }
  }, { javaScriptEnabled: false });
});

test("a page whose stream is cut says since when, and is live again when it is back", async () => {
  await as("operator", async (page) => {
    await page.route("**/console/live", (route) => route.abort());
    await page.goto("/console/operations");
    await page.waitForFunction(() => /^Disconnected since \d\d:\d\d:\d\d$/.test(document.querySelector("#link b")?.textContent ?? ""));
    await page.unroute("**/console/live");
    await page.waitForFunction(() => document.querySelector("#link b")?.textContent === "Live", null, { timeout: 60_000 });
    page.faults = page.faults.filter((fault) => !fault.includes("ERR_FAILED"));
  });
});
