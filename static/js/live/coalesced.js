// Calls `work` soon after each request, but never twice at once nor more often than once a second;
// what is asked for meanwhile is done once, afterwards. Pure: nothing here touches the page.
// work() answers false where it has to be tried again: after 1 s, then 2, 4 … up to 30 s.
// spreadMs(): those who are asked in the same moment begin within this time, each at its own.

const GAP_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

export function coalesced(work, parts = {}) {
  const { gapMs = GAP_MS, later = setTimeout, now = Date.now, random = Math.random } = parts;
  const { spreadMs = () => 0 } = parts;
  let isBusy = false;
  let isWanted = false;
  let doneAt = -Infinity;
  let failures = 0;

  function pauseMs() {
    if (!failures) return Math.max(0, doneAt + gapMs - now()) + random() * spreadMs();
    const longest = Math.min(LONGEST_PAUSE_MS, GAP_MS * 2 ** (failures - 1));
    return longest * (0.5 + random() / 2) + random() * spreadMs();
  }

  async function turn() {
    isWanted = false;
    try {
      const isDone = (await work()) !== false;
      failures = isDone ? 0 : failures + 1;
      isWanted ||= !isDone;
    } finally {
      doneAt = now();
      isBusy = false;
      if (isWanted) ask();
    }
  }

  function ask() {
    isWanted = true;
    if (isBusy) return;
    isBusy = true;
    later(() => turn().catch(() => {}), pauseMs());
  }
  return ask;
}
