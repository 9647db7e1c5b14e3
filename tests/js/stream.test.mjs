import assert from "node:assert/strict";
import test from "node:test";

import { coalesced } from "../../static/js/live/coalesced.js";
import { follow, streamAddress } from "../../static/js/live/stream.js";

class Source {
  constructor(address) {
    this.address = address;
    this.readyState = 0;
    this.listeners = {};
    Source.last = this;
  }

  addEventListener(name, listener) {
    this.listeners[name] = listener;
  }

  say(name, data = {}) {
    this.listeners[name]({ data: JSON.stringify(data) });
  }

  close() {
    this.readyState = 2;
  }
}

function start(handlers) {
  const clock = { ms: 0, tick: null };
  const parts = {
    EventSource: Source,
    now: () => clock.ms,
    setInterval: (tick) => { clock.tick = tick; return 1; },
    clearInterval: () => {},
    setTimeout: (run) => { clock.later = run; },
  };
  follow("/stream/", handlers, parts);
  return clock;
}

test("the address carries the place from which to go on", () => {
  assert.equal(streamAddress("/s/", "e1.r2.s3", "running"), "/s/?after=e1.r2.s3&state=running");
});

test("seconds reach their handler", () => {
  const seen = [];
  start({ second: (data) => seen.push(data) });
  Source.last.say("second", { run: 5, points: [{ second: 1 }] });
  assert.deepEqual(seen, [{ run: 5, points: [{ second: 1 }] }]);
});

test("five silent seconds are told once, and so is the next word", () => {
  const told = [];
  const clock = start({ stale: (isStale, at) => told.push([isStale, at]) });
  clock.ms = 5001;
  clock.tick();
  clock.tick();
  Source.last.say("beat");
  assert.deepEqual(told, [[true, 0], [false, 5001]]);
});

test("a second opening means that something may have been missed", () => {
  let reopened = 0;
  start({ reopened: () => { reopened += 1; } });
  Source.last.say("open");
  assert.equal(reopened, 0);
  Source.last.say("open");
  assert.equal(reopened, 1);
});

test("the end closes the stream", () => {
  let ended = 0;
  start({ end: () => { ended += 1; } });
  const source = Source.last;
  source.say("end");
  assert.deepEqual([ended, source.readyState], [1, 2]);
});

test("many requests at once become one refresh, and one more afterwards", async () => {
  const waiting = [];
  let n = 0;
  const ask = coalesced(async () => { n += 1; ask(); }, { later: (run) => waiting.push(run), now: () => 0 });
  ask();
  ask();
  assert.equal(waiting.length, 1);
  waiting.shift()();
  await new Promise(setImmediate);
  assert.deepEqual([n, waiting.length], [1, 1]);
});

test("what failed is tried again, each time after twice the pause, and then no more", async () => {
  const pauses = [];
  let [n, turn] = [0, null];
  const ask = coalesced(async () => { n += 1; return n > 3; }, {
    later: (run, ms) => { pauses.push(ms); turn = run; }, now: () => 0, random: () => 1,
  });
  ask();
  for (let i = 0; i < 4; i += 1) {
    turn();
    await new Promise(setImmediate);
  }
  assert.deepEqual([n, pauses], [4, [0, 1000, 2000, 4000]]);
});

test("what fails for long is tried every half a minute", async () => {
  const pauses = [];
  let turn = null;
  coalesced(async () => false, {
    later: (run, ms) => { pauses.push(ms); turn = run; }, now: () => 0, random: () => 1,
  })();
  for (let i = 0; i < 9; i += 1) {
    turn();
    await new Promise(setImmediate);
  }
  assert.equal(pauses.at(-1), 30_000);
});

test("many viewers fetch what all were told at once over the time that the server gives", () => {
  const pauses = [];
  coalesced(async () => {}, {
    later: (_, ms) => pauses.push(ms), now: () => 0, random: () => 0.5, spreadMs: () => 5000,
  })();
  assert.deepEqual(pauses, [2500]);
});

test("each beat tells the time over which to spread", () => {
  const told = [];
  start({ beat: (data) => told.push(data.spread_ms) });
  Source.last.say("beat", { spread_ms: 1990, refresh_s: 20 });
  assert.deepEqual(told, [1990]);
});

test("a stream that ends as planned goes on from there, and nothing is fetched", () => {
  let reopened = 0;
  start({ reopened: () => { reopened += 1; } });
  const first = Source.last;
  first.say("open");
  first.say("again", { after: "e1.r2.s3", state: "running" });
  assert.equal(Source.last.address, "/stream/?after=e1.r2.s3&state=running");
  assert.equal(first.readyState, 2);
  Source.last.say("open");
  assert.equal(reopened, 0);
});

test("a sending run without seconds is stale although the stream lives", () => {
  const told = [];
  const clock = start({ stale: (isStale) => told.push(isStale), expectsSeconds: () => true });
  clock.ms = 5001;
  Source.last.say("beat");
  assert.deepEqual(told, [true]);
  Source.last.say("second", { run: 1, points: [] });
  assert.deepEqual(told, [true, false]);
});

test("an answer that is an error closes a stream for good, so it is opened anew", () => {
  const clock = start({});
  const refused = Source.last;
  refused.readyState = 2;
  refused.listeners.error();
  clock.later();
  assert.notEqual(Source.last, refused);
});

test("after the end nothing is stale and nothing is opened", () => {
  const told = [];
  const clock = start({ stale: (isStale) => told.push(isStale) });
  const source = Source.last;
  source.say("end");
  clock.ms = 60_000;
  clock.tick();
  source.listeners.error();
  assert.deepEqual([told, clock.later], [[], undefined]);
});
