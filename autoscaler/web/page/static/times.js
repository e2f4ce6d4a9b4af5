// The reader's local time beside UTC, if they differ. Times: elements with `data-local`, `clock` or `full`.

const two = (number) => String(number).padStart(2, "0");
const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

export function localClock(at) { // empty when the local time is UTC
  return at.getTimezoneOffset() === 0 ? "" : `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function localize(root) {
  for (const element of root.querySelectorAll("time[data-local]")) {
    const at = new Date(element.dateTime);
    const clock = localClock(at);
    if (!clock || element.querySelector(".local")) continue;
    const elsewhere = element.dataset.local === "full" && day(at) !== at.toISOString().slice(0, 10);
    const own = document.createElement("span");
    own.className = "local";
    own.textContent = ` · ${elsewhere ? `${day(at)} ` : ""}${clock} local`;
    element.append(own);
  }
}

export function zone() { // such as "UTC+05:30 (Asia/Kolkata)"; empty when the local time is UTC
  const minutes = -new Date().getTimezoneOffset();
  if (minutes === 0) return "";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "−" : "+"}${two(hours)}:${two(rest)} (${Intl.DateTimeFormat().resolvedOptions().timeZone})`;
}

const SECONDS = {y: 31_536_000, d: 86_400, h: 3600, m: 60, s: 1};
const AGES = [[120, "s"], [600, "m", "s"], [10_800, "m"], [28_800, "h", "m"], [172_800, "h"], [691_200, "d", "h"], [63_072_000, "d"], [252_288_000, "y", "d"], [Infinity, "y"]];

export function age(seconds) { // the same format as `format_age` of autoscaler/quantity.py
  const whole = Math.max(0, Math.round(seconds));
  const [, unit, finer] = AGES.find(([below]) => whole < below);
  const rest = finer ? Math.floor((whole % SECONDS[unit]) / SECONDS[finer]) : 0;
  return `${Math.floor(whole / SECONDS[unit])}${unit}${rest ? `${rest}${finer}` : ""}`;
}
