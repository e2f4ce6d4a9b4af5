// Time charts of an autoscaler's page and of a replay's report: lines, axes, marks and keyboard use.

import {local} from "/static/times.js";

export const HEIGHT = 190;
const WHOLE = [1, 2, 5].flatMap((step) => [0, 1, 2, 3, 4, 5].map((power) => step * 10 ** power)).sort((a, b) => a - b);
const DAY = 86_400;

export const colour = (token) => getComputedStyle(document.documentElement).getPropertyValue(token).trim();
export const rounded = (value) => (value == null ? "–" : String(Number(value.toFixed(Math.abs(value) < 0.1 ? 3 : 2)))); // as quantity.format_decimal

export function line(label, token, dash, width = 1.5) {
  // the legend shows the last value while the pointer is outside
  const value = (plot, near, at, index) => rounded(index == null ? plot.data[at].at(-1) : near);
  return {label, stroke: () => colour(token), dash, width, points: {show: false}, value};
}

// A chart's box in `root`, with a line below for the values near the pointer.
export function framed(root, drawing) {
  const box = document.createElement("div");
  const title = document.createElement("h3");
  const near = document.createElement("p");
  box.className = "chart";
  near.className = "near";
  title.textContent = drawing.title;
  box.append(title);
  root.append(box);
  return {box, near};
}

// A drawing: {title, data, series, bands, stepped, height}. `shown`: gives the time that it spans. `hooks`: uPlot's.
export function options(drawing, width, shown, hooks) {
  const stepped = drawing.stepped ? {paths: uPlot.paths.stepped({align: 1})} : {};
  const axis = {stroke: () => colour("--quiet"), grid: {stroke: () => colour("--track"), width: 1}, ticks: {show: false}, font: "12px system-ui, sans-serif"};
  const short = (time) => {
    const span = shown()[1] - shown()[0];
    return span > DAY ? local(time).slice(5, 10) : local(time).slice(11, span > 1800 ? 16 : 19);
  };
  return {
    width,
    height: drawing.height ?? HEIGHT,
    scales: {x: {time: false, range: shown}, y: {range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(1, high ?? 1) * 1.08]}},
    axes: [
      {...axis, space: 80, size: 28, incrs: [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21_600, DAY], values: (_, splits) => splits.map(short)},
      {...axis, size: 48, values: (_, splits) => splits.map(rounded), ...(drawing.stepped && {incrs: WHOLE})},
    ],
    series: [{}, ...drawing.series.map((each) => ({...each, ...stepped}))],
    bands: drawing.bands,
    cursor: {drag: {x: false, y: false}, sync: {key: "moment"}, points: {size: 7}, y: false},
    legend: {markers: {width: 0, fill: (plot, at) => drawing.series[at - 1].stroke()}},
    hooks,
  };
}

// Each kind of event has its own shape and colour.
export const MARKS = {
  out: {token: "--accent", corners: [[0, 0], [5, 6], [2, 6], [2, 11], [-2, 11], [-2, 6], [-5, 6]]}, // an arrow up
  in: {token: "--violet", corners: [[0, 11], [5, 5], [2, 5], [2, 0], [-2, 0], [-2, 5], [-5, 5]]}, // and one down
  warning: {token: "--red", corners: [[0, 0], [6, 11], [-6, 11]]},
  other: {token: "--quiet", corners: [[0, 0], [4, 4], [0, 8], [-4, 4]]},
};

export function drawMark(plot, time, {token, corners}) {
  const {ctx, bbox} = plot;
  const x = plot.valToPos(time, "x", true);
  ctx.fillStyle = colour(token);
  ctx.beginPath();
  for (const [right, down] of corners) ctx.lineTo(x + right * devicePixelRatio, bbox.top + down * devicePixelRatio);
  ctx.fill();
}

export function shade(plot, begin, end) { // a time without data
  const {ctx, bbox} = plot;
  const [from, to] = [plot.valToPos(begin, "x", true), plot.valToPos(end, "x", true)].map((x) => Math.max(bbox.left, Math.min(bbox.left + bbox.width, x)));
  ctx.save();
  ctx.fillStyle = colour("--track");
  ctx.fillRect(from, bbox.top, Math.max(to - from, 0), bbox.height);
  ctx.restore();
}

export function drawMoment(plot, time) { // the explained decision
  const {ctx, bbox} = plot;
  const x = plot.valToPos(time, "x", true);
  ctx.strokeStyle = colour("--ink");
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
}

// For the keyboard and screen readers, the chart is a slider over its points. `explain`, if there is one, gets the index
// of the chosen point.
export function steerable(plot, drawing, explain = null) {
  const root = plot.root;
  let index = null;
  const move = (to) => {
    const times = plot.data[0];
    if (times.length === 0) return;
    index = Math.max(0, Math.min(times.length - 1, to));
    plot.setCursor({left: plot.valToPos(times[index], "x"), top: 0});
    const values = drawing.series.map((each, place) => `${each.label} ${rounded(plot.data[place + 1][index])}`).join(", ");
    root.setAttribute("aria-valuenow", String(index));
    root.setAttribute("aria-valuetext", `${local(times[index])}: ${values}`);
  };
  root.tabIndex = 0;
  root.setAttribute("role", "slider");
  root.setAttribute("aria-label", `${drawing.title} over time: arrow keys choose a moment${explain ? ", Enter explains it" : ""}`);
  root.setAttribute("aria-valuemin", "0");
  root.setAttribute("aria-valuenow", "0");
  root.setAttribute("aria-valuetext", "no moment chosen");
  root.addEventListener("keydown", (event) => {
    const last = plot.data[0].length - 1;
    const at = index ?? last + 1;
    const to = {ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, PageDown: at - 10, PageUp: at + 10, Home: 0, End: last}[event.key];
    if (to !== undefined) move(to);
    else if (explain && event.key === "Enter" && index !== null) explain(index);
    else return;
    event.preventDefault();
  });
  if (explain) plot.over.addEventListener("click", () => {
    const chosen = plot.cursor.idx;
    if (chosen != null && plot.data[0].length > 0) explain(chosen);
  });
}
