/**
 * Which variables an expression may use at which place: the table in dsl.md, "Runtime expression arguments".
 */

/** The place of an expression. */
export type Site =
  'schedule' | 'workflow.input' | 'if' | 'input' | 'definition' | 'output' | 'export' | 'workflow.output';

/**
 * How a place treats `$secrets` and `$authorization`. `allow`: evaluated only inside the activity. `refuse`:
 * the value, or what it decides, would end up in stored data.
 */
export type SecretPolicy = 'allow' | 'refuse';

export interface Place {
  site: Site;
  /** Variables of the enclosing loops and catches, without `$`. */
  locals: readonly string[];
  secrets: SecretPolicy;
  /** Variables that hold a secret here. */
  hidden?: readonly string[];
}

const IN_DEFINITION = ['context', 'input', 'task', 'workflow', 'runtime', 'secrets', 'authorization'];

const AVAILABLE: Record<Site, readonly string[]> = {
  schedule: [],
  'workflow.input': ['workflow', 'runtime', 'secrets'],
  if: ['context', 'task', 'workflow', 'runtime', 'secrets'],
  input: ['context', 'task', 'workflow', 'runtime', 'secrets'],
  definition: IN_DEFINITION,
  output: IN_DEFINITION,
  export: [...IN_DEFINITION, 'output'],
  'workflow.output': ['context', 'workflow', 'runtime', 'secrets'],
};

export const SITE_NAMES: Record<Site, string> = {
  schedule: 'schedule.on',
  'workflow.input': "the workflow's input.from",
  if: 'if',
  input: 'input.from',
  definition: 'a task',
  output: 'output.as',
  export: 'export.as',
  'workflow.output': "the workflow's output.as",
};

export const DSL_VARIABLES = [
  'context',
  'input',
  'output',
  'secrets',
  'authorization',
  'task',
  'workflow',
  'runtime',
] as const;

export function isAvailable(variable: string, place: Place): boolean {
  return place.locals.includes(variable) || AVAILABLE[place.site].includes(variable);
}
