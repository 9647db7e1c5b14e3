// All charts of a page, each group from the specification beside it (domain/presentation/charts.py):
// series, bands, marks and axes become Chart.js' datasets and scales. A region that is replaced keeps
// its frames (`data-kept`), so that their charts get new data in place.

import $ from "jquery";
import { AXIS_WIDTH, rangeAcross, rangeUp, scaleAcross, scaleUp } from "./scales.js";
import { drawings, hatch, paddingOf } from "./drawings.js";
import { placesOf } from "./figures.js";
import { Chart } from "./library.js";
import { follow, watch } from "./reading.js";
import { applyChartDefaults, cssToken, onThemeChange } from "./theme.js";
import { drawInTurn } from "./turns.js";
import { parted } from "../live/points.js";

const groups = new Map();
applyChartDefaults();

function drawCharts() {
  for (const element of document.querySelectorAll("[data-charts]:not([data-over-time])")) {
    const script = element.querySelector(":scope > script");
    if (script) chartGroup(element.dataset.charts).show(JSON.parse(script.textContent));
  }
}

export const groupAt = (element) => groups.get(element.closest("[data-charts]")?.dataset.charts);

// The group with this key: {show(spec), redraw()}. A page whose data comes second by second makes the
// specification itself. `hooks`: {range(from, until), enter(x)} in place of where the specification leads.
export function chartGroup(key, hooks = {}) {
  if (!groups.has(key)) groups.set(key, new Group(key, hooks));
  return groups.get(key);
}

class Group {
  at = null;
  isLog = true;
  charts = new Map();
  spec = { panels: [] };

  constructor(key, hooks) {
    Object.assign(this, { key, hooks });
    onThemeChange(() => this.redraw());
  }

  get element() {
    return document.querySelector(`[data-charts="${this.key}"]`);
  }

  figureOf(panel) {
    return this.element.querySelector(`[data-panel="${panel.key}"]`);
  }

  show(spec) {
    this.spec = spec;
    spec.places ??= placesOf(spec);
    this.redraw();
  }

  redraw() {
    if (!this.element) return;
    const { panels, places } = this.spec;
    this.drawn = panels.filter(hasSomething);
    this.element.hidden = !this.drawn.length;
    for (const panel of panels) this.figureOf(panel).hidden = !this.drawn.includes(panel);
    if (!this.drawn.length) return;
    this.element.querySelector(".chart-tools").hidden = false;
    this.element.querySelector("[data-chart-do=full]").hidden = !document.fullscreenEnabled;
    const scaled = this.drawn.map((panel) => ({ ...panel, y: this.scaleOf(panel.y) }));
    const across = rangeAcross(this.drawn[0].x ?? {}, [...places.x, ...marksOn("x", this.drawn)]);
    const first = rangeUp(scaled[0].y, valuesOf(scaled[0]));
    for (const [i, panel] of scaled.entries()) {
      const frame = this.figureOf(panel).querySelector(".chart-frame");
      const up = i ? rangeUp(panel.y, valuesOf(panel), first) : first;
      drawInTurn(frame, () => this.draw(frame, panel, across, up, i === scaled.length - 1));
    }
    follow(this);
  }

  // Logarithmic where a reader has the choice and has not chosen otherwise.
  scaleOf(axis = {}) {
    return axis.has_choice ? { ...axis, scale: this.isLog ? "log" : "linear" } : axis;
  }

  draw(frame, panel, across, up, isLowest) {
    const canvas = frame.querySelector("canvas");
    const chart = this.chartOf(panel.key, canvas);
    const names = this.drawn.flatMap(({ series }) => series.map(({ end }) => end ?? ""));
    const isStacked = panel.series.some(({ stack }) => stack);
    const isLow = frame.clientHeight < 150;
    Object.assign(chart, { panel, at: this.at });
    chart.options.layout.padding = paddingOf(canvas, panel, names);
    chart.options.scales = {
      x: scaleAcross(panel.x ?? {}, across, isLowest || Boolean(this.spec.in_columns)),
      y: scaleUp(panel.y, up, isStacked, isLow),
    };
    if (isStacked) chart.options.scales.x.stacked = true;
    chart.data.datasets = panel.series.flatMap((series) => datasetsOf(chart.ctx, series, up));
    chart.update("none");
  }

  chartOf(key, canvas) {
    const known = this.charts.get(key);
    if (known?.canvas === canvas) return known;
    known?.destroy();
    const chart = new Chart(canvas, {
      type: "line",
      data: { datasets: [] },
      options: { parsing: false, normalized: true, events: [], layout: { padding: 0 } },
      plugins: [drawings],
    });
    chart.group = this;
    this.charts.set(key, chart);
    watch(chart);
    return chart;
  }

