// Refreshes the page: fetches it again and replaces the parts that have changed.
// Parts: elements with an id and `data-live`. Screen readers announce what changed in an element with `data-announce`.

import {age, localize, zone} from "/static/times.js";

const EVERY_MS = 5000;
const PATIENCE_MS = 10_000; // a daemon that does not answer in this time counts as lost
const TYPED_MS = 250;

const button = document.getElementById("refreshing");
const fresh = document.getElementById("fresh");
const announcement = document.getElementById("announcement");
let asked = 0;
let waiting = 0; // requests in progress
let wanted = true; // whether the reader wants refreshes
let lost = false; // whether the daemon does not answer

export async function refresh() {
  const mine = ++asked;
  waiting += 1;
  try {
    const answer = await fetch(location.href, {headers: {"Autoscaler-Refresh": "yes"}, signal: AbortSignal.timeout(PATIENCE_MS)});
    const text = await answer.text();
    if (mine !== asked) return; // the answer of a later request counts
    if (!answer.ok && answer.status !== 404) throw new Error(`it answers ${answer.status}`);
    show(new DOMParser().parseFromString(text, "text/html"));
    document.dispatchEvent(new CustomEvent("refreshed"));
  } catch (error) {
    if (mine === asked) lose(error.name === "TimeoutError" ? "it takes too long" : error.message);
  } finally {
    waiting -= 1;
  }
}

// "Live" is off while the daemon does not answer.
function lose(reason) {
  const last = fresh.querySelector("time");
  const seconds = (Date.now() - Date.parse(last.dateTime)) / 1000;
  fresh.classList.add("stale");
  fresh.replaceChildren("No answer since ", last, `, ${age(seconds)} ago (${reason})`);
  if (!lost) announcement.textContent = "The daemon does not answer; what is shown is old.";
  lost = true;
  mark();
}

function mark() {
  button.setAttribute("aria-pressed", String(wanted && !lost));
}

function show(document_) {
  const news = [];
  localize(document_);
  const focused = document.activeElement?.id;
  for (const old of document.querySelectorAll("[data-live]")) {
    const next = document_.getElementById(old.id);
    if (!next || old.innerHTML === next.innerHTML || isSelected(old)) continue;
    const before = announced(old);
    old.replaceChildren(...document.adoptNode(next).childNodes);
    announced(old).filter((text) => !before.includes(text)).forEach((text) => news.push(text));
  }
  fresh.classList.remove("stale");
  lost = false;
  mark();
  if (news.length > 0) announcement.textContent = news.join(". ");
  if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus({preventScroll: true});
}

function announced(part) {
  const elements = part.matches("[data-announce]") ? [part] : [...part.querySelectorAll("[data-announce]")];
  return elements.map((each) => each.textContent.replace(/\(.*? ago\)/g, "").replace(/\s+/g, " ").trim());
}

function isSelected(part) { // the reader may want to copy it
  const selection = getSelection();
  return !selection.isCollapsed && part.contains(selection.anchorNode);
}

function isLive() {
  return wanted && !document.hidden && waiting === 0;
}

localize(document);
const place = document.getElementById("zone");
if (place && zone()) place.textContent = `; yours are ${zone()}`;

button.hidden = false;
button.addEventListener("click", () => {
  wanted = lost || !wanted;
  mark();
  if (wanted) refresh();
});
setInterval(() => isLive() && refresh(), EVERY_MS);
document.addEventListener("visibilitychange", () => isLive() && refresh());
addEventListener("popstate", refresh);

// The filter applies without its button.
const filter = document.querySelector("form.filter");
let typed = 0;

function filtered() {
  const given = new URLSearchParams([...new FormData(filter)].filter(([, value]) => value));
  history.replaceState(null, "", `/?${given}`);
  refresh();
}

filter?.addEventListener("input", () => {
  clearTimeout(typed);
  typed = setTimeout(filtered, TYPED_MS);
});
filter?.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typed);
  filtered();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.activeElement?.matches("input, select, textarea")) return;
  const search = document.getElementById("q");
  if (!search) return;
  event.preventDefault();
  search.focus();
});
