// A plan's steps as lists of values, one object a step: moved and removed without a document.

export function moved(steps, from, to) {
  if (to < 0 || to >= steps.length) return steps;
  const result = [...steps];
  const [step] = result.splice(from, 1);
  result.splice(to, 0, step);
  return result;
}

export function without(steps, index) {
  if (steps.length === 1) return steps;
  return steps.filter((_, each) => each !== index);
}
