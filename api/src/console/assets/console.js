// Pages work without this file: it adds keys, copying and live updates.
(() => {
  "use strict";
  const one = (selector) => document.querySelector(selector);
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const store = { get: (k) => { try { return localStorage.getItem(k); } catch { return null; } }, set: (k, v) => { try { localStorage.setItem(k, v); } catch { /* a private window */ } } };
  const clock = () => new Date().toISOString().slice(11, 19);

  // The demo's link holds the password behind #, which no browser sends.
  const password = one("input[name=password]");
  if (password && location.hash.length > 1) {
    password.value = decodeURIComponent(location.hash.slice(1));
    const email = one("input[name=email]");
    if (password.value.startsWith("demo-")) email.value ||= "operator@demo.example";
    history.replaceState(null, "", location.pathname + location.search);
  }

  // ── copying, and forms that are sent once ──
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    event.preventDefault();
    navigator.clipboard?.writeText(button.dataset.copy);
    const label = button.getAttribute("aria-label");
    button.setAttribute("aria-label", "Copied");
    setTimeout(() => button.setAttribute("aria-label", label), 1500);
  });
  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented || event.target.method !== "post") return;
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "1";
  });
  addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));

  // ── the page holds still while a refresh would lose something: a selection, what is typed, the keys or the menu on top ──
  const FIELDS = "[data-live] :is(textarea, select, input:not([type=hidden], [type=checkbox], [type=radio]))";
  const boxes = () => [...document.querySelectorAll("[data-row] input[type=checkbox]")];
  let heldSince = null, waiting = 0, last = -1;
  const selected = () => boxes().filter((box) => box.checked).length;
  const onTop = () => one("#keys:target, #nav:target");
  const isTyped = (field) => field === document.activeElement || field.value !== (field.defaultValue ?? field.value);
  const busy = () => selected() > 0 || onTop() || [...document.querySelectorAll(FIELDS)].some(isTyped);
  const showSelection = () => {
    const bar = one("#selection");
    if (!bar) return;
    const count = selected();
    // Without this file the bar always stands there.
    bar.hidden = !count;
    bar.querySelector("[data-count]").textContent = `${count} selected`;
    bar.querySelector("[data-held]").textContent = `List held still since ${heldSince}` + (waiting ? `, ${waiting} ${waiting === 1 ? "change waits" : "changes wait"}` : "");
    boxes().forEach((box) => box.closest("[data-row]").classList.toggle("sel", box.checked));
  };
  const hold = () => {
    heldSince = busy() ? heldSince || clock() : null;
    showSelection();
    showLink();
    if (!heldSince && waiting) { waiting = 0; refresh(); }
  };
  for (const kind of ["hashchange", "pageshow"]) addEventListener(kind, hold);
  for (const kind of ["change", "input", "focusin", "focusout"]) document.addEventListener(kind, hold);
  const select = (index, range) => {
    const all = rows(), box = (i) => all[i]?.querySelector("input[type=checkbox]");
    if (!box(index)) return;
    const on = !box(index).checked, from = range && last >= 0 ? last : index;
    for (let i = Math.min(from, index); i <= Math.max(from, index); i++) box(i).checked = range ? true : on;
    last = index;
    hold();
  };
  const clear = () => { boxes().forEach((box) => { box.checked = false; }); hold(); };
  document.addEventListener("click", (event) => { if (event.target.closest("[data-clear]")) { event.preventDefault(); clear(); } });

  // ── live: a stream says that something changed, and the page reads itself again ──
  let running = false, again = false;
  const STOPS = "a, button, input, summary";
  const wait = () => { waiting += 1; hold(); };
  /** Puts the new part in the place of the old one, with the focus and the opened details where they were. */
  const replace = (part, next) => {
    const fresh = document.importNode(next, true), opened = [...part.querySelectorAll("details")].map((details) => details.open);
    fresh.querySelectorAll("details").forEach((details, i) => { details.open ||= opened[i] ?? false; });
    const focused = part.contains(document.activeElement) ? document.activeElement : null, home = focused?.closest("[id]");
    const stop = home ? [...home.querySelectorAll(STOPS)].indexOf(focused) : -1;
    part.replaceWith(fresh);
    const now = home && document.getElementById(home.id);
    (stop < 0 ? now : now?.querySelectorAll(STOPS)[stop])?.focus({ preventScroll: true });
  };
  async function refresh() {
    if (busy()) { wait(); return; }
    if (running) { again = true; return; }
    running = true;
    try {
      const answer = await fetch(location.href.split("#")[0], { headers: { "x-console-live": "1" }, redirect: "manual" });
      if (answer.status === 401) { disconnected("Signed out"); return; }
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      // Somebody may have begun while it was read.
      if (busy()) { wait(); return; }
      const here = rows().findIndex((row) => row.classList.contains("here"));
      const at = rows()[here]?.id;
      document.querySelectorAll("[data-live][id]").forEach((part) => {
        const next = fresh.getElementById(part.id);
        if (next && next.outerHTML !== part.outerHTML) replace(part, next);
      });
      if (at) document.getElementById(at)?.classList.add("here");
    } catch { /* the stream says when the server is away */ } finally {
      running = false;
      if (again) { again = false; setTimeout(refresh, 400); }
    }
  }
  const link = one("#link");
  let gone = "";
  const showLink = () => {
    if (!link) return;
    const off = gone ? `${gone} since ${link.dataset.since}` : heldSince && `Paused since ${heldSince}`;
    one("#env").classList.toggle("off", Boolean(off));
    link.querySelector("b").textContent = off || "Live";
  };
  const disconnected = (why) => {
    if (!link) return;
    gone = why;
    link.hidden = false;
    link.dataset.since ||= clock();
    showLink();
  };
  hold();
  if (link && one("#nav")) {
    const stream = new EventSource("/console/live");
    stream.addEventListener("open", () => {
      const was = gone;
      gone = "";
      delete link.dataset.since;
      link.hidden = false;
      showLink();
      if (was) refresh();
    });
    stream.addEventListener("change", refresh);
    stream.addEventListener("error", () => disconnected("Disconnected"));
  }

  // ── keys ──
  const off = one("#no-keys");
  if (off) {
    off.checked = store.get("no-keys") === "1";
    off.addEventListener("change", () => store.set("no-keys", off.checked ? "1" : "0"));
  }
  let g = false;
  const move = (step) => {
    const all = rows(), i = all.findIndex((row) => row.classList.contains("here"));
    if (!all.length) return;
    const n = Math.max(0, Math.min(all.length - 1, i + step));
    all[i]?.classList.remove("here");
    all[n].classList.add("here");
    all[n].scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    const key = event.key, inField = event.target.matches("textarea, select, input:not([type=checkbox]):not([type=radio])");
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    if (key === "Escape") {
      if (inField) event.target.blur();
      else if (onTop()) location.hash = "_";
      else if (selected()) clear();
      else one("[data-back]")?.click();
      return;
    }
    if (inField || off?.checked) return;
    const all = rows(), i = all.findIndex((row) => row.classList.contains("here"));
    if (g) { g = false; const target = one(`[data-key="${CSS.escape(key)}"]`); if (target) location.href = target.href; return; }
    if (key === "g") { g = true; setTimeout(() => { g = false; }, 1500); }
    else if (key === "/") { const field = one("[data-search]"); if (field) { event.preventDefault(); field.focus(); } }
    else if (key === "?") location.hash = "keys";
    else if (key === "j") move(1);
    else if (key === "k") move(-1);
    else if (key.toLowerCase() === "x" && i >= 0) select(i, event.shiftKey);
    else if (key === "Enter" && i >= 0 && !event.target.closest("a, button, summary")) all[i].querySelector("a")?.click();
    else if (/^[a-z1-9[\]]$/.test(key)) one(`[data-press="${CSS.escape(key)}"]`)?.click();
  });
})();
