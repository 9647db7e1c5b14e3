// What the load means, in sentences for the page and for whoever cannot see the curve.

import { counted, duration, plain } from "./format.js";
import { arrivalOf, hasStages, highestPercentile, plannedCalls, plannedDuration, plannedRequests } from "./load.js";

function distance(seconds) {
  return seconds < 1 ? `${plain(seconds * 1000)} ms` : `${plain(seconds)} s`;
}

function isRandom(load) {
  return load.distribution === "exponential" || load.distribution === "uniform";
}

function stagedSentence(load, count, length) {
  const how = isRandom(load) ? " at random instants" : "";
  const stages = load.stages.length === 1 ? "one stage" : `${load.stages.length} stages`;
  return `${counted(count, `${arrivalOf(load)}s`)}${how} in ${stages}, ${duration(length)} in all.`;
}

function randomSentence(load, count, length) {
  const [number, mean] = [counted(count, `${arrivalOf(load)}s`), distance(length / count)];
  if (load.distribution === "exponential") {
    return `${number} at random instants within ${duration(length)}, ${mean} apart on the average.`;
  }
  const gaps = `${distance(load.uniform_min_s)} to ${distance(load.uniform_max_s)}`;
  return `${number}, each ${gaps} after the one before; about ${duration(length)} in all.`;
}

function windowSentence(load) {
  const until = load.requests ? `until ${plain(load.requests)} were opened${load.per_injector ? " by each" : ""}` : `for ${duration(load.duration_s)}`;
  return (
    `Each injector opens ${plain(load.high)} connections at a time, and again up to ${plain(load.high)} ` +
    `when fewer than ${plain(load.low)} are being opened, ${until}.`
  );
}

export function curveSentence(load) {
  const sentence = wholeSentence(load);
  if (!load.per_injector || load.model === "window") return sentence;
  return `Each injector: ${sentence[0].toLowerCase()}${sentence.slice(1)}`;
}

function wholeSentence(load) {
  if (load.model === "over" || load.model === "open") {
    const [count, length] = [plannedRequests(load), plannedDuration(load)];
    if (hasStages(load)) return stagedSentence(load, count, length);
    if (isRandom(load)) return randomSentence(load, count, length);
    const gap = length / count;
    const last = plain((count - 1) * gap);
    return `One ${arrivalOf(load)} every ${distance(gap)}; the first at 0 s, the last at ${last} s.`;
  }
  if (load.model === "window") return windowSentence(load);
  const isOne = load.model !== "closed" || load.connections === 1;
  const who = isOne ? "One connection sends" : `${plain(load.connections)} connections send`;
  const until = load.requests
    ? `until ${counted(load.requests, "requests")} ${load.requests === 1 ? "is" : "are"} done; how long that takes is up to the target.`
    : `for ${duration(load.duration_s)}; how many requests that makes is up to the target.`;
  const ramp = load.ramp_up_s > 0 ? ` Connections begin one by one over ${duration(load.ramp_up_s)}.` : "";
  return `${who}, each request after the reply to the one before, ${until}${ramp}`;
}

// {duration, requests, percentile}: texts of the estimate; "–" where the target decides.
export function estimate(load, warmUp) {
  const [length, count] = [plannedDuration(load), plannedCalls(load)];
  const highest = count === null ? null : highestPercentile(count);
  return {
    duration: length === null ? "–" : duration(length + (warmUp || 0)),
    requests: count === null ? "–" : `${count.toLocaleString("en-US")}${load.per_injector ? " each" : ""}`,
    percentile: highest === null ? "–" : `p${highest}`,
  };
}
