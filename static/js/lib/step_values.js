// A plan's steps as lists of values, one object a step: moved and removed without a document. The
// heading of a flow stays in its place: it is over the steps that come there.

const HEADING = ["flow", "share"];

function headed(step, by) {
  return { ...step, ...Object.fromEntries(HEADING.map((name) => [name, by[name]])) };
}

export function moved(steps, from, to) {
  if (to < 0 || to >= steps.length) return steps;
  const result = [...steps];
  const [step] = result.splice(from, 1);
  result.splice(to, 0, step);
  return result.map((each, index) => headed(each, steps[index]));
}

export function copied(steps, index) {
  const copy = { ...steps[index], open: false, ...Object.fromEntries(HEADING.map((name) => [name, ""])) };
  return [...steps.slice(0, index + 1), copy, ...steps.slice(index + 1)];
}

export function without(steps, index) {
  if (steps.length === 1) return steps;
  const left = steps.filter((_, each) => each !== index);
  const next = left[index];
  if (steps[index].flow && next && !next.flow) left[index] = headed(next, steps[index]);
  return left;
}
