/** Tables in CSV (RFC 4180). */

export const CSV = 'text/csv';

type Cell = string | number | null;

/** One line. A text that a spreadsheet would compute is quoted with an apostrophe. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(value: Cell): string {
  const text = value === null ? '' : String(value);
  const plain = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
