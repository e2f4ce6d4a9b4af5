// The charts of one autoscaler: its size within its bounds, and each metric against its target. A moment chosen in one
// of them (a click; or arrow keys and Enter) is shown below.

import uPlot from "/static/vendor/uplot/uPlot.esm.js";
import {refresh} from "/static/live.js";
import {localClock} from "/static/times.js";

const place = document.getElementById("charts");
const {name} = place.dataset;
const seconds = Number(place.dataset.seconds);
const POINTS = 800;
const LEAST_SECONDS = 60;
const HEIGHT = 190;
const NEAR_PX = 7;
const WHOLE = [1, 2, 5].flatMap((step) => [0, 1, 2, 3, 4, 5].map((power) => step * 10 ** power)).sort((a, b) => a - b);

let charts = []; // {key, plot, near}
let known; // the last history that was read
let shown = [0, 1]; // the time that the charts span

const colour = (token) => getComputedStyle(document.documentElement).getPropertyValue(token).trim();
const unix = (text) => Date.parse(text) / 1000;
const utc = (time) => new Date(time * 1000).toISOString();
const full = (time) => utc(time).slice(0, 19).replace("T", " ");
const span = () => shown[1] - shown[0];
const short = (time) => (span() > 86_400 ? utc(time).slice(5, 10) : utc(time).slice(11, span() > 1800 ? 16 : 19));
const rounded = (value) => (value == null ? "–" : String(Number(value.toPrecision(4))));

async function load() {
  const until = Date.now() / 1000;
  if (until - shown[1] < seconds / POINTS) return; // not a point's width has passed
  const query = new URLSearchParams({since: utc(until - seconds), until: utc(until), points: POINTS});
  const answer = await fetch(`/api/v1/autoscalers/${encodeURIComponent(name)}/history?${query}`);
  if (!answer.ok) return; // the rest of the page says what is wrong
  known = (await answer.json()).data;
  const first = known.points.length > 0 ? unix(known.points[0].at) : 0;
  shown = [Math.max(until - seconds, Math.min(first, until - LEAST_SECONDS)), until]; // a young one fills its charts too
  draw();
}

// What is drawn

function metricsOf(points) {
  const found = new Map();
  for (const point of points) for (const metric of point.metrics) found.set(metric.name, metric.targetType);
  return [...found].map(([name, type]) => ({name, type}));
}

function drawings() {
  const points = known.points;
  const times = points.map((point) => unix(point.at));
  const shadowed = points.some((point) => point.shadow != null);
  const size = {
    key: shadowed ? "size and shadow" : "size",
    title: shadowed ? "Size, and the shadow's" : "Size",
    data: [times, ...["maximum", "minimum", "desired", "current", ...(shadowed ? ["shadow"] : [])].map((key) => points.map((point) => point[key]))],
    series: [line("max", "--quiet", [2, 4]), line("min", "--quiet", [2, 4]), line("wanted", "--wanted", [6, 4]), line("size", "--accent", null, 2.5), ...(shadowed ? [line("shadow", "--violet", null, 2)] : [])],
    bands: [{series: [1, 2], fill: () => colour("--band")}],
    stepped: true,
  };
  const metrics = metricsOf(points).map(({name, type}) => {
    const each = points.map((point) => point.metrics.find((metric) => metric.name === name));
    return {
      key: `metric ${name}`,
      title: `${name}${type === "Utilization" ? ", percent of request" : type === "AverageValue" ? ", average per instance" : ""}`,
      data: [times, each.map((metric) => metric?.target ?? null), each.map((metric) => metric?.value ?? null)],
      series: [line("target", "--ink", [6, 4], 1), line("value", "--accent", null, 2)],
      bands: [],
      stepped: false,
    };
  });
  return [size, ...metrics];
}

function line(label, token, dash, width = 1.5) {
  return {label, stroke: () => colour(token), dash, width, points: {show: false}, value: (_, value) => rounded(value)};
}

function options(drawing, width, near) {
  const stepped = drawing.stepped ? {paths: uPlot.paths.stepped({align: 1})} : {};
  const axis = {stroke: () => colour("--quiet"), grid: {stroke: () => colour("--track"), width: 1}, ticks: {show: false}, font: "12px system-ui, sans-serif"};
  return {
    width,
    height: HEIGHT,
    scales: {x: {time: false, range: () => shown}, y: {range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(1, high ?? 1) * 1.08]}},
    axes: [
      {...axis, space: 80, size: 28, incrs: [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21_600, 86_400], values: (_, splits) => splits.map(short)},
      {...axis, size: 48, values: (_, splits) => splits.map(rounded), ...(drawing.stepped && {incrs: WHOLE})},
    ],
    series: [{}, ...drawing.series.map((each) => ({...each, ...stepped}))],
    bands: drawing.bands,
    cursor: {drag: {x: false, y: false}, sync: {key: "moment"}, points: {size: 7}, y: false},
    legend: {markers: {width: 0, fill: (plot, at) => drawing.series[at - 1].stroke()}},
    hooks: {
      draw: [(plot) => drawMarks(plot, drawing.stepped)],
      setCursor: [(plot) => { near.textContent = momentText(plot); }],
    },
  };
}

// Marks: events, and the decision shown below. A kind of event is told by its form, and then by its colour.

