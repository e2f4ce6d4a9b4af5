// The charts of one autoscaler: its size within its bounds, and each metric against its target. The decision at
// the time chosen in a chart (by click, or arrow keys and Enter) is shown below.

import {HEIGHT, MARKS, colour, drawMark, drawMoment, framed, line, options, steerable} from "/static/plots.js";
import {local} from "/static/times.js";

const place = document.getElementById("charts");
const why = document.getElementById("why");
const {name} = place.dataset;
const seconds = Number(place.dataset.seconds);
const POINTS = 800;
const LEAST_SECONDS = 60;
const NEAR_PX = 7;

let charts = []; // {key, plot, near}
let known; // the last history read
let shown = [0, 1]; // the charts' time range

const unix = (text) => Date.parse(text) / 1000;
const utc = (seconds) => new Date(seconds * 1000).toISOString();

async function load() {
  const until = Date.now() / 1000;
  if (until - shown[1] < seconds / POINTS) return; // less than a point's width has passed
  const query = new URLSearchParams({since: utc(until - seconds), until: utc(until), points: POINTS});
  const answer = await fetch(`/api/v1/autoscalers/${encodeURIComponent(name)}/history?${query}`);
  if (!answer.ok) return; // the rest of the page shows the error
  known = (await answer.json()).data;
  const first = known.points.length > 0 ? unix(known.points[0].at) : 0;
  shown = [Math.max(until - seconds, Math.min(first, until - LEAST_SECONDS)), until]; // a short history fills the charts too
  draw();
}

// Drawing

function metricsOf(points) {
  const found = new Map();
  for (const point of points) for (const metric of point.metrics) found.set(metric.name, metric.targetType);
  return [...found].map(([name, type]) => ({name, type}));
}

function drawings() {
  const points = known.points;
  const times = points.map((point) => unix(point.at));
  const size = {
    key: "size",
    title: "Size",
    data: [times, ...["maximum", "minimum", "desired", "current"].map((key) => points.map((point) => point[key]))],
    series: [line("max", "--quiet", [2, 4]), line("min", "--quiet", [2, 4]), line("desired", "--wanted", [6, 4]), line("size", "--accent", null, 2.5)],
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

// Marks: events, and the decision shown below

function marks() {
  return known.events.flatMap((event) => [...new Set([event.first, event.last])].map((at) => ({time: unix(at), event})));
}

function drawMarks(plot, withEvents) {
  plot.ctx.save();
  for (const {time, event} of withEvents ? marks() : []) {
    if (time < shown[0] || time > shown[1]) continue;
    drawMark(plot, time, MARKS[event.type === "Warning" ? "warning" : event.direction ?? "other"]);
  }
  const chosen = new URLSearchParams(location.search).get("at");
  if (chosen) drawMoment(plot, unix(/[zZ]|[+-]\d\d:\d\d$/.test(chosen) ? chosen : `${chosen}Z`));
  plot.ctx.restore();
}

function momentText(plot) {
  const {left, idx} = plot.cursor;
  if (idx == null) return "";
  const found = marks().filter(({time}) => Math.abs(plot.valToPos(time, "x") - left) < NEAR_PX).map(({event}) => event);
  const events = [...new Set(found)].map((event) => `${event.reason}: ${event.message}`);
  return [local(plot.data[0][idx]), ...events].join(" · ");
}

// Choosing a time

function explain(index) {
  const address = new URL(location.href);
  address.searchParams.set("at", known.points[index].at); // the text, because a Date has no microseconds
  htmx.ajax("GET", `${address.pathname}${address.search}#why`, {source: why, swap: "none", push: "true"});
}

document.addEventListener("htmx:pushedIntoHistory", () => {
  charts.forEach(({plot}) => plot.redraw());
  why.focus({preventScroll: true});
});
why.addEventListener("formdata", ({formData}) => { // the reader's time
  formData.set("at", new Date(formData.get("at")).toISOString());
});

// Updating the page

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
    const {box, near} = framed(place, drawing);
    const hooks = {
      draw: [(drawn) => drawMarks(drawn, drawing.stepped)],
      setCursor: [(drawn) => { near.textContent = momentText(drawn); }],
    };
    const plot = new uPlot(options(drawing, box.clientWidth, () => shown, hooks), drawing.data, box);
    box.append(near);
    steerable(plot, drawing, explain);
    return {key: drawing.key, plot};
  });
}

new ResizeObserver(() => {
  charts.forEach(({plot}) => plot.setSize({width: plot.root.parentElement.clientWidth, height: HEIGHT}));
}).observe(place);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach(({plot}) => plot.redraw()));
document.addEventListener("htmx:afterRequest", ({detail}) => detail.successful && load());
load();
