// The reader's own time beside UTC, where the two differ. Times: elements with `data-local`, `clock` or `full`.

const two = (number) => String(number).padStart(2, "0");
const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

export function localClock(at) { // empty where the reader lives by UTC
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

export function zone() { // such as "UTC+05:30 (Asia/Kolkata)"; empty where the reader lives by UTC
  const minutes = -new Date().getTimezoneOffset();
  if (minutes === 0) return "";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "−" : "+"}${two(hours)}:${two(rest)} (${Intl.DateTimeFormat().resolvedOptions().timeZone})`;
}
