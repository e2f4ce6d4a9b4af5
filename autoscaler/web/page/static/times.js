// Times in the reader's zone. Elements: `time` with `data-local`, `clock` or `full`; the server writes them in UTC.

export function local(seconds) { // since 1970 -> such as "2026-01-31 14:30:00"
  const at = new Date(seconds * 1000);
  return new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19).replace("T", " ");
}

export function localize(root) {
  for (const element of root.querySelectorAll("time[data-local]")) {
    const text = local(Date.parse(element.dateTime) / 1000);
    element.title ||= element.textContent;
    element.textContent = element.dataset.local === "full" ? text : text.slice(11);
  }
}

export function zone() { // such as "UTC+05:30 (Asia/Kolkata)"
  const minutes = -new Date().getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map((part) => String(part).padStart(2, "0"));
  return `UTC${minutes < 0 ? "−" : "+"}${hours}:${rest} (${Intl.DateTimeFormat().resolvedOptions().timeZone})`;
}
