/** Tables in CSV (RFC 4180). */

export const CSV = 'text/csv';

type Cell = string | number | null;

/**
 * What a spreadsheet computes, at the begin of a cell. Some split lines at semicolons (Excel in German) or
 * tabs, and take a quote in the middle of a line for a character, so a cell may begin within a text, too.
 */
const FORMULA = /^[=+\-@\t\r]|(?<=[;\t\r\n]"*)[=+\-@]/g;

/** One line. A text that a spreadsheet would compute gets an apostrophe. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(value: Cell): string {
  const text = typeof value === 'string' ? value.replaceAll(FORMULA, "'$&") : String(value ?? '');
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
