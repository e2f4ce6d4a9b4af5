// The picture of a replay's report: the real size, each candidate's size, and the load, over time.

import {colour, framed, line, options, shade, steerable} from "/static/plots.js";
import {local, localize, zone} from "/static/times.js";

const HUES = [["--ink", [2, 3], 1.5], ["--accent", null, 2.5], ["--violet", [8, 3], 2], ["--green", [3, 2], 2]];
const TALL = 300;
const CLOSE_PX = 8;
const LEAST_SECONDS = 60; // that the picture spans

function drawing({at, load, candidates}) {
  const sizes = candidates.map(({label}, place) => line(label, ...HUES[place % HUES.length]));
  return {
    title: "Replicas",
    data: [at, load, ...candidates.map(({size}) => size)],
    series: [{...line("load", "--wanted", null, 1), fill: () => colour("--amber-soft"), alpha: 0.55}, ...sizes],
    bands: [],
    stepped: true,
    height: TALL,
  };
}

function show(box, data) {
  const whole = [data.at[0] ?? 0, Math.max(data.at.at(-1) ?? 0, (data.at[0] ?? 0) + LEAST_SECONDS)];
  const button = box.closest("section").querySelector("button.whole");
  let shown = whole;

  function span(to) {
    shown = to;
    button.hidden = shown === whole;
    plot.setScale("x", {min: to[0], max: to[1]});
  }

  function enlarge() {
    const {left, width} = plot.select;
    if (width < CLOSE_PX) return;
    plot.setSelect({left: 0, width: 0}, false);
    const [begin, end] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    if (end - begin >= LEAST_SECONDS) span([begin, end]);
  }

  const drawn = drawing(data);
  const {box: part, near} = framed(box, drawn);
  const hooks = {
    drawClear: [(each) => data.unknown.forEach(([begin, end]) => shade(each, begin, end))],
    setCursor: [(each) => { near.textContent = each.cursor.idx == null ? "" : local(data.at[each.cursor.idx]); }],
    setSelect: [enlarge],
  };
  const made = options(drawn, part.clientWidth, () => shown, hooks);
  made.cursor.drag = {x: true, y: false, setScale: false, dist: CLOSE_PX};
  const plot = new uPlot(made, drawn.data, part);
  part.append(near);
  steerable(plot, drawn);
  plot.root.setAttribute("aria-valuemax", String(Math.max(0, data.at.length - 1)));
  button.addEventListener("click", () => span(whole));
  new ResizeObserver(() => plot.setSize({width: part.clientWidth, height: plot.height})).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plot.redraw());
}

localize(document);
for (const place of document.querySelectorAll(".zone")) place.textContent = zone();
const data = JSON.parse(document.getElementById("data").textContent);
for (const box of document.querySelectorAll(".plots")) show(box, data[Number(box.dataset.replay)]);
