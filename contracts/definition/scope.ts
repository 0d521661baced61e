/** Which variables an expression may use where: the table of dsl.md, "Runtime expression arguments". */

/** Where an expression stands. */
export type Site = 'workflow.input' | 'if' | 'input' | 'definition' | 'output' | 'export' | 'workflow.output';

/**
 * What happens to `$secrets` and `$authorization` at a place. `allow`: evaluated inside the activity only.
 * `refuse`: the value would land in data that is kept. `unsupported`: the DSL allows it, this platform does not.
 */
export type SecretPolicy = 'allow' | 'refuse' | 'unsupported';

export interface Place {
  site: Site;
  /** Variables of loops and catches around it, without `$`. */
  locals: readonly string[];
  secrets: SecretPolicy;
}

const IN_DEFINITION = ['context', 'input', 'task', 'workflow', 'runtime', 'secrets', 'authorization'];

const AVAILABLE: Record<Site, readonly string[]> = {
  'workflow.input': ['workflow', 'runtime', 'secrets'],
  if: ['context', 'task', 'workflow', 'runtime', 'secrets'],
  input: ['context', 'task', 'workflow', 'runtime', 'secrets'],
  definition: IN_DEFINITION,
  output: IN_DEFINITION,
  export: [...IN_DEFINITION, 'output'],
  'workflow.output': ['context', 'workflow', 'runtime', 'secrets'],
};

export const SITE_NAMES: Record<Site, string> = {
  'workflow.input': "the workflow's input.from",
  if: 'if',
  input: 'input.from',
  definition: 'a task',
  output: 'output.as',
  export: 'export.as',
  'workflow.output': "the workflow's output.as",
};

export const DSL_VARIABLES = ['context', 'input', 'output', 'secrets', 'authorization', 'task', 'workflow', 'runtime'] as const;

export function isAvailable(variable: string, place: Place): boolean {
  return place.locals.includes(variable) || AVAILABLE[place.site].includes(variable);
}
