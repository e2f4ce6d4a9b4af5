// Pause, override and resume: sends the forms to the API and shows its answers.

import {refresh} from "/static/live.js";

const name = document.getElementById("charts").dataset.name;
const result = document.getElementById("answer");
const DONE = {pause: "Paused.", override: "The bounds are overridden.", resume: "Taken back."};

async function send(action, body) {
  const answer = await fetch(`/api/v1/autoscalers/${encodeURIComponent(name)}/${action}`, {
    method: "POST",
    headers: {"Content-Type": "application/json"},
    body: JSON.stringify(body),
  });
  const reply = await answer.json();
  if (!answer.ok) throw new Error(reply.error);
}

async function act(action, body, button) {
  button.disabled = true;
  let problem = "";
  try {
    await send(action, body);
  } catch (error) {
    problem = error.message;
  }
  button.disabled = false;
  result.classList.toggle("problem", problem !== "");
  result.textContent = problem ? `Not done: ${problem}` : DONE[action];
  await refresh();
  return problem === "";
}

function bodyOf(form) {
  const body = {};
  for (const [key, value] of new FormData(form)) {
    if (value !== "") body[key] = key === "minimum" || key === "maximum" ? Number(value) : value;
  }
  return body;
}

for (const form of document.querySelectorAll("form[data-action]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!(await act(form.dataset.action, bodyOf(form), event.submitter))) return;
    form.reset();
    form.closest("details").open = false;
    form.closest("details").querySelector("summary").focus();
  });
}

document.getElementById("steering")?.addEventListener("click", async (event) => {
  const what = event.target.dataset.takesBack;
  if (!what) return;
  const body = {pause: what === "pause", override: what === "override"};
  if (await act("resume", body, event.target)) document.querySelector("#pause-override summary").focus(); // the button was removed
});
