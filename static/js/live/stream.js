// One EventSource a page: tells seconds, changes of state, the end, and when nothing comes any more.

const STALE_MS = 5000;
const RETRY_MS = 3000;

// The address of a stream with the place from which it should carry on.
export function streamAddress(url, cursor, state) {
  const query = new URLSearchParams({ after: cursor, state });
  return `${url}?${query}`;
}

// handlers: second({run, points}), state(), end(), reopened(), beat({spread_ms, refresh_s}), stale(isStale,
// lastAtMs), and expectsSeconds(): whether a run is sending now, so that a silence of seconds is
// worth telling. `reopened` means that something may have been missed.
export function follow(address, handlers, parts = {}) {
  const Source = parts.EventSource || window.EventSource;
  const now = parts.now || Date.now;
  const every = parts.setInterval || setInterval;
  const stopEvery = parts.clearInterval || clearInterval;
  const later = parts.setTimeout || setTimeout;
  const random = parts.random || Math.random;
  let source = null;
  let heardAt = now();
  let newsAt = now();
  let isStale = false;
  let hasOpened = false;
  let isOver = false;

  function listen(name, react) {
    source.addEventListener(name, (event) => {
      heardAt = now();
      if (name === "second" || name === "state") newsAt = heardAt;
      look();
      react?.(event);
    });
  }

  function look() {
    const lastAt = handlers.expectsSeconds?.() ? Math.min(heardAt, newsAt) : heardAt;
    const value = !isOver && now() - lastAt > STALE_MS;
    if (value === isStale) return;
    isStale = value;
    handlers.stale?.(isStale, lastAt);
  }

  function open() {
    if (isOver) return;
    source = new Source(address);
    listen("open", () => {
      if (hasOpened) handlers.reopened?.();
      hasOpened = true;
    });
    listen("second", (event) => handlers.second?.(JSON.parse(event.data)));
    listen("state", () => handlers.state?.());
    listen("beat", (event) => handlers.beat?.(JSON.parse(event.data)));
    listen("again", (event) => carryOn(JSON.parse(event.data)));
    listen("end", () => {
      close();
      handlers.end?.();
    });
    source.addEventListener("error", retryRefused);
  }

  // The server ends each stream after a while, and says where the next one begins.
  function carryOn({ after, state }) {
    source.close();
    hasOpened = false;
    address = streamAddress(address.split("?")[0], after, state);
    open();
  }

  // A browser reconnects by itself, except where it was answered with an error: then we try.
  function retryRefused() {
    if (isOver || !source || source.readyState !== 2) return;
    source = null;
    handlers.reopened?.();
    later(open, RETRY_MS * (0.5 + random()));
  }

  function close() {
    isOver = true;
    source?.close();
    stopEvery(watch);
  }

  const watch = every(look, 1000);
  open();
  return { close };
}

// Follows the stream that the page names in data-stream, as long as the page is shown.
export function followPage(element, handlers) {
  const { stream, cursor, state } = element.dataset;
  if (!stream) return null;
  const line = follow(streamAddress(stream, cursor, state), handlers);
  window.addEventListener("pagehide", () => line.close());
  window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
  return line;
}
