import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { holds } from "../../static/js/lib/conditions.js";

const CASES = JSON.parse(readFileSync(new URL("../golden/conditions.json", import.meta.url)));

test("the page reads a condition as the server does", () => {
  for (const { condition, choices, holds: expected } of CASES) {
    assert.equal(holds(condition, choices), expected, `${condition} for ${JSON.stringify(choices)}`);
  }
});
