// Keys. A single letter acts only while the focus is in the list or the object, never
// in a field, and can be switched off; each key is printed on the button it presses
// (data-key). Nothing here decides by itself: it presses a button or opens a door.
const OFF = "witan.keys";

export function startKeys() {
  const mac = /mac|iphone|ipad/i.test(navigator.platform || navigator.userAgent);
  for (const k of document.querySelectorAll("[data-mod]")) {
    if (mac) k.textContent = "⌘" + k.dataset.mod;
  }
  upgradeLists();
  document.addEventListener("witan:drawn", upgradeLists);
  const sw = document.querySelector("[data-keyswitch]");
  if (sw) {
    sw.hidden = false;
    const draw = () => sw.querySelectorAll("button").forEach((b) => b.classList.toggle("on", (b.dataset.keysSet === "off") === off()));
    sw.addEventListener("click", (e) => {
      const v = e.target.dataset.keysSet;
      if (!v) return;
      if (v === "off") localStorage.setItem(OFF, "off");
      else localStorage.removeItem(OFF);
      draw();
    });
    draw();
  }
  document.addEventListener("keydown", onKey);
  const first = document.querySelector("[data-autofocus]:not(details *)") || document.querySelector("[data-queue]");
  if (first && matchMedia("(min-width:901px)").matches && document.activeElement === document.body) first.focus({ preventScroll: true });
}

export const off = () => localStorage.getItem(OFF) === "off";
let leader = 0;

function onKey(e) {
  const typing = e.target.matches?.("input:not([type=radio]):not([type=checkbox]),textarea,select");
  const mod = e.ctrlKey || e.metaKey;
  if (mod && !e.altKey && e.key.toLowerCase() === "k") return stop(e, () => focusFind());
  if (mod && e.key === "Enter") {
    const form = e.target.closest?.("form") || document.querySelector("details[open] form.menu");
    const b = form && [...form.querySelectorAll("button:not([type=button])")].pop();
    if (b && !b.disabled) stop(e, () => form.requestSubmit(b));
    return;
  }
  if (mod && e.key === ".") {
    const b = document.querySelector("[data-cancel]");
    if (b) stop(e, () => b.click());
    return;
  }
  if (e.altKey && e.shiftKey && e.code === "KeyH") {
    const d = document.querySelector("[data-halt]");
    if (d) stop(e, () => { d.open = true; d.querySelector("button").focus(); });
    return;
  }
  if (e.key === "Escape") return escape(e);
  if (typing || mod || e.altKey || off()) return;
  if (e.target.closest?.("details[open] .menu")) return;
  const inside = e.target === document.body || e.target.closest?.("#main");
  const k = e.key === " " ? "Space" : e.key.toUpperCase();

  if (leader && Date.now() - leader < 1200) {
    leader = 0;
    const nav = document.querySelector(`[data-go="${CSS.escape(k)}"]`);
    if (nav) return stop(e, () => nav.click());
  }
  if (k === "G") { leader = Date.now(); return; }
  if (k === "/") return stop(e, () => (document.querySelector('input[data-key="/"]') || find()).focus());
  if (!inside) return;
  if (k === "J" || k === "ARROWDOWN") { if (move(1)) stop(e); return; }
  if (k === "K" || k === "ARROWUP") { if (move(-1)) stop(e); return; }
  if (k === "ENTER" && e.target.matches("[data-queue]")) {
    const a = e.target.querySelector(".active>a,.active a");
    if (a) stop(e, () => a.click());
    return;
  }
  if (e.target.matches("a,button,summary") && k === "SPACE") return;
  const want = e.shiftKey && k.length === 1 && /[A-Z]/.test(k) ? k + "+" : k === "SPACE" ? "Space" : k;
  const b = [...document.querySelectorAll(`[data-key="${CSS.escape(want)}"]`)].find((x) => x.offsetParent && !x.disabled);
  if (b) stop(e, () => press(b));
}

function press(b) {
  // High risk: the key moves the focus, Enter and the passkey act.
  if ("focusOnly" in b.dataset) return b.focus();
  if (b.matches("input")) return b.focus();
  b.click();
  // At once: the next key of somebody who types fast belongs into the field, and must
  // not press another button.
  if (b.matches("summary")) (b.parentElement.querySelector("[data-autofocus]") || b.parentElement.querySelector("textarea,input:not([type=hidden])"))?.focus();
}

function escape(e) {
  const d = e.target.closest?.("details.pop[open]") || document.querySelector("details.pop[open]");
  if (!d) return;
  stop(e, () => { d.open = false; d.querySelector("summary").focus(); });
}

function stop(e, then) {
  e.preventDefault();
  then?.();
}

const find = () => document.querySelector(".top .find input");
function focusFind() { const f = find(); f?.focus(); f?.select(); }

// Lists become listboxes with one tab stop; without a script they are lists of links.
function upgradeLists() {
  for (const ul of document.querySelectorAll("[data-queue]")) {
    ul.setAttribute("role", "listbox");
    ul.tabIndex = 0;
    for (const li of ul.children) {
      const a = li.querySelector("a");
      li.setAttribute("role", "option");
      if (!li.id) li.id = "o-" + Math.random().toString(36).slice(2);
      const on = a?.hasAttribute("aria-current");
      li.setAttribute("aria-selected", String(!!on));
      if (a) a.tabIndex = -1;
      li.classList.toggle("active", !!on);
      if (on) ul.setAttribute("aria-activedescendant", li.id);
    }
  }
}

function move(step) {
  const rows = [...document.querySelectorAll("[data-queue]>li")].filter((r) => r.offsetParent);
  if (!rows.length) return false;
  const at = rows.findIndex((r) => r.classList.contains("active"));
  const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
  if (!next || rows[at] === next) return at >= 0;
  rows[at]?.classList.remove("active");
  next.classList.add("active");
  const ul = next.parentElement;
  ul.setAttribute("aria-activedescendant", next.id);
  ul.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  clearTimeout(move.timer);
  move.timer = setTimeout(() => next.querySelector("a")?.click(), 180);
  return true;
}
