// How pages look, beside pictures that a person has accepted.
//
// A picture is compared in cells of 16 by 16 pixels, and without the glyphs of its text: times, ids and the fonts of a machine are no
// difference, and a box, a mark or a colour that moves is one. README.md says how to accept new pictures.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ask, attention, browser, demo, DESK, listens, LOOKS, signedIn } from "./world.mjs";

const ACCEPTED = new URL("./accepted/", import.meta.url).pathname;
const SEEN = join(tmpdir(), "muniment-looks");
const CELL = 16;
/** What a channel of a cell may differ by, of 255. */
const SHADE = 5;
/** The share of cells that may differ. */
const SHARE = 0.01;
/** The font is the one that Debian's chromium always has. Addresses are of another width in each demo, so they must not break lines; the lanes of an operation are as wide as its times. */
const PLAIN = `:root { --sans: "DejaVu Sans" !important; --mono: "DejaVu Sans Mono" !important }
  *, *::before, *::after { -webkit-text-fill-color: transparent !important; caret-color: transparent !important; transition: none !important }
  ::placeholder { color: transparent !important } .lanes { visibility: hidden !important } .say, .sentence, .need .t, .crumb { white-space: nowrap !important; overflow: hidden !important } .said { display: none !important }`;

/** The pages, each with the way there. */
const PAGES = {
  overview: "/console",
  operations: "/console/operations",
  operation: (page) => attention(page, "Dead letter"),
  reconcile: async (page) => { await attention(page, "Dead letter"); await page.goto(`${page.url()}/reconcile`); },
  retry: async (page) => { await attention(page, "reverts"); await page.goto(`${page.url()}/act/retry`); },
  approvals: "/console/approvals",
  signers: "/console/signers",
  offerings: "/console/offerings",
  distribution: async (page) => { await page.goto("/console/distributions"); await page.locator("[data-row] a").first().click(); await page.waitForURL(/dist_/); },
  // The newcomers register at the same moment, so their order is chance.
  investors: async (page) => {
    await page.goto("/console/investors");
    await page.$eval("tbody", (body) => body.append(...[...body.rows].sort((a, b) => a.innerText.localeCompare(b.innerText))));
  },
  "bulk-retry": "/console/operations/retry?status=attention",
  webhooks: "/console/webhooks",
  webhook: "/console/webhooks/act/create",
  problem: "/console/nothing",
};

let site, chrome, page, bench;

before(async () => {
  site = await demo(process.env.MUNIMENT_BINARY);
  chrome = await browser();
  page = await signedIn(chrome, site, "operator.b", { bypassCSP: true });
  bench = await (await chrome.newContext()).newPage();
  mkdirSync(SEEN, { recursive: true });
});

after(async () => {
  await chrome?.close();
  await site?.stop();
});

/** A picture of the page as it stands, a pixel for each cell. */
async function picture(style = "") {
  const shot = await page.screenshot({ style: PLAIN + style, animations: "disabled" });
  const url = await bench.evaluate(async ([data, cell]) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.round(image.width / cell), Math.round(image.height / cell)];
    const whole = new OffscreenCanvas(image.width, image.height).getContext("2d");
    whole.drawImage(image, 0, 0);
    const from = whole.getImageData(0, 0, image.width, image.height).data;
    const context = canvas.getContext("2d"), to = context.createImageData(canvas.width, canvas.height);
    for (let y = 0; y < canvas.height; y += 1) {
      for (let x = 0; x < canvas.width; x += 1) {
        const sum = [0, 0, 0];
        let count = 0;
        for (let v = y * cell; v < Math.min((y + 1) * cell, image.height); v += 1) {
          for (let u = x * cell; u < Math.min((x + 1) * cell, image.width); u += 1, count += 1) {
            for (let c = 0; c < 3; c += 1) sum[c] += from[(v * image.width + u) * 4 + c];
          }
        }
        for (let c = 0; c < 3; c += 1) to.data[(y * canvas.width + x) * 4 + c] = Math.round(sum[c] / count);
        to.data[(y * canvas.width + x) * 4 + 3] = 255;
      }
    }
    context.putImageData(to, 0, 0);
    return canvas.toDataURL("image/png");
  }, [shot.toString("base64"), CELL]);
  return Buffer.from(url.split(",")[1], "base64");
}

/** The share of cells in which two pictures differ. */
function difference(one, other) {
  return bench.evaluate(async ([pictures, shade]) => {
    const [a, b] = await Promise.all(pictures.map(async (data) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
      const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
      context.drawImage(image, 0, 0);
      return context.getImageData(0, 0, image.width, image.height);
    }));
    if (a.width !== b.width || a.height !== b.height) return 1;
    let cells = 0;
    for (let i = 0; i < a.data.length; i += 4) {
      if ([0, 1, 2].some((c) => Math.abs(a.data[i + c] - b.data[i + c]) > shade)) cells += 1;
    }
    return cells / (a.width * a.height);
  }, [[one.toString("base64"), other.toString("base64")], SHADE]);
}

