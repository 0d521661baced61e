/** Regular expressions (manual: `test`, `match`, `capture`, `scan`, `split/2`, `splits`, `sub`, `gsub`). */
import { raise } from '../errors.ts';
import { checkArray, runtime, SHIFT, tickSize } from '../runtime.ts';
import { add } from '../values/arith.ts';
import { typeError } from '../values/json.ts';
import { kindOf, type Json, type JsonObject } from '../values/json-types.ts';
import { putKey } from '../values/objects.ts';
import { multi, product, single, type Code, type Env, type One } from '../compiler/code.ts';
import { findMatches, readFlags, Subject, type Group, type Match } from '../regex/regex.ts';
import { need } from './paths.ts';
import { macro, type Builtin, type Family } from './types.ts';

const { rt } = runtime;

/** Runs a pattern over the input, with jq's checks of its operands in jq's order. */
function run(
  input: Json,
  pattern: Json,
  flags: Json,
  visit: (match: Match, subject: Subject) => boolean,
): void {
  if (typeof input !== 'string') typeError(input, 'cannot be matched, as it is not a string');
  if (typeof pattern !== 'string') typeError(pattern, 'is not a string');
  if (typeof flags !== 'string' && flags !== null) typeError(flags, 'is not a string');
  tickSize(flags?.length ?? 0, SHIFT.build);
  const { options, global } = readFlags(flags ?? '');
  const subject = new Subject(input);
  findMatches(subject, pattern, options, global, (match) => visit(match, subject));
}

function textOf(subject: Subject, match: Match, group: Group): Json {
  if (group.start < 0) return null;
  // Of an empty match jq reports every group as empty, even one in a lookahead.
  return match.start === match.end ? '' : subject.slice(group.start, group.end);
}

function captureObject(subject: Subject, match: Match): JsonObject {
  const out: JsonObject = {};
  for (const group of match.groups)
    if (group.name !== null) putKey(out, group.name, textOf(subject, match, group));
  return out;
}

function matchObject(subject: Subject, match: Match): JsonObject {
  const isEmpty = match.start === match.end;
  const captures = match.groups.map((group): JsonObject => {
    const took = group.start >= 0;
    return {
      offset: took ? (isEmpty ? match.start : group.start) : -1,
      length: took && !isEmpty ? group.end - group.start : 0,
      string: textOf(subject, match, group),
      name: group.name,
    };
  });
  return {
    offset: match.start,
    length: match.end - match.start,
    string: subject.slice(match.start, match.end),
    captures,
  };
}

function matches(input: Json, pattern: Json, flags: Json): JsonObject[] {
  const out: JsonObject[] = [];
  run(input, pattern, flags, (match, subject) => {
    checkArray(out.length + 1);
    out.push(matchObject(subject, match));
    return true;
  });
  return out;
}

function test(input: Json, pattern: Json, flags: Json): boolean {
  let found = false;
  run(input, pattern, flags, () => {
    found = true;
    return false;
  });
  return found;
}

function withG(flags: Json, before: boolean): Json {
  return before ? add('g', flags) : add(flags, 'g');
}

/** The parts between the matches. */
function pieces(input: Json, pattern: Json, flags: Json): Json[] {
  const out: Json[] = [];
  let from = 0;
  const seen: Subject[] = [];
  run(input, pattern, withG(flags, false), (match, subject) => {
    checkArray(out.length + 2);
    out.push(subject.slice(from, match.start));
    from = match.end;
    seen[0] = subject;
    return true;
  });
  out.push(seen[0] ? tail(seen[0], from) : input);
  return out;
}

function tail(subject: Subject, from: number): string {
  return subject.slice(from, subject.points.length);
}

/** `test(val)`: a pattern, or an array of a pattern and flags. */
function operands(value: Json): [Json, Json] {
  if (typeof value === 'string') return [value, null];
  if (Array.isArray(value) && value.length > 0) return [value[0] ?? null, value[1] ?? null];
  return raise(`${kindOf(value)} not a string or array`);
}

type Run = (input: Json, pattern: Json, flags: Json) => Json[];

/** A function of pattern and flags with several outputs; `flagsOuter` as in jq's definitions. */
function outputs(fn: Run, arity: 1 | 2, isArrayForm: boolean, flagsOuter: boolean): Builtin {
  return macro((args, at) => {
    const codes = arity === 1 ? [need(args[0])] : [need(args[0]), need(args[1])];
    const order = flagsOuter ? codes : codes.toReversed();
    return multi(
      (env, input, out) => {
        const values: Json[] = [];
        return product(order, env, input, values, () => {
          rt.at = at;
          const [pattern = null, flags = null] = flagsOuter ? values : values.toReversed();
          const [p, f] =
            arity === 1 && isArrayForm ? operands(pattern) : [pattern, arity === 1 ? null : flags];
          for (const value of fn(input, p, f)) if (!out(value)) return false;
          return true;
        });
      },
      codes.reduce((sum, code) => sum + code.weight + 2, 6),
    );
  });
}

