// One EventSource a page: tells seconds, changes of state, the end, and when nothing comes any more.

const STALE_MS = 5000;

// The address of a stream with the place from which it should carry on.
export function streamAddress(url, cursor, state) {
  const query = new URLSearchParams({ after: cursor, state });
  return `${url}?${query}`;
}

// handlers: second({run, points}), state(), end(), reopened(), stale(isStale, lastAtMs).
export function follow(address, handlers, parts = {}) {
  const Source = parts.EventSource || window.EventSource;
  const now = parts.now || Date.now;
  const every = parts.setInterval || setInterval;
  const stopEvery = parts.clearInterval || clearInterval;
  let source = null;
  let heardAt = now();
  let isStale = false;
  let hasOpened = false;

  function heard() {
    heardAt = now();
    tellStale(false);
  }

  function tellStale(value) {
    if (value === isStale) return;
    isStale = value;
    handlers.stale?.(isStale, heardAt);
  }

  function open() {
    source = new Source(address);
    source.addEventListener("open", () => {
      if (hasOpened) handlers.reopened?.();
      hasOpened = true;
      heard();
    });
    source.addEventListener("second", (event) => {
      heard();
      handlers.second?.(JSON.parse(event.data));
    });
    source.addEventListener("state", () => {
      heard();
      handlers.state?.();
    });
    source.addEventListener("beat", heard);
    source.addEventListener("end", () => {
      heard();
      close();
      handlers.end?.();
    });
    // A refused stream (signed out, link revoked) is closed for good; the page then says why.
    source.addEventListener("error", () => {
      if (source && source.readyState === 2) {
        close();
        handlers.reopened?.();
      }
    });
  }

  const watch = every(() => source && tellStale(now() - heardAt > STALE_MS), 1000);

  function close() {
    source?.close();
    source = null;
  }

  open();
  return {
    close() {
      close();
      stopEvery(watch);
    },
    reopen() {
      if (!source) open();
    },
  };
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
