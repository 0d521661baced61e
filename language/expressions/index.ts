/**
 * jq for deterministic code: a pure, synchronous implementation of jq 1.8 without dependencies.
 * See README.md of this folder.
 */
import type { Node } from './ast.ts';
import { Cache } from './cache.ts';
import { compileProgram } from './compiler/compile.ts';
import { ExpressionError } from './errors.ts';
import { parse } from './parser.ts';
import { makeProgram, type Program } from './program.ts';
import { parseTemplate, type TemplateMode } from './template.ts';

export { analyze } from './analyze.ts';
export { ExpressionError } from './errors.ts';
export { defaultLimits, type Limits } from './runtime.ts';
export type { Environment, Program } from './program.ts';
export type { TemplateMode } from './template.ts';
export type { Json } from './values/json-types.ts';

export interface CompileOptions {
  /** Names, without `$`, of the variables that `env.variables` will give. */
  variables?: readonly string[];
}

export interface TemplateOptions extends CompileOptions {
  mode: TemplateMode;
}

const MAX_CACHED = 1_000;
/** Characters of their sources; a compiled one takes up to 300 bytes for each. */
const MAX_CACHED_LENGTH = 200_000;
const MAX_SOURCE_LENGTH = 200_000;
const programs = new Cache<Program>(MAX_CACHED, MAX_CACHED_LENGTH);

function build(kind: string, source: string, variables: readonly string[] | null, read: () => Node): Program {
  const key = `${kind}\n${variables === null ? '*' : variables.toSorted().join(' ')}\n${source}`;
  const known = programs.get(key);
  if (known) return known;
  if (source.length > MAX_SOURCE_LENGTH) {
    throw new ExpressionError({
      kind: 'compile',
      message: 'Expression is too long',
      line: 1,
      column: 1,
      code: 'limit',
    });
  }
  const node = read();
  const code = compileProgram(node, source, variables === null ? null : new Set(variables));
  const program = makeProgram(source, code);
  // A very long one would take the place of all others.
  if (source.length <= MAX_CACHED_LENGTH / 10) programs.set(key, program, source.length);
  return program;
}

/**
 * Compiles a jq program. Variables that are not declared are errors, as in jq.
 * Throws `ExpressionError` of kind `compile`, with line and column.
 */
export function compile(source: string, options: CompileOptions = {}): Program {
  return build('jq', source, options.variables ?? [], () => parse(source));
}

/**
 * Compiles a text with `${ … }`. A text that is entirely `${ … }` evaluates to the value itself, embedded
 * ones to a string. Results are never evaluated again. Without `variables` any variable may be used, and
 * reading one that the environment lacks is an error.
 */
export function template(text: string, options: TemplateOptions): Program {
  return build(options.mode, text, options.variables ?? null, () => parseTemplate(text, options.mode));
}