/** Like `outputs`, for functions with a single output, which are common and should be fast. */
function one(
  fn: (input: Json, pattern: Json, flags: Json) => Json,
  arity: 1 | 2,
  isArrayForm: boolean,
  flagsOuter: boolean,
): Builtin {
  return macro((args, at) => {
    const ones = args.map((arg) => arg.one).filter((code): code is One => code !== null);
    const [first, second] = ones;
    if (ones.length < args.length || !first) {
      const general = outputs(
        (input, pattern, flags) => [fn(input, pattern, flags)],
        arity,
        isArrayForm,
        flagsOuter,
      );
      return general.kind === 'macro' ? general.build(args, at) : single(() => null, 1);
    }
    return single(
      (env, input) => {
        const pattern = first(env, input);
        const flags = second ? second(env, input) : null;
        rt.at = at;
        const [p, f] = arity === 1 && isArrayForm ? operands(pattern) : [pattern, flags];
        return fn(input, p, f);
      },
      args.reduce((max, arg) => Math.max(max, arg.weight), 0) + 6,
    );
  });
}

interface Edit {
  gap: string;
  captures: JsonObject;
}

/** The parts of `sub`: texts before each match with its captures, and the rest. */
function edits(input: Json, pattern: Json, flags: Json): { found: Edit[]; rest: string } {
  const found: Edit[] = [];
  let from = 0;
  const seen: Subject[] = [];
  run(input, pattern, flags, (match, subject) => {
    checkArray(found.length + 1);
    found.push({ gap: subject.slice(from, match.start), captures: captureObject(subject, match) });
    from = match.end;
    seen[0] = subject;
    return true;
  });
  return { found, rest: seen[0] ? tail(seen[0], from) : '' };
}

function substitute(
  replacement: Code,
  env: Env | null,
  input: Json,
  pattern: Json,
  flags: Json,
  at: number,
): Json[] {
  rt.at = at;
  const { found, rest } = edits(input, pattern, flags);
  if (found.length === 0) return [input];
  const results: Json[] = [];
  for (const { gap, captures } of found) {
    let i = 0;
    replacement.each(env, captures, (insert) => {
      rt.at = at;
      results[i] = add(results[i] ?? null, add(gap, insert));
      i++;
      return true;
    });
  }
  rt.at = at;
  return results.length === 0 ? [input] : results.map((result) => add(result ?? null, rest));
}

function sub(isGlobal: boolean, hasFlags: boolean): Builtin {
  return macro((args, at) => {
    const pattern = need(args[0]);
    const replacement = need(args[1]);
    const flags = hasFlags ? need(args[2]) : single(() => '', 1);
    const [p, s, f] = [pattern.one, replacement.one, flags.one];
    const final = (value: Json): Json => (isGlobal ? withG(value, false) : value);
    const weight = pattern.weight + replacement.weight + flags.weight + 8;
    if (p && s && f)
      return single(
        (env, input) =>
          substitute(replacement, env, input, p(env, input), final(f(env, input)), at)[0] ?? null,
        weight,
      );
    return multi(
      (env, input, out) =>
        pattern.each(env, input, (re) =>
          flags.each(env, input, (fl) => {
            for (const value of substitute(replacement, env, input, re, final(fl), at))
              if (!out(value)) return false;
            return true;
          }),
        ),
      weight,
    );
  });
}

const scan: Run = (input, pattern, flags) => {
  const out: Json[] = [];
  run(input, pattern, withG(flags, true), (match, subject) => {
    checkArray(out.length + 1);
    out.push(
      match.groups.length > 0
        ? match.groups.map((group) => textOf(subject, match, group))
        : subject.slice(match.start, match.end),
    );
    return true;
  });
  return out;
};

const capture: Run = (input, pattern, flags) => {
  const out: Json[] = [];
  run(input, pattern, flags, (match, subject) => {
    checkArray(out.length + 1);
    out.push(captureObject(subject, match));
    return true;
  });
  return out;
};

export const regex: Family = {
  'test/1': one(test, 1, true, false),
  'test/2': one(test, 2, false, true),
  'match/1': outputs(matches, 1, true, false),
  'match/2': outputs(matches, 2, false, true),
  'capture/1': outputs(capture, 1, true, false),
  'capture/2': outputs(capture, 2, false, true),
  'scan/1': outputs(scan, 1, false, false),
  'scan/2': outputs(scan, 2, false, false),
  'split/2': one((input, pattern, flags) => pieces(input, pattern, flags), 2, false, false),
  'splits/1': outputs(pieces, 1, false, false),
  'splits/2': outputs(pieces, 2, false, false),
  'sub/2': sub(false, false),
  'sub/3': sub(false, true),
  'gsub/2': sub(true, false),
  'gsub/3': sub(true, true),
};
