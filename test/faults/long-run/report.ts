/** The table of what was found. */
import { FLAWS, type Checked } from './checks.ts';

const SHOWN = 10;

/** As Markdown. */
export function tableOf(checked: readonly Checked[]): string {
  const rows = checked.map(({ name, count, findings, note = '' }) => [
    name,
    String(count),
    ...FLAWS.map((flaw) => String(findings.filter((each) => each.flaw === flaw).length)),
    note,
  ]);
  const all = [['what', 'count', ...FLAWS, ''], ...rows];
  const widths = all[0]!.map((_cell, n) => Math.max(...all.map((row) => row[n]!.length)));
  const isText = (n: number): boolean => n === 0 || n === widths.length - 1;
  const line = (row: string[]): string => {
    const cells = row.map((cell, n) => (isText(n) ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!)));
    return `| ${cells.join(' | ')} |`;
  };
  const rule = `| ${widths.map((width) => '-'.repeat(Math.max(width, 3))).join(' | ')} |`;
  return [line(all[0]!), rule, ...all.slice(1).map(line)].join('\n');
}

/** The first findings of each check. */
export function listOf(checked: readonly Checked[]): string {
  return checked
    .filter(({ findings }) => findings.length > 0)
    .map(({ name, findings }) => {
      const shown = findings.slice(0, SHOWN).map(({ flaw, text }) => `  ${flaw}: ${text}`);
      const rest = findings.length > SHOWN ? [`  … and ${findings.length - SHOWN} more`] : [];
      return [`${name}:`, ...shown, ...rest].join('\n');
    })
    .join('\n');
}
