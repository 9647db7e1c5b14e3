// Draws charts one after another, one a frame, so that a page with many answers its reader in between.
// Each is drawn once, those near the window first; after that only those near it, so that a page that
// is followed for an hour draws nothing that nobody sees.

const NEAR = "100% 0px"; // a window's height above and below
const waiting = new Map(); // what draws an element's chart; what came last counts
const near = new Set();
const drawn = new WeakSet();
let isAsked = false;
let observer = null;

// Calls `draw` in its turn, in place of what still waits for this element.
export function drawInTurn(element, draw) {
  observer ??= new IntersectionObserver(look, { rootMargin: NEAR });
  observer.observe(element);
  waiting.set(element, draw);
  ask();
}

// All that waits, at once: paper shows what is far from the window too.
export function drawAll() {
  const draws = [...waiting.values()];
  waiting.clear();
  for (const draw of draws) draw();
}

function look(entries) {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) near.add(target);
    else near.delete(target);
  }
  ask();
}

function ask() {
  if (isAsked || !next()) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    const element = next();
    if (!element) return;
    const draw = waiting.get(element);
    waiting.delete(element);
    drawn.add(element);
    ask(); // before it is drawn: a chart that fails keeps no other from its turn
    draw();
  });
}

function next() {
  const elements = [...waiting.keys()];
  return elements.find((each) => near.has(each)) ?? elements.find((each) => !drawn.has(each));
}
