// Our own event stream client. It reads text/event-stream by fetch rather than by
// EventSource, because it must say in words what it does: which event it has, that it
// tries again in n seconds, that the session ended. An event carries (epoch-seq,
// stream, type) only; pages re-fetch themselves.
import { announce } from "./regions.js";

const HIDDEN_MS = 60_000;

export function startLive({ onEvent, onReconnect }) {
  const el = document.getElementById("live");
  if (!el || !el.dataset.stream) return;
  const words = el.querySelector("[data-words]");
  const detail = el.querySelector("[data-detail]");
  let after = el.dataset.after || "";
  let seq = el.dataset.seq || "";
  let since = "";
  let tries = 0;
  let abort = null;
  let timer = 0;

  const show = (state, text, more) => {
    el.className = "live n " + state;
    words.textContent = text;
    detail.textContent = more;
    document.getElementById("app")?.toggleAttribute("data-offline", state === "offline");
    setDecisions(state === "live" || state === "catching");
  };
  const clock = () => new Date().toTimeString().slice(0, 5);
  const plain = (n) => Number(n).toLocaleString("en-US");

  async function connect() {
    clearTimeout(timer);
    abort?.abort();
    abort = new AbortController();
    try {
      const url = new URL(el.dataset.stream, location.origin);
      if (after) url.searchParams.set("after", after);
      const headers = { Accept: "text/event-stream" };
      if (after) headers["Last-Event-ID"] = after;
      const res = await fetch(url, { headers, signal: abort.signal, cache: "no-store", credentials: "same-origin" });
      if (res.status === 401) return location.reload();
      if (!res.ok || !res.body) throw new Error(String(res.status));
      if (tries > 0) onReconnect();
      tries = 0;
      since = "";
      show("live", "Live", seq ? "#" + seq : "");
      await read(res.body.getReader());
      throw new Error("ended");
    } catch (e) {
      if (e.name === "AbortError") return;
      retry();
    }
  }

  async function read(reader) {
    const decoder = new TextDecoder();
    let buf = "";
    let id = "";
    let data = [];
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      buf += decoder.decode(value, { stream: true });
      const lines = buf.split(/\r\n|\n|\r/);
      buf = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (data.length) deliver(id, data.join("\n"));
          data = [];
        } else if (line.startsWith("id:")) {
          id = line.slice(3).trim();
        } else if (line.startsWith("data:")) {
          data.push(line.slice(5).replace(/^ /, ""));
        }
      }
    }
  }

  function deliver(id, text) {
    let ev = {};
    try {
      ev = JSON.parse(text);
    } catch {
      return;
    }
    after = id || ev.id || after;
    const m = /^(\d+)-(\d+)$/.exec(after);
    if (m) seq = m[1] === "1" ? plain(m[2]) : m[1] + "-" + plain(m[2]);
    show("live", "Live", seq ? "#" + seq : "");
    onEvent(ev);
  }

  function retry() {
    tries += 1;
    if (!since) since = clock();
    const wait = Math.min(30, 2 ** Math.min(tries - 1, 5));
    if (navigator.onLine === false || tries > 4) show("offline", "Offline since " + since, "");
    else show("reconnecting", "Reconnecting", seq ? "last #" + seq + " at " + since : "");
    if (tries === 3) announce("Connection lost. You see an earlier state.");
    timer = setTimeout(connect, wait * 1000);
  }

  window.addEventListener("online", () => { tries = Math.max(tries, 1); connect(); });
  window.addEventListener("offline", retry);
  // A tab that nobody looks at gives its connection back.
  let hide = 0;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hide);
    if (document.hidden) hide = setTimeout(() => abort?.abort(), HIDDEN_MS);
    else if (abort?.signal.aborted) { onReconnect(); connect(); }
  });
  connect();
}

// A decision needs the live state: while it is gone, buttons that decide are off. None
// is queued. They are the same buttons again when Live is back.
function setDecisions(on) {
  for (const b of document.querySelectorAll("#decision form button, .askcard form button")) {
    if (on && b.dataset.offline) { b.disabled = false; delete b.dataset.offline; }
    else if (!on && !b.disabled) { b.disabled = true; b.dataset.offline = "1"; }
  }
}
