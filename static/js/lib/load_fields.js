// Which fields of the load count, given what is chosen; the server leaves out the same ones.

const USES = {
  closed: ["connections", "ramp_up_s", "start_offset_s", "per_injector", "shares"],
  open: ["distribution", "arrival_unit", "max_in_flight", "when_saturated", "shares"],
  over: ["requests", "over_s", "arrival_unit", "max_in_flight", "when_saturated", "shares"],
  sequential: ["per_injector"],
  window: ["low", "high", "hold", "start_offset_s", "per_injector", "shares"],
};

// choices: {model, stop, distribution, hold, rate_shape} → names of fields, "stop" for the choice between two ends.
export function usedFields({ model, stop, distribution, hold, rate_shape }) {
  if (model === "over") return USES.over;
  if (model === "open" && distribution === "uniform") {
    return [...USES.open, "uniform_min_s", "uniform_max_s", "requests"];
  }
  if (model === "open" && rate_shape === "stages") return [...USES.open, "rate_shape", "stages"];
  const end = stop === "duration" ? "duration_s" : "requests";
  const more = { open: ["rate_shape", "rate_per_s"], window: hold === "keep_s" ? ["hold_s"] : [] }[model] ?? [];
  return [...USES[model], ...more, "stop", end];
}

export const CHOICES = new Set(["distribution", "when_saturated", "hold", "arrival_unit"]);
export const TICKS = new Set(["per_injector"]);
// Fields of the form that are none of a load, or change nothing of what all injectors send together.
export const ONLY_SHOWN = new Set(["stop", "rate_shape", "shares"]);
