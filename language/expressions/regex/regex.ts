/** Regular expressions for `test`, `match` and friends: Oniguruma's syntax, in bounded time. */
import { Cache } from '../cache.ts';
import { raise } from '../errors.ts';
import { exceed, runtime, SHIFT, tick, tickSize } from '../runtime.ts';
import { codePoints } from '../values/text.ts';
import type { RegexOptions } from './ast.ts';
import { RegexError } from './error.ts';
import { Matcher } from './match.ts';
import { parseRegex } from './parse.ts';
import { compileRegex, type RegexProgram } from './program.ts';

const { rt } = runtime;

export interface Group {
  /** In code points; -1 when the group took no part. */
  start: number;
  end: number;
  name: string | null;
}

export interface Match {
  start: number;
  end: number;
  groups: Group[];
}

/** 200 programs, of a quarter of a million instructions together. */
const programs = new Cache<RegexProgram>(200, 1_000_000);

/** The options of jq's flags (manual: Regular expressions). */
export function readFlags(flags: string): { options: RegexOptions; global: boolean } {
  const options: RegexOptions = {
    ignoreCase: false,
    extended: false,
    dotAll: false,
    singleLine: true,
    longest: false,
    notEmpty: false,
  };
  let global = false;
  for (const flag of flags) {
    switch (flag) {
      case 'g':
        global = true;
        break;
      case 'i':
        options.ignoreCase = true;
        break;
      case 'x':
        options.extended = true;
        break;
      case 's':
        options.singleLine = true;
        break;
      case 'm':
      case 'p':
        options.dotAll = true;
        break;
      case 'l':
        options.longest = true;
        break;
      case 'n':
        options.notEmpty = true;
        break;
      default:
        raise(`${flags} is not a valid modifier string`);
    }
  }
  return { options, global };
}

function programOf(pattern: string, options: RegexOptions): RegexProgram {
  const { ignoreCase, extended, dotAll } = options;
  tickSize(pattern.length, SHIFT.build);
  const key = `${ignoreCase ? 'i' : ''}${extended ? 'x' : ''}${dotAll ? 'p' : ''}/${pattern}`;
  const known = programs.get(key);
  if (known) {
    // As if it were compiled: what is remembered must not matter in workflow code.
    tickSize(known.code.length, 4);
    return known;
  }
  try {
    const program = compileRegex(parseRegex(pattern, options));
    tick(program.code.length >> 4);
    programs.set(key, program, program.code.length);
    return program;
  } catch (error) {
    if (error instanceof RegexError) raise(`Regex failure: ${error.message}`);
    throw error;
  }
}

/** The subject as code points, with a way back to text. */
export class Subject {
  readonly points: number[];
  private readonly text: string;

  constructor(text: string) {
    if (text.length > rt.limits.regexSubject) exceed('regexSubject');
    tick(text.length >> 3);
    this.text = text;
    this.points = codePoints(text);
  }

  slice(start: number, end: number): string {
    if (this.points.length === this.text.length) return this.text.slice(start, end);
    tickSize(end - start, SHIFT.write);
    let out = '';
    for (let i = start; i < end; i++) out += String.fromCodePoint(this.points[i] ?? 0);
    return out;
  }
}

/** The matches of a pattern, the first one only unless `global`. `visit` may answer false to stop. */
export function findMatches(
  subject: Subject,
  pattern: string,
  options: RegexOptions,
  global: boolean,
  visit: (match: Match) => boolean,
): void {
  const program = programOf(pattern, options);
  const matcher = new Matcher(program, subject.points, options.longest, options.notEmpty);
  let from = 0;
  do {
    const slots = matcher.search(from);
    if (slots === null) return;
    tick(1);
    const [start = 0, end = 0] = slots;
    tickSize(program.groupCount, SHIFT.copy);
    const groups: Group[] = [];
    for (let i = 1; i <= program.groupCount; i++) {
      const [groupStart, groupEnd] = [slots[i * 2] ?? -1, slots[i * 2 + 1] ?? -1];
      groups.push({
        start: groupEnd < 0 ? -1 : groupStart,
        end: groupStart < 0 ? -1 : groupEnd,
        name: program.names.get(i) ?? null,
      });
    }
    if (!visit({ start, end, groups })) return;
    // Behind an empty match the search goes on one character later.
    from = end === start ? end + 1 : end;
  } while (global && from <= subject.points.length);
}