/** Opens a page in a look, and waits until nothing moves. */
async function open(way, [scheme, size]) {
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  await page.setViewportSize(size);
  await (typeof way === "string" ? page.goto(way) : way(page));
  await listens(page);
  await page.mouse.move(0, 0);
}

for (const look of LOOKS) {
  const [scheme, { width }] = look;
  test(`pages look as they were accepted: ${scheme}, ${width} px`, async () => {
    const wrong = [];
    for (const [name, way] of Object.entries(PAGES)) {
      await open(way, look);
      const file = `${name}-${width}-${scheme}.png`;
      const seen = await picture();
      if (process.env.MUNIMENT_ACCEPT) {
        mkdirSync(ACCEPTED, { recursive: true });
        writeFileSync(join(ACCEPTED, file), seen);
      }
      const share = existsSync(join(ACCEPTED, file)) ? await difference(seen, readFileSync(join(ACCEPTED, file))) : 1;
      if (share > SHARE) {
        writeFileSync(join(SEEN, file), seen);
        await page.screenshot({ path: join(SEEN, `whole-${file}`) });
        wrong.push(`${name}: ${(share * 100).toFixed(1)} % of it differs; ${join(SEEN, `whole-${file}`)}`);
      } else if (process.env.MUNIMENT_LOOKS) console.log(`${file}: ${(share * 100).toFixed(2)} %`);
    }
    assert.deepEqual(wrong, []);
  });
}

test("a part that is shifted, missing or of another colour is a difference", async () => {
  await open("/console/operations", LOOKS[0]);
  const right = await picture();
  assert.equal(await difference(right, await picture()), 0);
  for (const style of [".main { padding-top: 40px !important }", ".side { display: none !important }", ".pair * { background: #fff !important; stroke: none !important }",
    "thead { display: none !important }", ".filter { border: 0 !important; background: none !important }"]) {
    const share = await difference(right, await picture(style));
    assert.ok(share > SHARE, `${style}: ${share}`);
  }
});

/** What must be seen at 1280 × 800 without scrolling, with the least number of each. */
const FIRST = {
  overview: [PAGES.overview, { h1: 1, ".flow a": 7, ".need [data-press]": 2, "[aria-labelledby=chains] .chain": 1, "[aria-labelledby=hour] .spark": 1 }],
  operations: [async () => {
    await page.goto("/console/operations");
    await page.locator("[data-row] input[type=checkbox]").first().check();
  }, { ".tabs a": 7, ".filter": 1, "[data-count]": 1, "[data-row]": 7 }],
  operation: [PAGES.operation, { ".sentence": 1, ".pair": 1, ".verdict": 1, ".act": 5, ".factcard": 1, ".lanes": 1 }],
  reconcile: [async () => {
    await PAGES.reconcile(page);
    await page.locator("a[href*='tx_hash=']").first().click();
    await page.locator(".checks li").first().waitFor();
  }, { "#hash": 1, ".checks li": 6, "textarea[name=reason]": 1, "main form[method=post] button": 1, ".does li": 4 }],
  approvals: [async () => {
    await page.goto("/console/approvals");
    await page.locator("[data-row]", { hasText: "Payout" }).locator("a").click();
  }, { ".plist li": 2, ".duo": 1, "#simulation": 1, ".decide button": 2, ".decide .grp b": 2 }],
  signers: [PAGES.signers, { ".legend": 1, ".ruler": 1, "a[href$='/act/pause']": 1 }],
  distribution: [async () => {
    const begun = (await ask(site, "/v1/distributions")).body.data.find((one) => one.status === "partially_completed");
    await page.goto(`/console/distributions/${begun.id}`);
  }, { ".totals a": 5, "#pages .pair": 2, "#holders tbody tr": 1 }],
};

test("what a person must see first stands at 1280 by 800, and nothing lies over it", async () => {
  const wrong = [];
  for (const [name, [way, parts]] of Object.entries(FIRST)) {
    await open(way, LOOKS[0]);
    for (const [part, least] of Object.entries(parts)) {
      const seen = await page.$$eval(part, (all) => all.filter((one) => {
        const box = one.getBoundingClientRect();
        const edge = (x, y) => one.contains(document.elementFromPoint(x, y)) || document.elementFromPoint(x, y)?.contains(one);
        return one.checkVisibility() && box.top >= 0 && edge(box.left + box.width / 2, box.top + 2) && edge(box.left + box.width / 2, box.bottom - 2);
      }).length);
      if (seen < least) wrong.push(`${name}: ${part}, ${seen} of ${least}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("the sign-in stands whole at 1280 by 800", async () => {
  const outside = await (await chrome.newContext({ baseURL: site.url, viewport: DESK })).newPage();
  await outside.goto("/console/sign-in");
  const below = await outside.evaluate(() => document.documentElement.scrollHeight - innerHeight);
  assert.ok(below <= 0, `${below} px below`);
  assert.match(await outside.innerText("body"), /DEVELOPMENT/);
  assert.match(await outside.innerText("main button[type=submit]"), /development/i);
  await outside.context().close();
});
