// The board with a pointer and with keys. Each card has a form that moves it; dragging
// and keys only press its buttons. The page that answers is drawn in place, with the
// refusal if the move was refused.
import { adopt, announce } from "./regions.js";
import { off } from "./keys.js";

const FAR = 6; // px from which a press is a drag
let drag = null;

export function startBoard() {
  const board = document.getElementById("board");
  if (!board) return;
  board.addEventListener("submit", (e) => {
    if (!e.target.matches(".moves") || !e.submitter) return;
    e.preventDefault();
    send(e.target, e.submitter.value);
  });
  board.addEventListener("pointerdown", press);
  board.addEventListener("dragstart", (e) => e.preventDefault());
  document.addEventListener("keydown", onKey, true);
}

const cardOf = (el) => el?.closest?.("#board [data-row]");
const formOf = (card) => card.querySelector("form.moves");
const columns = () => [...document.querySelectorAll("#board [data-col]")].filter((c) => c.offsetParent);
const cardsIn = (col) => [...col.querySelectorAll("[data-row]")];
const focusCard = (card) => card?.querySelector("a.tt")?.focus();

// send moves a card, and draws what the server says.
async function send(form, to) {
  const card = cardOf(form);
  const body = new URLSearchParams(new FormData(form));
  body.set("to", to);
  card.classList.add("going");
  card.querySelector("details").open = false;
  try {
    const res = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" }, credentials: "same-origin" });
    if (new URL(res.url).pathname === "/signin") return location.reload();
    const doc = new DOMParser().parseFromString(await res.text(), "text/html");
    if (!doc.getElementById("board")) return say(doc.querySelector("h1")?.textContent || "It could not be moved.");
    adopt(doc);
    const why = document.querySelector("#refused [role=alert]");
    if (!why) announce("Moved.");
    focusCard(document.getElementById(card.id));
  } catch {
    say("It was not moved: Witan cannot be reached.");
  } finally {
    document.getElementById(card.id)?.classList.remove("going");
  }
}

function say(text) {
  const p = document.createElement("p");
  p.className = "note c-deny narrow-in";
  p.setAttribute("role", "alert");
  p.textContent = text;
  document.getElementById("refused").replaceChildren(p);
}

// whyNot is the reason that the card's own menu gives for a column.
const whyNot = (card, to) => formOf(card).querySelector(`[data-off="${to}"] [data-why]`)?.textContent || "";

function press(e) {
  const card = cardOf(e.target);
  if (!card || e.button || e.pointerType === "touch" || !formOf(card) || e.target.closest("summary,.menu,button")) return;
  drag = { card, x: e.clientX, y: e.clientY, id: card.id };
  document.addEventListener("pointermove", follow);
  document.addEventListener("pointerup", drop);
  document.addEventListener("pointercancel", end);
}

function follow(e) {
  if (!drag.ghost) {
    if (Math.hypot(e.clientX - drag.x, e.clientY - drag.y) < FAR) return;
    lift();
  }
  drag.ghost.style.transform = `translate(${e.clientX - drag.x}px,${e.clientY - drag.y}px)`;
  const over = document.elementFromPoint(e.clientX, e.clientY)?.closest("[data-col]");
  if (over === drag.over) return;
  if (drag.over) mark(drag.over);
  drag.over = over;
  if (!over || over.contains(drag.card)) return;
  const why = whyNot(drag.card, over.dataset.col);
  if (why) {
    over.dataset.jsNo = why;
    announce(why);
  } else over.dataset.jsDrop = "over";
}

// mark says which columns take the card.
function mark(col) {
  delete col.dataset.jsNo;
  if (col.contains(drag.card) || whyNot(drag.card, col.dataset.col)) delete col.dataset.jsDrop;
  else col.dataset.jsDrop = "yes";
}

function lift() {
  const box = drag.card.getBoundingClientRect();
  const ghost = drag.card.cloneNode(true);
  ghost.removeAttribute("id");
  ghost.removeAttribute("data-row");
  ghost.querySelector("details")?.remove();
  ghost.classList.add("ghost");
  ghost.setAttribute("aria-hidden", "true");
  Object.assign(ghost.style, { left: box.left + "px", top: box.top + "px", width: box.width + "px" });
  document.body.append(ghost);
  document.body.classList.add("dragging");
  getSelection()?.removeAllRanges();
  drag.card.classList.add("going");
  drag.ghost = ghost;
  columns().forEach(mark);
}

function drop() {
  const { card, over, ghost } = drag;
  end();
  if (!ghost) return;
  // The click that ends a drag opens nothing.
  const eat = (e) => { e.preventDefault(); e.stopPropagation(); };
  document.addEventListener("click", eat, { capture: true, once: true });
  setTimeout(() => document.removeEventListener("click", eat, true), 0);
  if (over && !over.contains(card) && card.isConnected) send(formOf(card), over.dataset.col);
}

function end() {
  document.removeEventListener("pointermove", follow);
  document.removeEventListener("pointerup", drop);
  document.removeEventListener("pointercancel", end);
  document.body.classList.remove("dragging");
  drag?.ghost?.remove();
  document.getElementById(drag?.id)?.classList.remove("going");
  for (const c of document.querySelectorAll("[data-col]")) {
    delete c.dataset.jsDrop;
    delete c.dataset.jsNo;
  }
  drag = null;
}

const ARROWS = { ARROWLEFT: "H", ARROWDOWN: "J", ARROWUP: "K", ARROWRIGHT: "L" };

function onKey(e) {
  if (drag && e.key === "Escape") return end();
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches?.("input,textarea,select")) return;
  const name = e.key.toUpperCase();
  const k = ARROWS[name] || (off() ? "" : name);
  if (!"HJKLM".includes(k) || !k) return;
  const menu = e.target.closest?.(".mv[open] .menu, .mv[open] > summary");
  if (menu) {
    if (k === "J" || k === "K") stop(e, () => step(e.target.closest(".mv"), k === "J" ? 1 : -1));
    return;
  }
  const card = cardOf(e.target);
  if (!card) {
    if (e.target === document.body && k !== "M") stop(e, () => focusCard(document.querySelector("#board [data-row]")));
    return;
  }
  if (k === "M") return stop(e, () => openMenu(card));
  if (e.shiftKey && (k === "H" || k === "L")) return stop(e, () => beside(card, k === "L" ? 1 : -1));
  stop(e, () => go(card, k));
}

function stop(e, then) {
  e.preventDefault();
  e.stopPropagation();
  then();
}

function openMenu(card) {
  const d = card.querySelector(".mv");
  if (!d) return;
  d.open = true;
  d.querySelector("button")?.focus();
}

function step(d, by) {
  const all = [...d.querySelectorAll("button")];
  all[(all.indexOf(document.activeElement) + by + all.length) % all.length]?.focus();
}

// beside moves a card into the next column, whatever the server says to it.
function beside(card, by) {
  const all = columns();
  const to = all[all.findIndex((c) => c.contains(card)) + by];
  if (to && formOf(card)) send(formOf(card), to.dataset.col);
}

function go(card, k) {
  const all = columns();
  const col = all.findIndex((c) => c.contains(card));
  const rows = cardsIn(all[col]);
  const at = rows.indexOf(card);
  if (k === "J") return focusCard(rows[at + 1]);
  if (k === "K") return focusCard(rows[at - 1]);
  for (let i = col + (k === "L" ? 1 : -1); all[i]; i += k === "L" ? 1 : -1) {
    const there = cardsIn(all[i]);
    if (there.length) return focusCard(there[Math.min(at, there.length - 1)]);
  }
}
