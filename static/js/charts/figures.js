// What charts say: the places of the crosshair, its words, and all figures as a table. Pure: nothing here
// touches the page.

const MOST_COLUMNS = 8;
const MOST_TEXTS = 12; // that are read at one place

// A place for each value that has a point, in order.
export function placesOf({ panels }) {
  const texts = new Map((panels[0].x?.ticks ?? []));
  const all = panels.flatMap(({ series }) => series.filter(({ grey }) => !grey).flatMap(({ x }) => x));
  const x = [...new Set(all)].sort((a, b) => a - b);
  return { x, at: x.map((each) => texts.get(each) ?? `${each}`) };
}

// The place one step further among the sorted `places`; from none, the first or the last.
export function nextPlace(places, at, step) {
  const beyond = places.filter((each) => at === null || (each - at) * step > 0);
  return (step > 0 ? beyond[0] : beyond.at(-1)) ?? at;
}

// What the crosshair reads at `x`, in a panel's title line.
export function wordsAt({ places }, panel, x) {
  const index = places.x.indexOf(x);
  if (index < 0) return "";
  const texts = panel.reads ? [panel.reads[index]] : textsAt(panel, x);
  return texts.length ? [places.at[index], ...texts.slice(0, MOST_TEXTS)].filter(Boolean).join("  ") : "";
}

function textsAt({ series }, x) {
  return series.filter(({ texts }) => texts).flatMap((each) =>
    each.x.flatMap((value, i) => (value === x ? [[each.name, each.texts[i]].filter(Boolean).join(" ")] : [])));
}

// The first and the last value that a range asks the address for, from those of the places within it;
// null without any.
export function placesWithin({ x, asks: [first, last], ranges }, from, until) {
  const inside = ranges.filter((_, i) => x[i] >= from && x[i] <= until);
  return inside.length ? { [first]: inside[0][0], [last]: inside.at(-1)[1] } : null;
}

// A column for each panel that says one text, else for each of its series.
export function tableOf({ spec, drawn }) {
  if (spec.table) return spec.table;
  const { places } = spec;
  const named = (panel, name) => [panel.title, name].filter(Boolean).join(" ") + (panel.unit ? `, ${panel.unit.split(",")[0]}` : "") + (panel.more ?? "");
  const columns = drawn.flatMap((panel) => (panel.reads
    ? [{ name: named(panel), at: (i) => panel.reads[i] }]
    : panel.series.filter(({ texts, grey }) => texts && !grey).map((series) => ({
      name: named(panel, series.name),
      at: (i) => series.x.flatMap((x, n) => (x === places.x[i] ? [series.texts[n]] : [])).join(", "),
    }))));
  return upright({
    head: [drawn[0].x?.title ?? "", ...columns.map(({ name }) => name)],
    rows: places.at.map((at, i) => [at, ...columns.map((column) => column.at(i) || "\u2013")]),
  });
}

// With a row for each series where more of them than `most` would have to fit beside one another.
export function upright({ head, rows }, most = MOST_COLUMNS) {
  const [corner, ...names] = head;
  if (names.length <= most || rows.length >= names.length) return { head, rows };
  return {
    head: [corner, ...rows.map(([name]) => name)],
    rows: names.map((name, i) => [name, ...rows.map((row) => row[i + 1])]),
  };
}

export function csvOf({ head, rows }) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [head, ...rows].map((row) => row.map((text) => quoted(`${text}`)).join(",")).join("\r\n");
}
