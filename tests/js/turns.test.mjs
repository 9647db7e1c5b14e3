import assert from "node:assert/strict";
import test, { beforeEach } from "node:test";

let frames = [];
let look = null;
globalThis.requestAnimationFrame = (work) => frames.push(work);
globalThis.IntersectionObserver = class {
  constructor(told) {
    look = (target, isIntersecting) => told([{ target, isIntersecting }]);
  }

  observe() {}
};
const { drawAll, drawInTurn } = await import("../../static/js/charts/turns.js");

// A chart that notes what it draws.
function chart(notes, name) {
  const element = {};
  return { element, draw: (what) => drawInTurn(element, () => notes.push(`${name} ${what}`)) };
}

const frame = () => frames.splice(0).forEach((work) => work());
const settled = () => { while (frames.length) frame(); };

beforeEach(() => {
  drawAll();
  settled();
});

test("charts are drawn one a frame, those near the window first", () => {
  const notes = [];
  const [far, near] = [chart(notes, "far"), chart(notes, "near")];
  far.draw("first");
  near.draw("first");
  look(near.element, true);
  assert.deepEqual(notes, []);
  frame();
  assert.deepEqual(notes, ["near first"]);
  frame();
  assert.deepEqual(notes, ["near first", "far first"]);
});

test("of what came before its turn, only the last is drawn", () => {
  const notes = [];
  const one = chart(notes, "one");
  one.draw("first");
  one.draw("second");
  settled();
  assert.deepEqual(notes, ["one second"]);
});

test("a chart far from the window is drawn again once it is near", () => {
  const notes = [];
  const one = chart(notes, "one");
  one.draw("first");
  settled();
  one.draw("second");
  one.draw("third");
  settled();
  assert.deepEqual(notes, ["one first"]);
  look(one.element, true);
  settled();
  assert.deepEqual(notes, ["one first", "one third"]);
});

test("paper gets all charts at once", () => {
  const notes = [];
  const one = chart(notes, "one");
  one.draw("first");
  settled();
  one.draw("second");
  drawAll();
  assert.deepEqual(notes, ["one first", "one second"]);
});

test("a chart that cannot be drawn keeps no other from its turn", () => {
  const notes = [];
  drawInTurn({}, () => { throw new Error("no canvas"); });
  chart(notes, "other").draw("first");
  assert.throws(frame, /no canvas/);
  settled();
  assert.deepEqual(notes, ["other first"]);
});
