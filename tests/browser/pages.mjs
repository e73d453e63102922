// Every page that a person can reach by links: one of each kind.

/** The kind of a page: its address with `{id}` for what names one thing, and without its query. */
export function kind(path) {
  return path.split("?")[0].replace(/\/(op|apr|off|dist|inv|usr|key|lan|whe|whd|rec|run|[a-z]{2,5})_[0-9a-z]{20,}/g, "/{id}");
}

/** One address of each kind, found by following links from the pages of the navigation. */
export async function everyPage(page) {
  const found = new Map();
  const queue = ["/console"];
  while (queue.length) {
    const path = queue.shift();
    if (found.has(kind(path))) continue;
    // A file to save is no page.
    const answer = await page.goto(path).catch((error) => { if (!/Download is starting/.test(error.message)) throw error; });
    if (!answer || !new URL(page.url()).pathname.startsWith("/console")) continue;
    found.set(kind(path), { path, status: answer.status() });
    const links = await page.$$eval("a[href]", (all) => all.map((a) => a.getAttribute("href")));
    queue.push(...links.filter((link) => link.startsWith("/console") && !link.startsWith("/console/assets")).map((link) => link.split("#")[0]));
  }
  return [...found.values()];
}
