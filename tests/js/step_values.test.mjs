import assert from "node:assert/strict";
import test from "node:test";

import { moved, without } from "../../static/js/lib/step_values.js";

const STEPS = ["login", "page", "logout"];

test("a step changes places with its neighbour and stays inside the list", () => {
  assert.deepEqual(moved(STEPS, 0, 1), ["page", "login", "logout"]);
  assert.deepEqual(moved(STEPS, 2, 0), ["logout", "login", "page"]);
  assert.deepEqual(moved(STEPS, 0, -1), STEPS);
  assert.deepEqual(moved(STEPS, 2, 3), STEPS);
});

test("a step is taken out, but never the last one", () => {
  assert.deepEqual(without(STEPS, 1), ["login", "logout"]);
  assert.deepEqual(without(["login"], 0), ["login"]);
});
