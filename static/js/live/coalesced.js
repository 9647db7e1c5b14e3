// Calls `work` soon after each request, but never twice at once nor more often than once a second;
// what is asked for meanwhile is done once, afterwards. Pure: nothing here touches the page.

const GAP_MS = 1000;

export function coalesced(work, { gapMs = GAP_MS, later = setTimeout, now = Date.now } = {}) {
  let isBusy = false;
  let isWanted = false;
  let doneAt = -Infinity;

  async function turn() {
    isWanted = false;
    try {
      await work();
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
    later(() => turn().catch(() => {}), Math.max(0, doneAt + gapMs - now()));
  }
  return ask;
}
