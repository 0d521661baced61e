/** Validates a DSL definition: reports every mistake once, at its place. */
import { z } from 'zod';
import { asObject, checkBounds } from './bounds.ts';
import { Checker, type References } from './checker.ts';
import { input, name, output, taskList, timeout } from './common-shapes.ts';
import { checkInput, checkOutput } from './data-flow.ts';
import { completeDocument, documentShape, isSupportedDsl } from './document.ts';
import type { Definition } from './model.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { own, Problems, type Problem } from './problems.ts';
import { functionPlace, withFunctions, withValues, type Resource } from './resources.ts';
import { checkTimeout } from './reusable.ts';
import { checkSchedule, scheduleShape, warnOfMissingInput } from './schedule.ts';
import { exact, reportShape } from './shape.ts';
import { unsupported } from './support.ts';
import { warnOfUnreadDecisions } from './unread-decisions.ts';
import { taskChecks } from './tasks.ts';
import { checkUse, useNames, useShape } from './use.ts';

export type { Problem } from './problems.ts';
export type { References } from './checker.ts';

export interface Validation {
  /** The given definition with `document` completed. It has this type only if `valid`. */
  definition: Definition;
  /** Whether there is no problem of severity `error`. */
  valid: boolean;
  /** Whether it is valid and uses nothing unsupported. */
  runnable: boolean;
  problems: Problem[];
  /** JSON Schema of the workflow's input, null if it has none. */
  input_schema: Record<string, unknown> | boolean | null;
  references: References;
  /**
   * What runs, if that is not the definition as it is written: with fetched functions and schemas, and with
   * texts that are expressions in loose mode. Null otherwise.
   */
  executable: Definition | null;
}

export interface ValidationOptions {
  /** Completes a missing `document`. */
  name?: string;
  /** What has been fetched for the definition. Without it, a warning names what is not checked. */
  resources?: readonly Resource[];
}

export const definitionShape = exact({
  document: documentShape,
  input: input.optional(),
  use: useShape.optional(),
  do: taskList.min(1, 'needs at least one task'),
  timeout: timeout.optional(),
  output: output.optional(),
  schedule: scheduleShape.optional(),
  evaluate: exact({ language: name.optional(), mode: z.enum(['strict', 'loose']).optional() }).optional(),
});

/**
 * Validates a definition of the DSL 1.0.x in linear time. Never throws, for any JSON value. References to
 * agents, and to resources that are not given, are only collected; the caller checks that they exist.
 */
export function validateDefinition(definition: unknown, options: ValidationOptions = {}): Validation {
  const problems = new Problems();
  const completed = completeDocument(definition, options.name ?? 'workflow');
  const resources = options.resources ?? [];
  const full = isRecord(completed) ? withFunctions(completed, resources) : completed;
  foldFunctions(completed, full, resources, problems);
  const { checkTasks, checkTask } = taskChecks();
  const offline = options.resources === undefined;
  const checker = new Checker(problems, useNames(full), checkTasks, { definition: full, resources, offline });
  if (!isRecord(full)) problems.error('', 'wrong_type', 'a definition is an object with "do"');
  else if (checkBounds(full, problems)) {
    reportShape(definitionShape, full, '', problems, 'a definition');
    checkWorkflow(full, checker);
    checker.tasks(full['do'], '/do', []);
    checkUse(full, checker, (task, pointer) => {
      checkTask(checker, task, pointer, []);
    });
  }
  const valid = !problems.list.some(({ severity }) => severity === 'error');
  if (valid && isRecord(completed)) warnOfUnreadDecisions(completed, problems);
  const runs = isRecord(full) && valid ? withValues(full, checker.rewrites) : full;
  const schema = own(own(own(runs, 'input'), 'schema'), 'document');
  if (valid) warnOfMissingInput(runs, schema, problems);
  return {
    // Has this type if it is valid, which was checked above.
    definition: asObject(completed) as unknown as Definition,
    valid,
    runnable: valid && !problems.list.some(({ severity }) => severity === 'unsupported'),
    problems: problems.list,
    input_schema: isRecord(schema) || typeof schema === 'boolean' ? schema : null,
    references: checker.references,
    // Like the definition.
    executable: runs === completed ? null : (asObject(runs) as unknown as Definition),
  };
}

/** Problems of a fetched function are reported where it is called first. */
function foldFunctions(
  written: unknown,
  full: unknown,
  resources: readonly Resource[],
  problems: Problems,
): void {
  if (written === full) return;
  const functions = own(own(written, 'use'), 'functions');
  for (const { kind, name, url, pointer } of resources)
    if (kind === 'function' && own(functions, name) === undefined)
      problems.fold(functionPlace(name), pointer, url);
}

function checkWorkflow(definition: Record<string, unknown>, checker: Checker): void {
  const { document, schedule: scheduled, evaluate } = definition;
  const dsl = own(document, 'dsl');
  if (typeof dsl === 'string' && /^\d+\.\d+\.\d+/.test(dsl) && !isSupportedDsl(dsl))
    unsupported(checker, '/document/dsl', 'dsl');
  checkInput(
    definition['input'],
    '/input',
    { site: 'workflow.input', locals: [], secrets: 'refuse' },
    checker,
  );
  checkOutput(
    definition['output'],
    '/output',
    { site: 'workflow.output', locals: [], secrets: 'refuse' },
    checker,
  );
  checkTimeout(
    definition['timeout'],
    '/timeout',
    { site: 'definition', locals: [], secrets: 'refuse' },
    checker,
  );
  checkSchedule(scheduled, checker);
  const language = own(evaluate, 'language');
  if (typeof language === 'string' && language !== 'jq')
    unsupported(checker, '/evaluate/language', 'evaluate.language');
}
