import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { HOSTILE, PASS, launch, open, shot, start, words } from "./witan.mjs";
import { amber, contrast, overflow, small } from "./look.mjs";

let witan, browser, signedIn, board;

before(async () => {
  witan = await start();
  browser = await launch();
  const w = await open(browser, witan.base);
  const { page } = w;
  await page.goto(witan.link);
  await page.fill("[name=name]", "Mira Kovač");
  await page.fill("[name=signInName]", "mira");
  await page.check("input[name=way][value=password]");
  await page.fill("[name=password]", PASS);
  await page.fill("[name=password2]", PASS);
  await page.click(".claim");
  await page.waitForURL("**/inbox");
  signedIn = await w.context.storageState();
  await w.close();
});
after(async () => {
  await browser?.close();
  await witan?.stop();
});

const window_ = (options) => open(browser, witan.base, { storageState: signedIn, ...options });

// add writes a task by the form and returns its card.
async function add(page, title, body = "", who = "") {
  await page.goto(board + "/new");
  await page.fill("[name=title]", title);
  if (body) await page.fill("[name=body]", body);
  if (who) await page.selectOption("[name=assignee]", who);
  await page.click("main form button.p");
  await page.waitForURL(board);
}

const card = (page, title) => page.locator("#board [data-row]", { hasText: title });
const columnOf = (page, title) => card(page, title).evaluate((e) => e.closest("[data-col]").dataset.col);
const inColumn = (page, title, col, timeout = 15_000) => page.waitForFunction(([t, c]) => [...document.querySelectorAll(`[data-col=${c}] [data-row]`)].some((e) => e.textContent.includes(t)), [title, col], { timeout });

