// What the target's machine did, on the seconds of the run: CPU, chosen processes, memory, network,
// and what TCP had to do twice. A panel without anything to show is hidden.

import { hatch } from "./marks.js";
import { roundUp } from "./axes.js";
import { baseOptions, fromZero, line, panel } from "./panels.js";
import { lineOf } from "../live/points.js";

// From the bottom up: name and how its area is drawn.
const STATES = [
  { name: "user", step: 0 },
  { name: "system", step: 6 },
  { name: "interrupts", step: 3 },
  { name: "stolen", step: 9, token: "bad" },
];
const NETWORK = [
  { name: "received", dash: [5, 3] },
  { name: "sent", dash: [] },
  { name: "loopback", dash: [1, 3] },
];
const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3]];
// Each panel's key of a text, and its title in the table.
const TITLES = {
  cpu: "target's CPU",
  processes: "target's processes, CPU",
  memory: "target's memory",
  network: "target's network, a second",
  trouble: "target's TCP, a second",
};

const SETTERS = { cpu: setCpu, processes: setProcesses, memory: setMemory, network: setNetwork, trouble: setTrouble };

// {panels, take(seconds), look(axis, points), at(second), titles(), texts(second)}; `points` are those
// of the run, whose injector is drawn beside the target's CPU.
export function machinePanels(frame) {
  const share = { ...fromZero, max: 100 };
  let told = [];
  let rows = [];
  let bySecond = new Map();
  let injectorOf = () => "";
  const panels = Object.fromEntries(Object.keys(TITLES).map((name) => [name, panel(frame, `machine-${name}`, {
    options: baseOptions(false, optionsOf(name, share)),
    words: (row) => row[`${name}_text`],
    set: ({ chart }, points) => SETTERS[name](chart, rows, points),
  })]));
  for (const each of Object.values(panels)) each.isOfMachine = true;
  const shown = () => Object.keys(panels).filter((name) => !panels[name].element.hidden);

  function take(seconds) {
    told = seconds;
    bySecond = new Map(told.map((row) => [row.second, row]));
  }

  // Shows the panels that have something on this axis.
  function look(axis, points) {
    rows = told.filter(({ second }) => second >= axis.min && second < axis.max);
    const injector = new Map(points.map((point) => [point.second, point.injector_text]));
    injectorOf = (second) => injector.get(second);
    const has = (value) => rows.some((row) => value(row) > 0);
    reveal(panels.cpu, has((row) => row.busy));
    reveal(panels.memory, has((row) => row.memory));
    reveal(panels.network, NETWORK.some(({ name }) => has((row) => row[name])));
    reveal(panels.trouble, has((row) => row.retransmitted) || has((row) => row.overflows));
    reveal(panels.processes, rows.some((row) => Object.keys(row.processes).length));
    sayUnit(panels.processes, rows);
  }

  return {
    panels: Object.values(panels),
    take,
    look,
    at: (second) => both(bySecond.get(second), injectorOf(second)),
    titles: () => shown().map((name) => TITLES[name]),
    texts: (second) => shown().map((name) => bySecond.get(second)?.[`${name}_text`] ?? "\u2013"),
  };
}

// A machine's second with what the injector used in it.
function both(row, injectorText) {
  return row && { ...row, cpu_text: [row.cpu_text, injectorText].filter(Boolean).join("; ") };
}

function optionsOf(name, share) {
  if (name === "cpu") return { ...share, stacked: true };
  return name === "memory" ? share : fromZero;
}

function reveal({ element }, isShown) {
  element.hidden = !isShown;
}

// An exporter of a single process does not tell how many cores there are.
function sayUnit({ element }, rows) {
  const isOfAll = rows.some((row) => row.cores);
  element.querySelector(".unit").textContent = `CPU, % of ${isOfAll ? "all cores" : "a core"}`;
}

function setCpu(chart, rows, points) {
  const states = STATES.filter(({ name }) => name !== "stolen" || rows.some((row) => row.stolen > 0));
  const areas = states.map(({ name, step, token = "ink-3" }, i) => ({
    ...line(lineOf(rows, (row) => row[name]), token, { borderWidth: 0.8, endLabel: name }),
    backgroundColor: step ? hatch(chart.ctx, token, { step, ground: "paper" }) : hatch(chart.ctx, "part-connect", { step: 1 }),
    fill: i ? "-1" : "origin",
    stack: "states",
    hasDots: false,
  }));
  const total = line(lineOf(rows, (row) => row.busy), "ink", { borderWidth: 1.6, stack: "total" });
  const injector = line(lineOf(points, (point) => point.injector_cpu), "ink", {
    borderWidth: 1.4,
    borderDash: [2, 3],
    stack: "injector",
    endLabel: "injector",
  });
  chart.data.datasets = [total, injector, ...areas];
}

function setMemory(chart, rows) {
  chart.data.datasets = [line(lineOf(rows, (row) => row.memory), "ink", {})];
}

function setProcesses(chart, rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.processes)))];
  chart.data.datasets = names.map((name, i) =>
    line(lineOf(rows, (row) => row.processes[name]), `series-${(i % 8) + 1}`, {
      endLabel: name,
      labelToken: `series-${(i % 8) + 1}`,
      borderDash: DASHES[i % DASHES.length],
    }));
  fitTop(chart);
}

function setNetwork(chart, rows) {
  const lines = NETWORK.filter(({ name }) => rows.some((row) => row[name] > 0));
  chart.data.datasets = lines.map(({ name, dash }) =>
    line(lineOf(rows, (row) => row[name]), "ink", { endLabel: name, borderDash: dash, borderWidth: 1.4 }));
  fitTop(chart, 0.001);
}

function setTrouble(chart, rows) {
  chart.data.datasets = [
    line(lineOf(rows, (row) => row.overflows), "bad", { endLabel: "overflows", labelToken: "bad" }),
    line(lineOf(rows, (row) => row.retransmitted), "ink", { endLabel: "sent again", borderDash: [5, 3] }),
  ];
  fitTop(chart);
}

function fitTop(chart, least = 1) {
  const values = chart.data.datasets.flatMap(({ data }) => data.map(({ y }) => y || 0));
  chart.options.scales.y.max = roundUp(Math.max(...values, least) * 1.08);
}