const MARKS = {
  out: {token: "--accent", corners: [[0, 0], [5, 6], [2, 6], [2, 11], [-2, 11], [-2, 6], [-5, 6]]}, // an arrow up
  in: {token: "--violet", corners: [[0, 11], [5, 5], [2, 5], [2, 0], [-2, 0], [-2, 5], [-5, 5]]}, // and one down
  warning: {token: "--red", corners: [[0, 0], [6, 11], [-6, 11]]},
  other: {token: "--quiet", corners: [[0, 0], [4, 4], [0, 8], [-4, 4]]},
};

function marks() {
  return known.events.flatMap((event) => [...new Set([event.first, event.last])].map((at) => ({time: unix(at), event})));
}

function drawMarks(plot, withEvents) {
  const {ctx, bbox} = plot;
  const dot = devicePixelRatio;
  ctx.save();
  for (const {time, event} of withEvents ? marks() : []) {
    if (time < shown[0] || time > shown[1]) continue;
    const {token, corners} = MARKS[event.type === "Warning" ? "warning" : event.direction ?? "other"];
    const x = plot.valToPos(time, "x", true);
    ctx.fillStyle = colour(token);
    ctx.beginPath();
    for (const [right, down] of corners) ctx.lineTo(x + right * dot, bbox.top + down * dot);
    ctx.fill();
  }
  const chosen = new URLSearchParams(location.search).get("at");
  if (chosen) {
    const x = plot.valToPos(unix(/[zZ]|[+-]\d\d:\d\d$/.test(chosen) ? chosen : `${chosen}Z`), "x", true);
    ctx.strokeStyle = colour("--ink");
    ctx.lineWidth = dot;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function momentText(plot) {
  const {left, idx} = plot.cursor;
  if (idx == null || left < 0) return "";
  const found = marks().filter(({time}) => Math.abs(plot.valToPos(time, "x") - left) < NEAR_PX).map(({event}) => event);
  const events = [...new Set(found)].map((event) => `${event.reason}: ${event.message}`);
  const at = plot.data[0][idx];
  const own = localClock(new Date(at * 1000));
  return [`${full(at)} UTC`, ...(own ? [`${own} local`] : []), ...events].join(" · ");
}

// Choosing a moment

function explain(index) {
  const address = new URL(location.href);
  address.searchParams.set("at", known.points[index].at); // as it came: a Date holds no microseconds
  address.hash = "why";
  follow(address.href);
}

async function follow(address) {
  history.pushState(null, "", address);
  await refresh();
  const why = document.getElementById("why");
  why.scrollIntoView({block: "nearest"});
  why.focus({preventScroll: true});
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a.moment");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  follow(link.href);
});

// The chart as a slider over its points: that is what it is to a keyboard and to a screen reader.
function steerable({plot, drawing}) {
  const root = plot.root;
  let index = null;
  const move = (to) => {
    const times = plot.data[0];
    if (times.length === 0) return;
    index = Math.max(0, Math.min(times.length - 1, to));
    plot.setCursor({left: plot.valToPos(times[index], "x"), top: 0});
    const values = drawing.series.map((each, place) => `${each.label} ${rounded(plot.data[place + 1][index])}`).join(", ");
    root.setAttribute("aria-valuenow", String(index));
    root.setAttribute("aria-valuetext", `${full(times[index])}: ${values}`);
  };
  root.tabIndex = 0;
  root.setAttribute("role", "slider");
  root.setAttribute("aria-label", `${drawing.title} over time: arrow keys choose a moment, Enter explains it`);
  root.setAttribute("aria-valuemin", "0");
  root.setAttribute("aria-valuenow", "0");
  root.setAttribute("aria-valuetext", "no moment chosen");
  root.addEventListener("keydown", (event) => {
    const last = plot.data[0].length - 1;
    const at = index ?? last + 1;
    const to = {ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, PageDown: at - 10, PageUp: at + 10, Home: 0, End: last}[event.key];
    if (to !== undefined) move(to);
    else if (event.key === "Enter" && index !== null) explain(index);
    else return;
    event.preventDefault();
  });
  plot.over.addEventListener("click", () => {
    const chosen = plot.cursor.idx;
    if (chosen != null && plot.data[0].length > 0) explain(chosen);
  });
}

// Onto the page

function draw() {
  const wanted = drawings();
  if (wanted.map(({key}) => key).join() !== charts.map(({key}) => key).join()) build(wanted);
  wanted.forEach((drawing, at) => {
    charts[at].plot.setData(drawing.data);
    charts[at].plot.root.setAttribute("aria-valuemax", String(Math.max(0, drawing.data[0].length - 1)));
  });
}

function build(wanted) {
  charts.forEach(({plot}) => plot.destroy());
  place.replaceChildren();
  charts = wanted.map((drawing) => {
    const box = document.createElement("div");
    const title = document.createElement("h3");
    const near = document.createElement("p");
    box.className = "chart";
    near.className = "near";
    title.textContent = drawing.title;
    box.append(title);
    place.append(box);
    const plot = new uPlot(options(drawing, box.clientWidth, near), drawing.data, box);
    box.append(near);
    steerable({plot, drawing});
    return {key: drawing.key, plot};
  });
}

new ResizeObserver(() => {
  charts.forEach(({plot}) => plot.setSize({width: plot.root.parentElement.clientWidth, height: HEIGHT}));
}).observe(place);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach(({plot}) => plot.redraw()));
document.addEventListener("refreshed", load);
load();
