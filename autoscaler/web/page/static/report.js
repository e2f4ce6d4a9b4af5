// The charts of a replay's report: sizes and demand, and the demand for each ready replica, of each candidate. A moment chosen
// in one of them (a click; or arrow keys and Enter) leads to the explanation of the change before it.

import uPlot from "/static/vendor/uplot/uPlot.esm.js";
import {MARKS, colour, drawMark, drawMoment, framed, full, line, options, shade, steerable} from "/static/plots.js";
import {localClock, localize, zone} from "/static/times.js";

const HUES = [["--ink", [2, 3], 1.5], ["--accent", null, 2.5], ["--violet", [8, 3], 2], ["--green", [3, 2], 2], ["--amber", [10, 3, 2, 3], 2], ["--red", [5, 5], 2]];
const TALL = 260;
const THIN = 1.25; // a metric moves in every cycle
const CLOSE_PX = 8;
const MOST_MARKS = 150; // more of them would be a wall
const LEAST_SECONDS = 60; // that a chart spans

const dressed = (label, place) => line(label, ...HUES[place % HUES.length]);

function drawings({at, needed, candidates}) {
  return [
    {
      title: "Replicas",
      data: [at, needed, ...candidates.map(({size}) => size)],
      series: [{...line("needed", "--wanted", null, 1), fill: () => colour("--amber-soft"), alpha: 0.55}, ...candidates.map(({label}, place) => dressed(label, place))],
      bands: [],
      stepped: true,
      height: TALL,
    },
    {
      title: "Demand for each ready replica (1 is on target)",
      data: [at, at.map(() => 1), ...candidates.map(({overload}) => overload)],
      series: [line("target", "--quiet", [6, 4], 1), ...candidates.map(({label}, place) => ({...dressed(label, place), width: THIN}))],
      bands: [],
      stepped: false,
    },
  ];
}

function show(box, data) {
  const whole = [data.at[0] ?? 0, Math.max(data.at.at(-1) ?? 0, (data.at[0] ?? 0) + LEAST_SECONDS)];
  const changes = data.candidates.flatMap(({label, changes}) => changes.map((each) => ({...each, label}))).sort((a, b) => a.at - b.at);
  const button = box.closest("section").querySelector("button.whole");
  let shown = whole;
  let plots = [];

  function span(to) {
    shown = to;
    button.hidden = shown === whole;
    for (const plot of plots) plot.setScale("x", {min: to[0], max: to[1]});
  }

  function enlarge(plot) {
    const {left, width} = plot.select;
    if (width < CLOSE_PX) return;
    plot.setSelect({left: 0, width: 0}, false);
    const [begin, end] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    if (end - begin >= LEAST_SECONDS) span([begin, end]);
  }

  function explain(plot, index) {
    const time = plot.data[0][index];
    const known = changes.filter(({anchor}) => anchor);
    const near = (each) => Math.abs(plot.valToPos(each.at, "x") - plot.valToPos(time, "x"));
    const closest = known.reduce((best, each) => (best && near(best) <= near(each) ? best : each), undefined);
    const chosen = closest && near(closest) > CLOSE_PX ? known.findLast((each) => each.at <= time) ?? closest : closest;
    if (chosen) location.hash = chosen.anchor;
  }

  function moment(plot) {
    const {left, idx} = plot.cursor;
    if (idx == null || left < 0) return "";
    const at = plot.data[0][idx];
    const own = localClock(new Date(at * 1000));
    const close = changes.filter((each) => Math.abs(plot.valToPos(each.at, "x") - left) < CLOSE_PX);
    return [`${full(at)} UTC`, ...(own ? [`${own} local`] : []), ...close.slice(-3).map((each) => `${each.label} ${each.out ? "scales out" : "scales in"}`)].join(" · ");
  }

  function drawMarks(plot, stepped) {
    const inside = changes.filter(({at}) => at >= shown[0] && at <= shown[1]);
    plot.ctx.save();
    if (stepped && inside.length <= MOST_MARKS) for (const each of inside) drawMark(plot, each.at, MARKS[each.out ? "out" : "in"]);
    const chosen = changes.find(({anchor}) => anchor && `#${anchor}` === location.hash);
    if (chosen && chosen.at >= shown[0] && chosen.at <= shown[1]) drawMoment(plot, chosen.at);
    plot.ctx.restore();
  }

  plots = drawings(data).map((drawing) => {
    const {box: part, near} = framed(box, drawing);
    const hooks = {
      drawClear: [(plot) => data.unknown.forEach(([begin, end]) => shade(plot, begin, end))],
      draw: [(plot) => drawMarks(plot, drawing.stepped)],
      setCursor: [(plot) => { near.textContent = moment(plot); }],
      setSelect: [enlarge],
    };
    const made = options(drawing, part.clientWidth, () => shown, hooks);
    made.cursor.drag = {x: true, y: false, setScale: false, dist: CLOSE_PX};
    made.cursor.sync.key = `moment ${box.dataset.replay}`;
    const plot = new uPlot(made, drawing.data, part);
    part.append(near);
    steerable(plot, drawing, (index) => explain(plot, index));
    plot.root.setAttribute("aria-valuemax", String(Math.max(0, data.at.length - 1)));
    return plot;
  });
  button.addEventListener("click", () => span(whole));
  new ResizeObserver(() => {
    plots.forEach((plot) => plot.setSize({width: plot.root.parentElement.clientWidth, height: plot.height}));
  }).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plots.forEach((plot) => plot.redraw()));
  addEventListener("hashchange", () => plots.forEach((plot) => plot.redraw()));
}

function follow() { // the address says which change is explained
  for (const link of document.querySelectorAll("a.change")) {
    if (link.hash === location.hash) {
      link.setAttribute("aria-current", "true");
      link.scrollIntoView({block: "nearest"});
    } else link.removeAttribute("aria-current");
  }
  const explained = document.querySelector(".explained:target");
  explained?.scrollIntoView({block: "nearest"});
  explained?.focus({preventScroll: true});
}

localize(document);
for (const place of document.querySelectorAll(".zone")) if (zone()) place.textContent = `; yours are ${zone()}`;
const data = JSON.parse(document.getElementById("data").textContent);
for (const box of document.querySelectorAll(".plots")) show(box, data[Number(box.dataset.replay)]);
addEventListener("hashchange", follow);
follow();
