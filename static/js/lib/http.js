// Requests of our own pages: POST with the CSRF token, pages fetched again as documents.

export function csrfToken() {
  const field = document.querySelector("input[name=csrfmiddlewaretoken]");
  if (field) return field.value;
  const match = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
  return match ? decodeURIComponent(match[1]) : "";
}

export async function post(url, body) {
  const response = await fetch(url, {
    method: "POST",
    body,
    headers: { "X-CSRFToken": csrfToken(), "X-Requested-With": "XMLHttpRequest" },
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response.text();
}

// The current page, once more, as a document whose elements can replace ours.
export async function refetchPage(url = location.href) {
  const response = await fetch(url, { headers: { "X-Requested-With": "XMLHttpRequest" } });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

// Replaces each [data-live] of this page by the one of the same name in `fresh`.
export function replaceLive(fresh) {
  for (const old of document.querySelectorAll("[data-live]")) {
    const name = CSS.escape(old.dataset.live);
    const next = fresh.querySelector(`[data-live="${name}"]`);
    if (next && !old.isEqualNode(next)) old.replaceWith(document.adoptNode(next));
  }
}
