// A plan's load as numbers: what is planned, and the curve to draw. Pure; the server validates.

import { peakRate, stagePoints, stagedDuration, stagedRequests } from "./stages.js";

export const MODELS = ["closed", "open", "over", "sequential", "window"];
const PERCENTILES = [99.999, 99.99, 99.9, 99, 95, 90, 50];
const BEYOND = 10; // a percentile is shown from this many samples beyond it on

// "1,000" → 1000; "" and what is no number → null.
export function readNumber(text) {
  const plain = String(text ?? "").trim().replace(/(?<=\d),(?=\d{3}\b)/g, "");
  if (plain === "" || Number.isNaN(Number(plain))) return null;
  return Number(plain);
}

function positive(value) {
  return value !== null && value !== undefined && value > 0 && Number.isFinite(value);
}

// The fields that a model uses must be there before anything can be drawn.
export function isComplete(load) {
  if (hasStages(load)) return stagedRequests(load.stages) > 0 && stagedDuration(load.stages) > 0;
  const needs = {
    closed: [load.connections, load.requests ?? load.duration_s],
    open: isUniform(load)
      ? [load.uniform_max_s, load.requests, load.uniform_max_s - (load.uniform_min_s ?? NaN)]
      : [load.rate_per_s, load.requests ?? load.duration_s],
    over: [load.requests, load.over_s],
    window: [load.low, load.high, load.requests ?? load.duration_s, load.high - load.low + 1],
    sequential: [load.requests ?? load.duration_s],
  }[load.model];
  return Boolean(needs) && needs.every(positive);
}

export function hasStages(load) {
  return load.model === "open" && load.stages?.length > 0;
}

function isUniform(load) {
  return load.model === "open" && load.distribution === "uniform";
}

// Arrivals a second on the average, of a load that has arrivals.
export function meanRate(load) {
  if (load.model === "over") return load.requests / load.over_s;
  return isUniform(load) ? 2 / (load.uniform_min_s + load.uniform_max_s) : load.rate_per_s;
}

// Measured seconds, warm-up excluded; null where only the target decides. Of drawn gaps: the mean.
export function plannedDuration(load) {
  if (load.model === "over") return load.over_s;
  if (hasStages(load)) return stagedDuration(load.stages);
  if (load.duration_s) return load.duration_s;
  if (load.model === "open") return load.requests / meanRate(load);
  return null;
}

// Measured requests; null where only the target decides. Arrivals i/rate lie in [0, duration).
export function plannedRequests(load) {
  if (load.requests) return load.requests;
  if (hasStages(load)) return stagedRequests(load.stages);
  if (load.model !== "open") return null;
  const count = Math.floor(load.rate_per_s * load.duration_s);
  return count / load.rate_per_s < load.duration_s - 1e-9 ? count + 1 : count;
}

// What an open load counts: "request", or "connection" or "session", each of several requests.
export function arrivalOf(load) {
  return isArrivals(load) ? load.arrival_unit || "request" : "request";
}

// Requests of all arrivals; `calls`: of each. null where only the target decides.
export function plannedCalls(load) {
  const count = plannedRequests(load);
  return count === null ? null : count * (load.calls ?? 1);
}

// The highest percentile with at least ten samples beyond it; null under 20 requests.
export function highestPercentile(requests) {
  return PERCENTILES.find((q) => requests * (1 - q / 100) >= BEYOND - 1e-9) ?? null;
}

// {unit, level, from, to, isOpenEnded, arrivals}: `level` in `unit` from −warm-up to the end.
export function loadCurve(load, warmUp = 0) {
  if (!isComplete(load)) return null;
  const duration = plannedDuration(load);
  const end = duration ?? Math.max(10, warmUp * 4, 1.5 * ((load.ramp_up_s || 0) - warmUp));
  return {
    unit: isArrivals(load) ? `${arrivalOf(load)}s/s` : unitOf(load),
    points: pointsOf(load, warmUp, end),
    level: levelOf(load),
    from: warmUp > 0 ? -warmUp : 0,
    to: end,
    isOpenEnded: duration === null,
    arrivals: isArrivals(load) ? fewArrivals(load, duration) : [],
  };
}

function isArrivals(load) {
  return load.model === "open" || load.model === "over";
}

function unitOf(load) {
  return load.model === "window" ? "connections being opened, at most" : "connections";
}

function levelOf(load) {
  if (hasStages(load)) return peakRate(load.stages);
  if (isArrivals(load)) return meanRate(load);
  if (load.model === "window") return load.high;
  return load.model === "closed" ? load.connections : 1;
}

// [[second, level], …] from −warm-up to the end; between two points the level changes evenly.
function pointsOf(load, warmUp, end) {
  if (hasStages(load)) {
    const before = load.stages[0].from_per_s;
    return [...(warmUp > 0 ? [[-warmUp, before], [0, before]] : []), ...stagePoints(load.stages)];
  }
  const [start, level] = [warmUp > 0 ? -warmUp : 0, levelOf(load)];
  const full = load.model === "closed" ? start + (load.ramp_up_s || 0) : start;
  if (full <= start) return [[start, level], [end, level]];
  if (full < end) return [[start, 0], [full, level], [end, level]];
  return [[start, 0], [end, (level * (end - start)) / (full - start)]];
}

// Single starts are drawn only while they can be told apart.
function fewArrivals(load, duration) {
  const count = plannedRequests(load);
  const isRandom = load.distribution && load.distribution !== "deterministic";
  if (count > 120 || isRandom || hasStages(load)) return [];
  return Array.from({ length: count }, (_, i) => i / levelOf(load)).filter((t) => t < duration);
}
