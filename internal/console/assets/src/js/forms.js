// Small helps for forms: copy, show password, submit on change, read a grant back, wait
// until the whole call was on screen, keep a draft, one press only.
export function startForms() {
  for (const el of document.querySelectorAll("[data-copy],[data-show]")) el.hidden = false;
  document.addEventListener("witan:drawn", () => {
    for (const el of document.querySelectorAll("[data-copy]")) el.hidden = false;
    watchCallEnd();
  });
  document.addEventListener("click", onClick);
  document.addEventListener("change", (e) => {
    if ("submit" in e.target.dataset) e.target.form.requestSubmit();
  });
  document.addEventListener("submit", once);
  document.addEventListener("input", onInput);
  document.addEventListener("change", onInput);
  // One panel at a time, also where the browser does not group details by name.
  document.addEventListener("toggle", (e) => {
    if (!e.target.open || !e.target.matches?.("details.pop")) return;
    for (const d of document.querySelectorAll("details.pop[open]")) if (d !== e.target && !d.contains(e.target)) d.open = false;
  }, true);
  document.addEventListener("click", (e) => {
    for (const d of document.querySelectorAll("details.pop[open]")) if (!d.contains(e.target)) d.open = false;
  });
  watchCallEnd();
  restoreDraft();
}

async function onClick(e) {
  const copy = e.target.closest("[data-copy]");
  if (copy) {
    try {
      await navigator.clipboard.writeText(copy.dataset.copy);
      const was = copy.lastChild.nodeValue;
      copy.lastChild.nodeValue = " Copied";
      setTimeout(() => { copy.lastChild.nodeValue = was; }, 1500);
    } catch {
      copy.lastChild.nodeValue = " Select and copy";
    }
    return;
  }
  const show = e.target.closest("[data-show]");
  if (show) {
    const f = document.getElementById(show.dataset.show);
    f.type = f.type === "password" ? "text" : "password";
    show.textContent = f.type === "password" ? "Show" : "Hide";
  }
}

// A decision is sent once; the server would refuse the second anyway.
function once(e) {
  const form = e.target;
  if (form.method !== "post" || e.defaultPrevented) return;
  if (form.dataset.sent) { e.preventDefault(); return; }
  form.dataset.sent = "1";
  if ("composer" in form.dataset) sessionStorage.removeItem(draftKey());
  setTimeout(() => { delete form.dataset.sent; }, 4000);
}

let readTimer = 0;
function onInput(e) {
  if ("draft" in e.target.dataset) sessionStorage.setItem(draftKey(), e.target.value);
  const form = e.target.closest?.("[data-readback]");
  if (!form) return;
  clearTimeout(readTimer);
  readTimer = setTimeout(() => readBack(form), 300);
}

// The sentence of a grant has one author, the server: the form is read back by the same
// page that works without a script.
async function readBack(form) {
  const url = new URL(form.dataset.readback, location.origin);
  for (const [k, v] of new FormData(form)) if (!["version", "digest", "answer"].includes(k)) url.searchParams.set(k, v);
  url.searchParams.set("do", "scope");
  try {
    const res = await fetch(url, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    if (!res.ok) return;
    const doc = new DOMParser().parseFromString(await res.text(), "text/html");
    const next = doc.getElementById("readback");
    const now = document.getElementById("readback");
    if (next && now) now.replaceWith(document.importNode(next, true));
  } catch { /* the button below still reads it back */ }
}

// Allow is offered only after the end of the call was on screen.
let seen = null;
function watchCallEnd() {
  seen?.disconnect();
  const end = document.querySelector("[data-call-end]");
  const button = document.querySelector('[data-after="call-end"]');
  if (!end || !button || !("IntersectionObserver" in window) || button.dataset.js) return;
  const label = [...button.childNodes].find((n) => n.nodeType === 3 && n.nodeValue.trim());
  const text = label?.nodeValue;
  seen = new IntersectionObserver((list) => {
    if (list.some((i) => i.isIntersecting)) {
      button.dataset.js = "seen";
      button.removeAttribute("aria-disabled");
      if (label) label.nodeValue = text;
      seen.disconnect();
    } else if (!button.dataset.js) {
      button.setAttribute("aria-disabled", "true");
      if (label) label.nodeValue = " Read to the end ";
    }
  });
  seen.observe(end);
  button.addEventListener("click", (e) => {
    if (button.getAttribute("aria-disabled") !== "true") return;
    e.preventDefault();
    end.scrollIntoView({ block: "center" });
  });
}

const draftKey = () => "witan.draft " + location.pathname;
function restoreDraft() {
  const box = document.querySelector("[data-draft]");
  if (box && !box.value.trim()) box.value = sessionStorage.getItem(draftKey()) || "";
}
