// What the target's machine did, on the seconds of the run: CPU, chosen processes, memory, network, and
// what TCP had to do twice. A panel without anything to show has no series.

import { lineOf } from "../live/points.js";

// From the bottom up: name and how its area is hatched.
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

// Of areas and bars: 0 is filled.
export const hatchSteps = [0, 5, 9, 3, 13];

// A series of a line with its gaps.
export function seriesOf(line, token, more = {}) {
  const { dash = [], hollow, ...rest } = more;
  return { x: line.map(({ x }) => x), y: line.map(({ y }) => y), style: { token, dash, hollow }, ...rest };
}

// By panel. `rows` are the machine's seconds, `points` those of the run, whose injector is drawn beside
// the target's CPU.
export function machineSeries(rows, points) {
  const has = (value) => rows.some((row) => value(row) > 0);
  const line = (value, token, more) => seriesOf(lineOf(rows, value), token, more);
  const processes = [...new Set(rows.flatMap((row) => Object.keys(row.processes)))];
  const networks = NETWORK.filter(({ name }) => has((row) => row[name]));
  const hasTrouble = has((row) => row.retransmitted) || has((row) => row.overflows);
  return {
    "machine-cpu": has((row) => row.busy) ? cpuSeries(line, has, points) : [],
    "machine-processes": processes.map((name, i) => line((row) => row.processes[name], `series-${(i % 8) + 1}`, {
      end: name,
      dash: DASHES[i % DASHES.length],
    })),
    "machine-memory": has((row) => row.memory) ? [line((row) => row.memory, "ink")] : [],
    "machine-network": networks.map(({ name, dash }) => line((row) => row[name], "ink", { end: name, dash, width: 1.4 })),
    "machine-trouble": hasTrouble ? [
      line((row) => row.overflows, "bad", { end: "overflows" }),
      line((row) => row.retransmitted, "ink", { end: "sent again", dash: [5, 3] }),
    ] : [],
  };
}

function cpuSeries(line, has, points) {
  const states = STATES.filter(({ name }) => name !== "stolen" || has((row) => row.stolen));
  const areas = states.map(({ name, step, token = "ink-3" }, i) => ({
    ...line((row) => row[name], token, { end: name, hatched: step, stack: "states" }),
    fill: i ? "-1" : "origin",
  }));
  return [
    line((row) => row.busy, "ink", { stack: "total" }),
    seriesOf(lineOf(points, (point) => point.injector_cpu), "ink", { stack: "injector", end: "injector", dash: [2, 3], width: 1.4 }),
    ...areas,
  ];
}

// What the crosshair reads at each of the run's points, by panel.
export function machineTexts(rows, points) {
  const bySecond = new Map(rows.map((row) => [row.second, row]));
  const texts = (key) => points.map(({ second }) => bySecond.get(second)?.[`${key}_text`] ?? "\u2013");
  const keys = ["processes", "memory", "network", "trouble"];
  return {
    "machine-cpu": points.map(({ second, injector_text: injector }) =>
      [bySecond.get(second)?.cpu_text, injector].filter(Boolean).join("; ") || "\u2013"),
    ...Object.fromEntries(keys.map((key) => [`machine-${key}`, texts(key)])),
  };
}
