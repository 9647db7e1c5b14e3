// Stages of an open load as somebody types them, and what they add up to.

const NUMBER = "(\\d+(?:\\.\\d*)?|\\.\\d+)";
const LINE = new RegExp(`^${NUMBER}\\s*s?\\s*:\\s*${NUMBER}\\s*(?:-\\s*${NUMBER}\\s*)?(?:/s)?$`);

// "30: 10\n60: 10-50" → [{duration_s, from_per_s, to_per_s}]; null if a line cannot be read.
export function readStages(text) {
  const lines = String(text ?? "").split(/[,;\n]/).map((line) => line.trim()).filter(Boolean);
  const matches = lines.map((line) => LINE.exec(line));
  if (!lines.length || matches.includes(null)) return null;
  return matches.map(([, seconds, from, to]) => ({
    duration_s: Number(seconds),
    from_per_s: Number(from),
    to_per_s: Number(to ?? from),
  }));
}

export function stagedDuration(stages) {
  return stages.reduce((sum, stage) => sum + stage.duration_s, 0);
}

// The integral of the rate, up to the next whole number: arrivals 0, 1, … that fit.
export function stagedRequests(stages) {
  const area = stages.reduce((sum, each) => sum + (each.duration_s * (each.from_per_s + each.to_per_s)) / 2, 0);
  return Math.ceil(area - 1e-9 * Math.max(1, area));
}

export function peakRate(stages) {
  return Math.max(...stages.flatMap((stage) => [stage.from_per_s, stage.to_per_s]));
}

// [[second, rate], …]: two points a stage, so that a step is drawn upright.
export function stagePoints(stages) {
  let start = 0;
  return stages.flatMap((stage) => {
    const points = [[start, stage.from_per_s], [start + stage.duration_s, stage.to_per_s]];
    start += stage.duration_s;
    return points;
  });
}