  // Washes the range that is being dragged.
  wash(range) {
    for (const chart of this.charts.values()) Object.assign(chart, { range }).draw();
  }

  // The place [x] under a pointer, or null beside the axis.
  placeUnder(chart, event) {
    const x = event.clientX - chart.canvas.getBoundingClientRect().left;
    if (x < AXIS_WIDTH - 4 || !this.spec.places.x.length) return null;
    const value = chart.scales.x.getValueForPixel(x);
    const away = (each) => Math.abs(chart.scales.x.getPixelForValue(each) - chart.scales.x.getPixelForValue(value));
    return this.spec.places.x.reduce((near, each) => (away(each) < away(near) ? each : near));
  }
}

const hasSomething = ({ series }) => series.some(({ y = [] }) => y.some((each) => each !== null));
const isKnown = (value) => value !== null && value !== undefined;

function marksOn(axis, panels) {
  return panels.flatMap(({ marks = [] }) => marks.filter((each) => each.axis === axis && !each.lane).map(({ at }) => at));
}

// All values that an upright axis must hold; those of a stack together.
function valuesOf(panel) {
  const stacks = new Map();
  for (const { stack, x, y } of panel.series.filter((series) => series.stack)) {
    x.forEach((each, i) => stacks.set(`${stack} ${each}`, (stacks.get(`${stack} ${each}`) ?? 0) + (y[i] ?? 0)));
  }
  const single = panel.series.filter(({ stack }) => !stack);
  const points = single.flatMap(({ y, low = [], high = [] }) => [...y, ...low, ...high]);
  return [...points, ...stacks.values(), ...marksOn("y", [panel])].filter(isKnown);
}

// Options are values and no lists or functions: of these Chart.js works out all anew for each point,
// which for a thousand of them takes longer than everything else.
function datasetsOf(ctx, series, { min, max }) {
  const { look = "line", style, width = 1.6, radius = 0, faint, grey, stack, x, y, weak } = series;
  const token = look === "span" ? "ink" : grey ? "line-control" : style.token;
  const colour = faded(cssToken(token), faint);
  const held = (value) => (isKnown(value) ? Math.min(max, Math.max(min, value)) : null);
  const height = { foot: () => min, dots: held }[look] ?? ((value) => value ?? null);
  const data = x.map((each, i) => ({ x: each, y: y[i] === null ? null : height(y[i]), i }));
  const base = {
    token,
    borderColor: colour,
    backgroundColor: colour,
    borderWidth: grey ? 0.5 : width,
    borderDash: style.dash ?? [],
    pointRadius: radius,
    pointStyle: style.shape ?? "circle",
    pointBorderColor: colour,
    pointBorderWidth: 1.5,
    pointBackgroundColor: style.hollow ? cssToken("paper") : colour,
    clip: 8, // a marker at the edge is drawn whole
    order: grey || faint ? 1 : 0,
    hasDots: look === "line" && !grey && !radius,
    ...(stack && { stack }),
  };
  if (look === "bars") return [{ ...base, ...barsOf(ctx, series, data), data }];
  if (["dots", "foot", "box", "span"].includes(look)) return [{ ...base, data, showLine: false, end: series.end }];
  if (series.fill) return [{ ...base, ...areaOf(ctx, series), data, end: series.end }];
  if (look === "steps") return [{ ...base, data, stepped: true, end: series.end }];
  const { firm, weak: dotted } = weak?.some(Boolean) ? parted(data, ({ i }) => weak[i]) : { firm: data, weak: [] };
  const isFirmLast = firm.at(-1)?.x === data.at(-1)?.x;
  return [
    { ...base, data: firm, end: isFirmLast ? series.end : "" },
    ...(dotted.length ? [{ ...base, data: dotted, borderDash: [1, 3], end: isFirmLast ? "" : series.end }] : []),
  ];
}

function faded(colour, isFaint) {
  return isFaint ? colour.replace("rgb(", "rgba(").replace(")", ", 0.45)") : colour;
}

function barsOf(ctx, { style, hatched, thick }, data) {
  return {
    type: "bar",
    backgroundColor: hatched ? hatch(ctx, style.token, { step: hatched, ground: "paper" }) : cssToken(style.token),
    borderWidth: hatched ? 1 : 0,
    barThickness: thick ?? (data.length > 300 ? "flex" : undefined),
    barPercentage: 1,
    categoryPercentage: 0.9,
  };
}

function areaOf(ctx, { style, hatched, fill }) {
  const backgroundColor = hatched
    ? hatch(ctx, style.token, { step: hatched, ground: "paper" })
    : hatch(ctx, "part-connect", { step: 1 });
  return { backgroundColor, fill, borderWidth: 0.8, hasDots: false };
}

$(document).on("regionsreplaced", drawCharts);
drawCharts();