async function drag(page, title, col) {
  await card(page, title).evaluate((e) => Promise.all(e.getAnimations().map((a) => a.finished)));
  const from = await card(page, title).boundingBox();
  const to = await page.locator(`[data-col=${col}]`).boundingBox();
  await page.mouse.move(from.x + 40, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(from.x + 60, from.y + from.height / 2 + 8, { steps: 3 });
  await page.mouse.move(to.x + to.width / 2, to.y + 120, { steps: 8 });
}

test("a workspace and its tasks begin with one field each, without scripts", async () => {
  const w = await window_({ javaScriptEnabled: false });
  const { page } = w;
  await page.goto("/inbox");
  await page.click("nav a:has-text('Work')");
  assert.match(await words(page, "main"), /No workspace yet.*A workspace is a board that people and agents share/);
  await shot(page, "work-empty-light");
  await page.click("main form button.p");
  assert.equal(page.url(), witan.base + "/work", "the browser asks for the name");
  await page.fill("[name=name]", "Billing API");
  await page.click("main form button.p");
  board = new URL(page.url()).pathname;
  assert.match(board, /^\/workspaces\/[0-9a-z]{26}$/);
  assert.match(await words(page, "main"), /Billing API.*Not started.*No tasks\..*Running.*Blocked.*Completed.*Rejected/);
  await shot(page, "board-empty-light");
  await page.click("text=Write the first one");
  await page.fill("[name=title]", "Retry webhook deliveries without duplicates");
  await page.fill("[name=body]", "Deliveries are retried, but a slow receiver gets the same event twice.");
  await page.click("main form button.p");
  assert.match(await words(page, "[data-col=notstarted]"), /BIL-1.*Retry webhook deliveries.*It waits for a person\..*any person/);

  // Moving: the menu of the card offers what the graph has, and says why not the rest.
  await page.click(".mv > summary");
  await page.click(".mv button[value=ongoing]");
  assert.equal(new URL(page.url()).pathname, board);
  assert.match(await words(page, "[data-col=ongoing]"), /BIL-1.*since now.*Mira Kovač/);
  await page.click(".mv > summary");
  await page.click(".mv button[value=completed]");
  assert.match(await words(page, "[data-col=completed]"), /Completed.*BIL-1.*asserted/);
  assert.equal(await page.locator(".mv button[value=rejected]").count(), 0);
  assert.match(await words(page, ".mv [data-off=rejected]"), /open it again first/);
  // A forbidden move all the same: a page that somebody kept open.
  const token = await page.inputValue(".mv input[name=revision]");
  const no = await page.request.post("/tasks/BIL-1/status", { form: { to: "rejected", revision: token, back: board }, headers: { Origin: witan.base } });
  assert.equal(no.status(), 409);
  assert.match(await no.text(), /BIL-1.*Not done[\s\S]*cannot become rejected/);

  // The task's page: edit, reply, wait for another, take it and let it go.
  await page.click("a.tt");
  assert.match(await words(page, "main"), /Completed.*BIL-1.*Asserted: it is completed on its worker’s word.*Record.*Mira Kovač made BIL-1.*Mira Kovač took BIL-1/);
  await page.click("text=Open again");
  assert.match(await words(page, "#taskhead"), /Not started/);
  await page.click("text=Edit");
  await page.fill("[name=title]", "Retry deliveries once");
  await page.click("main form button.p");
  assert.match(await words(page, "#taskhead"), /Retry deliveries once/);
  await page.click(".box button.p");
  assert.match(await words(page, ".box"), /Write something first/);
  await page.fill(".box textarea", "15 minutes.\nReceivers may take long.");
  await page.click(".box button.p");
  assert.match(await words(page, "#talk"), /Mira Kovač.*15 minutes/);
  await add(page, "Sign webhook payloads", "", "agent");
  assert.match(await words(page, "[data-col=notstarted]"), /BIL-2.*offered to the workers/);
  await page.goto("/tasks/BIL-1");
  await page.fill("[name=key]", "bil-9");
  await page.click("text=Wait >> nth=-1");
  assert.match(await words(page, "#blockers"), /no task with this key/);
  await page.fill("[name=key]", "bil-2");
  await page.click("#blockers button:has-text('Wait')");
  assert.match(await words(page, "main"), /Waits for 1 other task\..*Must be completed first.*BIL-2.*Sign webhook payloads/);
  await page.click("[aria-label='No longer wait for BIL-2']");
  assert.match(await words(page, "#blockers"), /waits for no other task/);
  await w.close();
});

test("a card dragged in one window moves in another within a second", async () => {
  const one = await window_();
  const two = await window_();
  await add(one.page, "Drop unused staging tables");
  await two.page.goto(board);
  await two.page.mouse.move(5, 5);
  await drag(one.page, "Drop unused staging tables", "blocked");
  await shot(one.page, "board-drag-light");
  await one.page.mouse.up();
  const began = Date.now();
  await inColumn(two.page, "Drop unused staging tables", "blocked", 1000);
  const took = Date.now() - began;
  assert.ok(took < 1000, `it took ${took} ms`);
  await inColumn(one.page, "Drop unused staging tables", "blocked");
  assert.equal(await two.page.locator("#board [data-row]", { hasText: "Drop unused" }).count(), 1, "it stands in one column only");
  assert.equal(new URL(one.page.url()).pathname, board, "the end of a drag opens nothing");

  // Forbidden: the reason before the drop, and the server's after it.
  await add(one.page, "Bump the toolchain");
  await card(one.page, "Bump the toolchain").locator(".mv > summary").click();
  await card(one.page, "Bump the toolchain").locator("button[value=completed]").click();
  await inColumn(one.page, "Bump the toolchain", "completed");
  await drag(one.page, "Bump the toolchain", "rejected");
  assert.match(await one.page.getAttribute("[data-col=rejected]", "data-js-no"), /open it again first/);
  await shot(one.page, "board-forbidden-light");
  await one.page.mouse.up();
  await one.page.waitForSelector("#refused [role=alert]");
  assert.match(await words(one.page, "#refused"), /BIL-4.*cannot become rejected.*[Oo]pen it again first/);
  assert.equal(await columnOf(one.page, "Bump the toolchain"), "completed");

  // Nothing moves under a pointer: the card waits in both columns until it is asked for.
  const still = await two.page.locator("[data-col=blocked]").boundingBox();
  await two.page.mouse.move(still.x + 60, still.y + 60);
  await card(one.page, "Drop unused").locator(".mv > summary").click();
  await card(one.page, "Drop unused").locator("button[value=notstarted]").click();
  await inColumn(one.page, "Drop unused", "notstarted");
  await two.page.waitForSelector("[data-pill-group=board]:not([hidden])");
  assert.equal(await columnOf(two.page, "Drop unused"), "blocked");
  await two.page.click("[data-pill-group=board]");
  await inColumn(two.page, "Drop unused", "notstarted");
  assert.equal(await card(two.page, "Drop unused").count(), 1);
  assert.deepEqual(one.errors.concat(two.errors), []);
  await one.close();
  await two.close();
});

test("the same by keys", async () => {
  const one = await window_();
  const two = await window_();
  await add(one.page, "Trace slow invoice rendering");
  await two.page.goto(board);
  await two.page.mouse.move(5, 5);
  await one.page.mouse.move(5, 5);
  const { page } = one;
  const key = () => page.evaluate(() => document.activeElement.closest("[data-row]")?.querySelector(".m").textContent);
  await card(page, "Trace slow invoice").locator("a.tt").focus();
  await page.keyboard.press("Shift+ArrowRight");
  await inColumn(two.page, "Trace slow invoice", "ongoing", 1500);
  await inColumn(page, "Trace slow invoice", "ongoing");
  assert.equal(await key(), "BIL-5", "the focus goes with the card");
  await page.keyboard.press("m");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.value), "blocked");
  await page.keyboard.press("Enter");
  await inColumn(two.page, "Trace slow invoice", "blocked", 1500);
  await inColumn(page, "Trace slow invoice", "blocked");
  await page.keyboard.press("m");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.value), "completed");
  await page.keyboard.press("Enter");
  await inColumn(page, "Trace slow invoice", "completed");
  await page.keyboard.press("Shift+ArrowRight"); // rejected: not from here
  await page.waitForSelector("#refused [role=alert]");
  assert.match(await words(page, "#refused"), /BIL-5.*cannot become rejected/);
  await page.keyboard.press("h");
  await page.keyboard.press("h");
  assert.equal(await page.evaluate(() => document.activeElement.closest("[data-col]").dataset.col), "notstarted");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/tasks\/BIL-/);
  assert.deepEqual(one.errors.concat(two.errors), []);
  await one.close();
  await two.close();
});

