// Regions re-fetch themselves. One fetch of this page's own address serves all of them
// (If-None-Match, coalesced to one in 250 ms). A region in which the pointer or the
// focus is stays as it is and a pill says what is new; a region that this person waits
// for (data-eager) and a log that only grows (data-flow) are drawn at once.
import { morph } from "./morph.js";

const COALESCE_MS = 250;
const SAY_MS = 10_000;

let timer = 0;
let running = false;
let again = false;
let etag = "";
let fresh = null; // the newest document, kept while regions are busy
let lastSaid = 0;
let turn = 0; // counts the documents that did not come by a refresh
const drawn = new WeakMap(); // each region as the server last drew it

export function startRegions() {
  for (const el of document.querySelectorAll("[data-region]")) drawn.set(el, source(el));
  for (const type of ["mouseout", "focusout"]) {
    document.addEventListener(type, () => setTimeout(settle, 120), { passive: true });
  }
  document.addEventListener("click", (e) => {
    const pill = e.target.closest("[data-pill],[data-pill-group]");
    if (pill?.dataset.pill) apply(document.getElementById(pill.dataset.pill), true);
    else if (pill) for (const el of group(pill.dataset.pillGroup)) apply(el, true);
  });
  // A form that was refused is answered under its own address, which nobody can fetch:
  // a page that says where it belongs goes there.
  const home = document.querySelector("main[data-here]")?.dataset.here;
  if (home && new URL(home, location.origin).pathname !== location.pathname) history.replaceState(null, "", home);
  const talk = document.querySelector("[data-flow]");
  if (talk && getComputedStyle(talk).overflowY === "auto") talk.scrollTop = talk.scrollHeight;
  else if (talk && !talk.closest(".task") && document.querySelector("#app[data-view=object]")) window.scrollTo(0, document.documentElement.scrollHeight);
}

export function markNews() {
  clearTimeout(timer);
  timer = setTimeout(refresh, COALESCE_MS);
}

export async function refresh() {
  if (running) { again = true; return; }
  running = true;
  try {
    const headers = { Accept: "text/html", "X-Witan-Region": "1" };
    if (etag) headers["If-None-Match"] = etag;
    const mine = turn;
    const res = await fetch(location.href, { headers, credentials: "same-origin", cache: "no-store" });
    if (res.status === 304) return;
    if (res.redirected || res.status === 401) return location.reload();
    if (!res.ok) return;
    if (mine !== turn) { again = true; return; } // asked before what this person did since
    etag = res.headers.get("ETag") || "";
    fresh = new DOMParser().parseFromString(await res.text(), "text/html");
    say(fresh);
    settle();
  } catch {
    // The stream says in words that the server cannot be reached.
  } finally {
    running = false;
    if (again) { again = false; markNews(); }
  }
}

// adopt takes a page that answered a form: what this person did is drawn at once, also
// under the pointer, and the refusal if there is one.
export function adopt(doc) {
  turn += 1;
  fresh = doc;
  etag = "";
  const note = document.getElementById("refused");
  const next = doc.getElementById("refused");
  if (note && next) morph(note, document.importNode(next, true));
  const slide = places();
  for (const el of document.querySelectorAll("[data-region]")) apply(el, "group" in el.dataset);
  slide();
}

// places remembers where the rows of groups stand; the function it returns lets those
// that stand elsewhere slide there.
const places = () => {
  if (matchMedia("(prefers-reduced-motion:reduce)").matches) return () => {};
  const was = new Map();
  for (const row of document.querySelectorAll("[data-group] [data-row]")) was.set(row.dataset.row, row.getBoundingClientRect());
  return () => {
    for (const row of document.querySelectorAll("[data-group] [data-row]")) {
      const from = was.get(row.dataset.row);
      const to = row.getBoundingClientRect();
      if (!from?.width || !to.width || (from.left === to.left && from.top === to.top)) continue;
      row.animate([{ transform: `translate(${from.left - to.left}px,${from.top - to.top}px)`, zIndex: 2 }, { transform: "none", zIndex: 2 }], { duration: 160, easing: "ease-out" });
    }
  };
};

