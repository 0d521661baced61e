/** Reads jq's own test files: blocks of program, input and expected outputs, separated by blank lines. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface JqCase {
  file: string;
  line: number;
  program: string;
  /** The program must not compile. */
  fails: boolean;
  input: string;
  outputs: string[];
}

function isSkipped(line: string): boolean {
  return /^\s*(#|$)/.test(line);
}

export function readCases(dir: string): JqCase[] {
  const cases: JqCase[] = [];
  for (const file of readdirSync(dir)
    .filter((name) => name.endsWith('.test'))
    .sort()) {
    const lines = readFileSync(join(dir, file), 'utf8').split('\n');
    for (let i = 0; i < lines.length; i++) {
      if (isSkipped(lines[i] ?? '')) continue;
      const fails = (lines[i] ?? '').startsWith('%%FAIL');
      if (fails) i++;
      const line = i + 1;
      const program = lines[i++] ?? '';
      const block: string[] = [];
      for (; i < lines.length && !isSkipped(lines[i] ?? ''); i++) block.push(lines[i] ?? '');
      cases.push({
        file,
        line,
        program,
        fails,
        input: fails ? 'null' : (block[0] ?? 'null'),
        outputs: fails ? [] : block.slice(1),
      });
    }
  }
  return cases;
}
