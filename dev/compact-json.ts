/**
 * Formats JSON for people and diffs: a value that fits within 110 columns stays on one line, others are
 * broken up.
 */

const WIDTH = 110;

/** @param before columns that are already taken on the first line, including the comma after the value */
export function compactJson(value: unknown, indent = '', before = indent.length): string {
  const oneLine = inOneLine(value);
  if (before + oneLine.length < WIDTH || typeof value !== 'object' || value === null) return oneLine;
  const deeper = `${indent}  `;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const lines = Array.isArray(value)
    ? value.map((entry) => compactJson(entry, deeper))
    : members(value).map(([key, entry]) => {
        const name = `${JSON.stringify(key)}: `;
        return name + compactJson(entry, deeper, deeper.length + name.length);
      });
  return `${open}\n${lines.map((line) => deeper + line).join(',\n')}\n${indent}${close}`;
}

function inOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const parts = members(value).map(([key, entry]) => `${JSON.stringify(key)}: ${inOneLine(entry)}`);
  return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`;
}

function members(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, entry]) => entry !== undefined);
}