function settle() {
  if (!fresh) return;
  // Regions of one group change together or wait together: what moves from one to the
  // other must never stand in both, or in none.
  const waits = new Set();
  for (const el of document.querySelectorAll("[data-group]")) {
    const next = fresh.getElementById(el.id);
    if (next && !same(el, next) && busy(el)) waits.add(el.dataset.group);
  }
  const slide = places();
  for (const el of document.querySelectorAll("[data-region]")) apply(el, false, waits.has(el.dataset.group));
  slide();
}

const group = (name) => document.querySelectorAll(`[data-group="${name}"]`);

function apply(el, forced, wait) {
  if (!el || !fresh) return;
  const next = fresh.getElementById(el.id);
  if (!next) return;
  const shared = el.dataset.group;
  const pill = document.querySelector(shared ? `[data-pill-group="${shared}"]` : `[data-pill="${el.id}"]`);
  if (same(el, next)) { if (pill && !wait) pill.hidden = true; return; }
  if (!forced && (wait || busy(el)) && !("eager" in el.dataset)) { hold(el, next, pill); return; }
  const end = "flow" in el.dataset && el.scrollHeight - el.scrollTop - el.clientHeight < 80;
  const clone = document.importNode(next, true);
  drawn.set(el, source(next));
  morph(el, clone);
  el.dataset.js = "1";
  if (end) el.scrollTop = el.scrollHeight;
  if (pill) pill.hidden = true;
  el.dispatchEvent(new CustomEvent("witan:drawn", { bubbles: true }));
}

function same(el, next) {
  return drawn.get(el) === source(next);
}

// source is what the server said; the page itself is changed by keys and forms.
function source(el) {
  return (el.dataset.state || "") + el.innerHTML;
}

// busy: the pointer or the focus is inside, or a panel is open. An empty list and a log
// that only grows at its end are never busy: nothing there can move under the pointer.
function busy(el) {
  if ("flow" in el.dataset) return el.contains(document.activeElement) && document.activeElement.matches("input,textarea,select");
  if ("rows" in el.dataset && !el.querySelector("[data-row]")) return false;
  return el.matches(":hover") || el.contains(document.activeElement) || !!el.querySelector("details[open]");
}

function hold(el, next, pill) {
  // Counts may move at once; rows may not.
  if (el.dataset.state !== undefined && el.dataset.state !== next.dataset.state) {
    for (const b of el.querySelectorAll("#decision button")) b.disabled = true;
    for (const b of el.querySelectorAll("#decision summary")) b.classList.add("off");
  }
  if (!pill) return;
  const text = news(el, next);
  pill.textContent = text;
  const key = document.createElement("kbd");
  key.textContent = "N";
  pill.append(key);
  pill.dataset.key = "N";
  pill.hidden = false;
}

function news(el, next) {
  if (!("rows" in el.dataset)) return el.dataset.state !== next.dataset.state ? "Changed. Show it" : "News. Show it";
  const have = new Set([...el.querySelectorAll("[data-row]")].map((r) => r.dataset.row));
  const added = [...next.querySelectorAll("[data-row]")].filter((r) => !have.has(r.dataset.row));
  if (added.length === 0) return "Changed. Show it";
  const high = added.filter((r) => r.dataset.risk === "high" || r.dataset.risk === "critical").length;
  return `${added.length} new${high ? `, ${high} high risk` : ""}`;
}

// One polite sentence in ten seconds at most, and only about what needs a person.
function say(doc) {
  const queue = document.getElementById("queue");
  const next = doc.getElementById("queue");
  if (!queue || !next) return;
  const text = news(queue, next);
  if (/^\d/.test(text)) announce(text.replace(" new", text.startsWith("1 ") ? " new item" : " new items"));
}

export function announce(text) {
  const now = Date.now();
  if (now - lastSaid < SAY_MS) return;
  lastSaid = now;
  const box = document.getElementById("announce");
  if (box) box.textContent = text;
}
