import assert from "node:assert/strict";
import test from "node:test";

import { moved, without } from "../../static/js/lib/step_values.js";

const step = (path, flow = "", share = "") => ({ path, flow, share });
const STEPS = ["login", "page", "logout"].map((path) => step(path));
const paths = (steps) => steps.map((each) => each.path);
const FLOWS = [step("/", "browse", "90"), step("/list"), step("/pay", "buy", "10"), step("/done")];
const headings = (steps) => steps.map((each) => each.flow);

test("a step changes places with its neighbour and stays inside the list", () => {
  assert.deepEqual(paths(moved(STEPS, 0, 1)), ["page", "login", "logout"]);
  assert.deepEqual(paths(moved(STEPS, 2, 0)), ["logout", "login", "page"]);
  assert.deepEqual(moved(STEPS, 0, -1), STEPS);
  assert.deepEqual(moved(STEPS, 2, 3), STEPS);
});

test("a step is taken out, but never the last one", () => {
  assert.deepEqual(paths(without(STEPS, 1)), ["login", "logout"]);
  assert.deepEqual(without([STEPS[0]], 0), [STEPS[0]]);
});

test("the heading of a flow stays over the steps that come there", () => {
  const after = moved(FLOWS, 0, 1);
  assert.deepEqual(paths(after), ["/list", "/", "/pay", "/done"]);
  assert.deepEqual(headings(after), ["browse", "", "buy", ""]);
  assert.equal(after[0].share, "90");
});

test("a flow whose first step is taken out begins with its next one, if it has one", () => {
  assert.deepEqual(headings(without(FLOWS, 2)), ["browse", "", "buy"]);
  assert.deepEqual(headings(without(without(FLOWS, 1), 0)), ["buy", ""]);
});
