// Keys, marks, theme, and pages that follow what is at work. Every page also works without it.
(() => {
  "use strict";

  const root = document.documentElement;
  const rows = () => [...document.querySelectorAll("table[data-list] tbody tr[data-href]")];
  const keys = document.getElementById("keys");
  const search = document.querySelector("[data-search]");
  let at = -1;

  // Theme: as the system, dark, light.
  function theme() {
    const next = { dark: "light", light: "" }[root.dataset.theme ?? ""] ?? "dark";
    if (next) {
      root.dataset.theme = next;
      localStorage.setItem(THEME, next);
    } else {
      delete root.dataset.theme;
      localStorage.removeItem(THEME);
    }
    window.dispatchEvent(new Event("themechange"));
  }
  document.getElementById("theme").addEventListener("click", theme);
  document.getElementById("help").addEventListener("click", () => keys.showModal());
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.dispatchEvent(new Event("themechange")));

  // The line that keys act on; it is in the URL, so that going back finds it again.
  function go(to) {
    const all = rows();
    if (!all.length) return;
    all[at]?.classList.remove("at");
    at = Math.max(0, Math.min(all.length - 1, to));
    all[at].classList.add("at");
    all[at].scrollIntoView({ block: "nearest" });
    history.replaceState(null, "", `#${at + 1}`);
  }
  const begun = Number(location.hash.slice(1));
  if (begun >= 1 && begun <= rows().length) go(begun - 1);
  const open = () => rows()[at] && location.assign(rows()[at].dataset.href);

  document.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-href]");
    if (!row || event.target.closest("a") || getSelection().toString()) return;
    if (event.target.closest(".mark")) mark(row.dataset.ref);
    else if (event.ctrlKey || event.metaKey) window.open(row.dataset.href, "_blank");
    else location.assign(row.dataset.href);
  });

  // From one transfer of a list to the next, and back to the list.
  const list = rows().map((row) => row.dataset.ref).filter(Boolean);
  if (list.length) sessionStorage.setItem("list", JSON.stringify({ refs: list, where: location.pathname + location.search }));
  const last = JSON.parse(sessionStorage.getItem("list") ?? '{"refs":[]}');
  const own = last.refs.indexOf(document.querySelector("[data-mark]")?.dataset.mark);
  function step(by) {
    if (rows().length) go(at < 0 && by < 0 ? 0 : at + by);
    else if (own >= 0 && last.refs[own + by]) location.replace(`/transfer/${last.refs[own + by]}`);
  }
  function back() {
    if (rows().length) return;
    if (own >= 0) location.assign(`${last.where}#${own + 1}`);
    else history.back();
  }

  // Two marked transfers can be compared, also from different pages of the list.
  const marks = () => JSON.parse(sessionStorage.getItem("marks") ?? "[]");
  function show() {
    const now = marks();
    for (const row of rows()) row.classList.toggle("marked", now.includes(row.dataset.ref));
    for (const link of document.querySelectorAll("[data-mark]")) {
      link.textContent = now.includes(link.dataset.mark) ? (now.length > 1 ? "Compare the two marked" : "Marked: mark another one to compare (x)") : now.length ? "Compare with the marked one" : "Mark to compare";
    }
  }
  function mark(ref) {
    if (!ref) return;
    const now = marks();
    const next = now.includes(ref) ? now.filter((one) => one !== ref) : [...now.slice(-1), ref];
    sessionStorage.setItem("marks", JSON.stringify(next));
    show();
  }
  function compare() {
    const [a, b] = marks();
    if (a && b) location.assign(`/compare?${new URLSearchParams({ a: decodeURI(a), b: decodeURI(b) })}`);
  }
  for (const link of document.querySelectorAll("[data-mark]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const now = marks();
      if (!now.includes(link.dataset.mark)) mark(link.dataset.mark);
      if (marks().length > 1) compare();
    });
  }
  show();

  const follow = (relation) => document.querySelector(`a[rel="${relation}"]`)?.click();
  const places = { t: "/", c: "/captures", r: "/runs", p: "/campaigns", e: "/results" };
  const actions = {
    j: () => step(1),
    k: () => step(-1),
    Enter: open,
    o: open,
    x: () => mark(rows()[at]?.dataset.ref ?? document.querySelector("[data-mark]")?.dataset.mark),
    c: compare,
    t: theme,
    "/": () => search?.select(),
    "[": () => follow("prev"),
    "]": () => follow("next"),
    "?": () => keys.showModal(),
    Escape: back,
  };
  let before = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    if (event.target.matches("input, textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "Enter" && event.target.matches("a, button, summary")) return;
    const target = before === "g" ? places[event.key] : undefined;
    before = event.key;
    if (target) location.assign(target);
    else if (actions[event.key]) actions[event.key]();
    else return;
    event.preventDefault();
  });

  // What is at work: the page is asked for again and put in place; what is open stays open.
  async function refresh() {
    let wait = 2000;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (answer.headers.get("content-security-policy")?.includes("sandbox")) return location.reload(); // a report
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const main = page.querySelector("main");
      if (!answer.ok || !main) return setTimeout(refresh, 10000); // an error, which may pass
      if (!document.querySelector("main details[open]") && !getSelection().toString()) document.querySelector("main").replaceWith(main);
      if (at >= 0) rows()[at]?.classList.add("at");
      show();
      if (!page.body.hasAttribute("data-live")) return undefined;
    } catch {
      wait = 10000; // the server is away
    }
    return setTimeout(refresh, wait);
  }
  if (document.body.hasAttribute("data-live")) setTimeout(refresh, 1000);
})();
