// What htmx leaves to do when it refreshes the page: times in the reader's zone, the button Live, the key of the search,
// and what is shown while the daemon does not answer.

import {localize, zone} from "/static/times.js";

const button = document.getElementById("refreshing");
const fresh = document.getElementById("fresh");
const notice = document.getElementById("lost");
const form = document.querySelector("form.steer"); // of those who may steer
const answer = document.getElementById("answer"); // why a change was not made
let wanted = true; // whether the reader wants refreshes
let lost = false; // whether the last refresh failed

function mark(lostNow) {
  lost = lostNow;
  fresh.classList.toggle("stale", lost);
  button.setAttribute("aria-pressed", String(wanted && !lost));
}

function isSelected(part) { // the reader may want to copy it
  const selection = getSelection();
  return !selection.isCollapsed && part.contains(selection.anchorNode);
}

document.addEventListener("htmx:confirm", (event) => {
  if (event.target === document.body && (!wanted || document.hidden)) event.preventDefault();
});
document.addEventListener("htmx:configRequest", ({target, detail: {headers, parameters, path, verb}, detail}) => {
  if (target === document.body) detail.path = location.pathname + location.search; // htmx would scroll to a fragment
  const isOfOther = (name) => verb === "post" && !path.endsWith(target.elements[name].dataset.of ?? "");
  Object.keys(parameters).filter((name) => parameters[name] === "" || isOfOther(name)).forEach((name) => delete parameters[name]);
  if (verb !== "post") return;
  headers["Content-Type"] = "application/json";
  answer.replaceChildren();
});
htmx.defineExtension("json", { // the API takes no forms
  encodeParameters(_, values, {elements}) {
    const read = {number: Number, hidden: JSON.parse};
    return JSON.stringify(Object.fromEntries([...values].map(([name, text]) => [name, read[elements[name].type]?.(text) ?? text])));
  },
});
document.addEventListener("htmx:beforeSwap", ({detail}) => {
  if (detail.requestConfig.verb === "post") detail.shouldSwap = false; // the API answers with no page
});
document.addEventListener("htmx:oobBeforeSwap", ({detail}) => {
  localize(detail.fragment);
  detail.shouldSwap = detail.target.innerHTML !== detail.fragment.innerHTML && !isSelected(detail.target);
});
document.addEventListener("htmx:afterRequest", ({detail: {requestConfig, successful, xhr}}) => {
  const said = xhr.status ? `the daemon answers ${xhr.status}` : "the daemon does not answer";
  if (requestConfig.verb === "get") {
    mark(!successful);
    if (successful) notice.replaceChildren();
    else if (!notice.hasChildNodes()) notice.append("Not refreshed since ", fresh.querySelector("time").cloneNode(true), `: ${said}. What is shown is old.`);
  } else if (!successful) {
    const isApi = xhr.getResponseHeader("Content-Type") === "application/json";
    answer.textContent = `Not done: ${isApi ? JSON.parse(xhr.responseText).error : said}.`;
  } else {
    form.reset();
    if (!form.contains(document.activeElement)) form.elements.reason.focus(); // the button of what was in force goes
    htmx.ajax("GET", location.pathname + location.search, {source: answer, swap: "none"});
  }
});

localize(document);
for (const place of document.querySelectorAll(".zone")) place.textContent = zone();
button.hidden = false;
button.addEventListener("click", () => {
  wanted = lost || !wanted;
  mark(lost);
  if (wanted) htmx.trigger(document.body, "refresh");
});
document.addEventListener("visibilitychange", () => htmx.trigger(document.body, "refresh"));
document.addEventListener("keydown", (event) => {
  const search = document.getElementById("q");
  if (!search || event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.activeElement?.matches("input, select, textarea")) return;
  event.preventDefault();
  search.focus();
});
