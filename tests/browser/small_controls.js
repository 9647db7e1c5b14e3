// Controls in sight that are lower or narrower than `least` px, each in a few words.
// A link in a sentence is exempt, as in WCAG 2.5.8; a box with a label is hit through its label.
(least) => {
  const CONTROLS = "a[href], button, select, textarea, summary, label:has(input), input:not([type=hidden])";
  const isSmall = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 0 && (width < least - 0.5 || height < least - 0.5);
  };

  function isInSentence(element) {
    if (!element.matches("a") || getComputedStyle(element).display !== "inline") return false;
    let block = element.parentElement;
    while (getComputedStyle(block).display === "inline") block = block.parentElement;
    return [...block.childNodes].some((node) => !node.contains(element) && node.textContent.trim());
  }

  function isHitElsewhere(element) {
    if (element.matches(".skip, [inert] *")) return true;
    if (element.matches("label")) return !element.querySelector("[type=checkbox], [type=radio]");
    return element.matches("[type=checkbox], [type=radio]") && [...element.labels].some((label) => !isSmall(label));
  }

  const words = (element) => {
    const { width, height } = element.getBoundingClientRect();
    const name = (element.innerText || element.ariaLabel || element.name || "").trim().slice(0, 30);
    return `${element.localName}.${element.className} "${name}": ${Math.round(width)} x ${Math.round(height)} px`;
  };

  return [...document.querySelectorAll(CONTROLS)]
    .filter((element) => element.checkVisibility({ visibilityProperty: true }))
    .filter((element) => isSmall(element) && !isHitElsewhere(element) && !isInSentence(element))
    .map(words);
}
