/**
 * Which types of events are wanted: a name stands for itself and all that continue it after a dot (`io.cadenza.hitl`), a `*`
 * for any characters. No pattern at all wants everything.
 */
export const typePattern = /^[A-Za-z0-9*][A-Za-z0-9.*_-]{0,254}$/;

export function matchesType(patterns: readonly string[], type: string): boolean {
  return patterns.length === 0 || patterns.some((pattern) => expressionOf(pattern).test(type));
}

const compiled = new Map<string, RegExp>();

function expressionOf(pattern: string): RegExp {
  let expression = compiled.get(pattern);
  if (expression === undefined) {
    if (compiled.size > 1_000) compiled.clear();
    // Several stars in a row are one: they would only make matching slow.
    const source = pattern.replaceAll(/\*+/g, '*').replaceAll('.', String.raw`\.`).replaceAll('*', '.*');
    expression = new RegExp(`^${source}${pattern.includes('*') ? '' : String.raw`(\..*)?`}$`);
    compiled.set(pattern, expression);
  }
  return expression;
}
