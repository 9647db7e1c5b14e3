// Tells the server the zone of this browser, in which it then writes times. One that the reader chose
// stays (core/context.py).

const AUTO = "auto:";
const YEAR_S = 365 * 24 * 3600;
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const stored = () => document.cookie.match(/(?:^|; )zone=([^;]*)/)?.[1];
const known = stored();

if (zone && (known === undefined || (known.startsWith(AUTO) && known !== AUTO + zone))) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `zone=${AUTO}${zone}; path=/; max-age=${YEAR_S}; samesite=lax${secure}`;
  // Once: a browser without cookies would never end.
  if (stored() === AUTO + zone && document.documentElement.dataset.zone !== zone) location.reload();
}