test("two who change one field are told, and nothing is lost", async () => {
  const one = await window_();
  const two = await window_();
  await add(one.page, "Explain the retry schedule", "first words");
  await one.page.goto("/tasks/BIL-6?edit=1");
  await two.page.goto("/tasks/BIL-6?edit=1");
  await two.page.fill("[name=body]", "words of the second window");
  await two.page.click(".tform button.p");
  await two.page.waitForURL(/BIL-6$/);
  await one.page.fill("[name=body]", "words of the first window");
  await one.page.fill("[name=title]", "Explain the schedule");
  await one.page.click(".tform button.p");
  assert.match(await words(one.page, ".tform"), /Mira Kovač changed it meanwhile\..*Now there: ?words of the second window.*Save mine over it/);
  assert.equal(await one.page.inputValue("[name=body]"), "words of the first window");
  assert.equal(new URL(one.page.url()).pathname, "/tasks/BIL-6", "a refused form stands under an address that can be fetched");
  await shot(one.page, "task-conflict-light");
  await one.page.click(".tform button.p");
  await one.page.waitForURL(/BIL-6$/);
  assert.match(await words(one.page, "main"), /Explain the schedule.*words of the first window/);
  // Another field is no conflict.
  await one.page.goto("/tasks/BIL-6?edit=1");
  await two.page.goto("/tasks/BIL-6?edit=1");
  await one.page.fill("[name=title]", "Explain it");
  await one.page.click(".tform button.p");
  await one.page.waitForURL(/BIL-6$/);
  await two.page.selectOption("[name=assignee]", { label: "Mira Kovač" });
  await two.page.click(".tform button.p");
  await two.page.waitForURL(/BIL-6$/);
  assert.match(await words(two.page, "main"), /Explain it.*Waits for Mira Kovač/);
  // The thread of a task is live.
  await two.page.fill(".box textarea", "said in the second window");
  await two.page.click(".box button.p");
  await one.page.waitForFunction(() => /said in the second window/.test(document.querySelector("#talk").textContent));
  await shot(one.page, "task-light");
  assert.deepEqual(one.errors.concat(two.errors), []);
  await one.close();
  await two.close();
});

test("the place fits, can be read and keeps amber for who is needed", async () => {
  const wide = await window_();
  await add(wide.page, HOSTILE, HOSTILE + "\n" + "a_word_that_is_very_long_".repeat(12));
  await add(wide.page, "Watch the 95th percentile of the api after the switch to the second database, for a whole day", "", "agent");
  await wide.page.goto("/tasks/BIL-7");
  assert.doesNotMatch(await wide.page.title(), /owned/);
  assert.equal(await wide.page.locator("main script, main img").count(), 0);
  await wide.page.goto(board);
  assert.match(await words(wide.page, "main"), /<script>document\.title="owned"<\/script>/);
  await wide.close();
  const bad = [];
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [320, 390, 1440]) {
      const w = await window_({ viewport: { width, height: width > 900 ? 900 : 800 }, colorScheme });
      for (const [name, path] of Object.entries({ board, boardmore: board + "?col=completed", boardlist: board + "?view=list", newtask: board + "/new", task: "/tasks/BIL-1", tasklong: "/tasks/BIL-7", taskedit: "/tasks/BIL-6?edit=1", spaces: "/workspaces" })) {
        await w.page.goto(path, { waitUntil: "load" });
        const at = `${name} ${width} ${colorScheme}`;
        for (const [what, f] of Object.entries({ overflow, contrast, small })) {
          for (const one of await f(w.page)) bad.push(`${at}: ${what}: ${one}`);
        }
        for (const one of (await amber(w.page)).out) bad.push(`${at}: amber: ${one}`);
        if (width !== 320) await shot(w.page, `${width}-${name}-${colorScheme}`);
      }
      bad.push(...w.errors.map((e) => `${width} ${colorScheme}: ${e}`));
      await w.close();
    }
  }
  assert.deepEqual(bad, []);
});

test("an archived workspace is read and not written", async () => {
  const w = await window_();
  const { page } = w;
  await page.goto("/workspaces");
  await page.click("[aria-label='More of Billing API']");
  await page.click("text=Archive >> nth=-1");
  await page.waitForFunction(() => /archived/.test(document.querySelector("#spaces").textContent));
  await page.goto(board);
  assert.match(await words(page, "main"), /archived since.*every change is refused/);
  assert.equal(await page.locator(".mv, a:has-text('New task')").count(), 0);
  await page.goto("/tasks/BIL-1");
  assert.equal(await page.locator(".moves, .box, #blockers form").count(), 0);
  await page.goto("/workspaces");
  await page.click("text=Take it back");
  await page.waitForFunction(() => !/archived/.test(document.querySelector("#spaces").textContent));
  assert.deepEqual(w.errors, []);
  await w.close();
});
