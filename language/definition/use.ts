/** Checks `use`, the reusable parts of a definition. */
import { z } from 'zod';
import type { Checker, UseNames } from './checker.ts';
import { asObject } from './bounds.ts';
import {
  authentication,
  endpoint,
  errorDefinition,
  freeObject,
  name,
  retryPolicy,
  duration,
  taskList,
} from './common-shapes.ts';
import { checkFlow } from './flow.ts';
import { RESERVED_FUNCTIONS } from './call-function.ts';
import { calledFunctions } from './kinds/call.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { at, own, quote } from './problems.ts';
import { checkAuthentication, checkDuration, checkError, checkRetry } from './reusable.ts';
import { exact } from './shape.ts';
import { EXTENSION_TARGETS } from './task-kind.ts';

/** Every task asks each extension whether it applies. */
const MAX_EXTENSIONS = 20;

const extension = exact({
  extend: z.enum(EXTENSION_TARGETS),
  when: name.optional(),
  before: taskList.optional(),
  after: taskList.optional(),
});

export const useShape = exact({
  authentications: z.record(z.string(), authentication).optional(),
  catalogs: z.record(z.string(), exact({ endpoint })).optional(),
  errors: z.record(z.string(), errorDefinition).optional(),
  extensions: z
    .array(
      z
        .record(z.string(), extension)
        .refine(
          (item) => Object.keys(item).length === 1,
          'must be an object with exactly one property: the name',
        ),
    )
    .max(MAX_EXTENSIONS, `may have at most ${MAX_EXTENSIONS} extensions`)
    .optional(),
  functions: freeObject.optional(),
  retries: z.record(z.string(), retryPolicy).optional(),
  secrets: z.array(name).optional(),
  timeouts: z.record(z.string(), exact({ after: duration })).optional(),
});

/** Names that the rest of the definition may refer to, even if what they name is invalid. */
export function useNames(definition: unknown): UseNames {
  const use = own(definition, 'use');
  const keys = (section: string): string[] => Object.keys(asObject(own(use, section)));
  const secrets = own(use, 'secrets');
  return {
    authentications: keys('authentications'),
    catalogs: keys('catalogs'),
    errors: keys('errors'),
    functions: keys('functions'),
    retries: keys('retries'),
    secrets: Array.isArray(secrets) ? secrets.filter((secret) => typeof secret === 'string') : [],
    timeouts: keys('timeouts'),
  };
}

export function checkUse(
  definition: unknown,
  checker: Checker,
  checkTask: (task: unknown, pointer: string) => void,
): void {
  const use = own(definition, 'use');
  const place = '/use';
  for (const [key, policy] of entries(use, 'authentications'))
    checkAuthentication(policy, at(place, 'authentications', key), [], checker);
  for (const [key, error] of entries(use, 'errors'))
    if (isRecord(error)) checkError(error, at(place, 'errors', key), [], checker);
  for (const [key, retry] of entries(use, 'retries')) {
    if (isRecord(retry)) checkRetry(retry, at(place, 'retries', key), [...checker.catchNames], checker);
  }
  for (const [key, timeout] of entries(use, 'timeouts')) {
    checkDuration(
      own(timeout, 'after'),
      at(place, 'timeouts', key, 'after'),
      { site: 'definition', locals: [], secrets: 'refuse' },
      checker,
    );
  }
  for (const [key, catalog] of entries(use, 'catalogs')) {
    checkCatalog(own(catalog, 'endpoint'), at(place, 'catalogs', key, 'endpoint'), checker);
  }
  checkExtensions(own(use, 'extensions'), at(place, 'extensions'), checker);
  checkFunctions(asObject(own(use, 'functions')), at(place, 'functions'), checker, checkTask);
  const given = own(use, 'secrets');
  const secrets: unknown[] = Array.isArray(given) ? given : [];
  for (const [index, secret] of secrets.entries()) {
    if (typeof secret === 'string' && secrets.indexOf(secret) !== index)
      checker.problems.error(
        at(place, 'secrets', index),
        'duplicate_name',
        `${quote(secret)} is listed twice`,
      );
  }
}

/** It is read when the definition is saved, so there is no data for expressions in its address. */
function checkCatalog(endpoint: unknown, pointer: string, checker: Checker): void {
  const uri = isRecord(endpoint) ? endpoint['uri'] : endpoint;
  if (typeof uri === 'string' && uri !== '' && !(/^https?:\/\//i.test(uri) && URL.canParse(uri)))
    checker.problems.error(
      isRecord(endpoint) ? at(pointer, 'uri') : pointer,
      'resource_address',
      'the address of a catalog is literal, and begins with http:// or https://',
    );
  checkAuthentication(own(endpoint, 'authentication'), at(pointer, 'authentication'), [], checker);
}

function entries(use: unknown, section: string): [string, unknown][] {
  return Object.entries(asObject(own(use, section)));
}

function checkExtensions(extensions: unknown, pointer: string, checker: Checker): void {
  if (!Array.isArray(extensions)) return;
  for (const [index, item] of extensions.entries()) {
    for (const [key, definition] of Object.entries(asObject(item))) {
      const place = at(pointer, index, key);
      checker.expression(own(definition, 'when'), at(place, 'when'), {
        site: 'definition',
        locals: [],
        secrets: 'refuse',
      });
      for (const list of ['before', 'after']) checker.tasks(own(definition, list), at(place, list), []);
    }
  }
}

function checkFunctions(
  functions: Record<string, unknown>,
  pointer: string,
  checker: Checker,
  checkTask: (task: unknown, pointer: string) => void,
): void {
  for (const [key, task] of Object.entries(functions)) {
    if (RESERVED_FUNCTIONS.includes(key))
      checker.problems.error(
        at(pointer, key),
        'reserved_name',
        `${quote(key)} is a function of the DSL: choose another name`,
      );
    checkTask(task, at(pointer, key));
    if (isRecord(task)) checkFlow([{ name: '', task, pointer: at(pointer, key) }], checker, 'function');
  }
  const calls = new Map(
    Object.entries(functions).map(([key, task]) => [key, calledFunctions(task, checker.use.functions)]),
  );
  const finished = new Set<string>();
  for (const key of calls.keys()) {
    const cycle = findCycle(key, calls, finished);
    if (cycle !== undefined)
      checker.problems.error(
        at(pointer, key),
        'function_cycle',
        `the function calls itself endlessly: ${cycle.join(' → ')}`,
      );
  }
}

/** A call cycle from `start` back to itself, or undefined. Visits each function once. */
function findCycle(
  start: string,
  calls: ReadonlyMap<string, string[]>,
  finished: Set<string>,
): string[] | undefined {
  const path: { name: string; next: number }[] = [{ name: start, next: 0 }];
  for (let step = path.at(-1); step !== undefined; step = path.at(-1)) {
    const target = finished.has(step.name) ? undefined : calls.get(step.name)?.[step.next++];
    if (target === undefined) {
      finished.add(step.name);
      path.pop();
      continue;
    }
    const names = path.map(({ name: visited }) => visited);
    if (names.includes(target)) {
      for (const visited of names) finished.add(visited);
      return [...names.slice(names.indexOf(target)), target];
    }
    path.push({ name: target, next: 0 });
  }
  return undefined;
}
