const PART = String.raw`(?:0|[1-9]\d{0,9}|[xX*])`;
const SUFFIX = String.raw`(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?`;
const VERSION = String.raw`v?${PART}(?:\.${PART}(?:\.${PART}${SUFFIX})?)?`;
const COMPARATOR = new RegExp(String.raw`^(?:[~^]|[<>]=?|=)?${VERSION}$`);
const HYPHEN = new RegExp(String.raw`^${VERSION} - ${VERSION}$`);

/**
 * Whether a text is a semantic version or an npm-style range (`1.2.3`, `^1.2`, `1.x`, `>=1 <2`, `1.0.0 -
 * 2.0.0`, `a || b`).
 */
export function isVersionRange(text: string): boolean {
  if (text.length > 200) return false;
  return text.split('||').every((alternative) => {
    const trimmed = alternative.trim();
    if (HYPHEN.test(trimmed)) return true;
    const comparators = trimmed.replaceAll(/([<>]=?|[~^=])\s+/g, '$1').split(/\s+/);
    return comparators.every((comparator) => COMPARATOR.test(comparator));
  });
}
