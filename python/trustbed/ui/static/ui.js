// Keys, marks, theme, and pages that follow what is at work. Every page also works without it.
(() => {
  "use strict";

  const root = document.documentElement;
  const rows = [...document.querySelectorAll("table[data-list] tbody tr[data-href]")];
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
    if (!rows.length) return;
    rows[at]?.classList.remove("at");
    at = Math.max(0, Math.min(rows.length - 1, to));
    rows[at].classList.add("at");
    rows[at].scrollIntoView({ block: "nearest" });
    history.replaceState(null, "", `#${at + 1}`);
  }
  const begun = Number(location.hash.slice(1));
  if (rows.length && begun >= 1 && begun <= rows.length) go(begun - 1);

  for (const row of rows) {
    row.addEventListener("click", (event) => {
      if (event.target.closest("a, .mark") || getSelection().toString()) return;
      if (event.ctrlKey || event.metaKey) window.open(row.dataset.href, "_blank");
      else location.assign(row.dataset.href);
    });
    row.querySelector(".mark")?.addEventListener("click", () => mark(row.dataset.ref));
  }

  // Two marked transfers can be compared, also from different pages of the list.
  const marks = () => JSON.parse(sessionStorage.getItem("marks") ?? "[]");
  function show() {
    const now = marks();
    for (const row of rows) row.classList.toggle("marked", now.includes(row.dataset.ref));
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
  const places = { t: "/", c: "/captures", r: "/runs", p: "/campaigns" };
  const actions = {
    j: () => go(at + 1),
    k: () => go(at < 0 ? 0 : at - 1),
    Enter: () => rows[at] && location.assign(rows[at].dataset.href),
    o: () => rows[at] && location.assign(rows[at].dataset.href),
    x: () => mark(rows[at]?.dataset.ref ?? document.querySelector("[data-mark]")?.dataset.mark),
    c: compare,
    t: theme,
    "/": () => search?.select(),
    "[": () => follow("prev"),
    "]": () => follow("next"),
    "?": () => keys.showModal(),
    Escape: () => document.body.dataset.page && history.length > 1 && !rows.length && history.back(),
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
      const text = await answer.text();
      const page = new DOMParser().parseFromString(text, "text/html");
      if (answer.headers.get("content-security-policy")?.includes("sandbox")) return location.reload();
      if (!document.querySelector("main details[open]") && !getSelection().toString()) document.querySelector("main").replaceWith(page.querySelector("main"));
      if (!page.body.hasAttribute("data-live")) return undefined;
    } catch {
      wait = 10000; // the server is away
    }
    return setTimeout(refresh, wait);
  }
  if (document.body.hasAttribute("data-live")) setTimeout(refresh, 1000);
})();
