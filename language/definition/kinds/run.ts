import { z } from 'zod';
import { SEMVER } from '../document.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { at, own, quote } from '../problems.ts';
import { PROCESS_KINDS, type ProcessKind } from '../../../contracts/process-policy.ts';
import { anything, duration, externalResource, freeObject, name, taskBase, text } from '../common-shapes.ts';
import { checkDuration, checkEndpoint } from '../reusable.ts';
import type { Checker } from '../checker.ts';
import { exact, refuse } from '../shape.ts';
import { unsupported } from '../support.ts';
import { inTask, type Kind } from './kind.ts';

const process = {
  stdin: text.optional(),
  arguments: z.array(text).optional(),
  environment: freeObject.optional(),
};

const container = exact({
  ...process,
  image: name,
  name: text.optional(),
  command: text.optional(),
  ports: freeObject.optional(),
  volumes: freeObject.optional(),
  lifetime: exact({ cleanup: z.enum(['always', 'never', 'eventually']), after: duration.optional() })
    .refine(
      (lifetime) => (lifetime.cleanup === 'eventually') === (lifetime.after !== undefined),
      'has "after" with cleanup: eventually, and only then',
    )
    .optional(),
  pullPolicy: z.enum(['ifNotPresent', 'always', 'never']).optional(),
});

const script = exact({
  ...process,
  language: z.enum(['js', 'javascript', 'python']),
  code: text.optional(),
  source: externalResource.optional(),
}).refine(
  (value) => (value.code === undefined) !== (value.source === undefined),
  'needs exactly one of: code, source',
);

const shell = exact({ ...process, command: name });

const workflow = exact({ namespace: name, name, version: name, input: anything.optional() });

const PROCESSES = ['workflow', ...PROCESS_KINDS] as const;

const configuration = exact({
  workflow: workflow.optional(),
  container: container.optional(),
  script: script.optional(),
  shell: shell.optional(),
  await: z.boolean().optional(),
  return: z.enum(['stdout', 'stderr', 'code', 'all', 'none']).optional(),
}).check((context) => {
  const present = PROCESSES.filter((key) => context.value[key] !== undefined);
  if (present.length !== 1) refuse(context, `needs exactly one of: ${PROCESSES.join(', ')}`);
});

export const runKind: Kind = {
  schema: exact({ ...taskBase, run: configuration }),
  check(task, pointer, locals, checker) {
    const run = task['run'];
    const place = at(pointer, 'run');
    for (const kind of PROCESS_KINDS) {
      const configured = own(run, kind);
      if (isRecord(configured)) checkProcess(kind, configured, at(place, kind), locals, checker);
    }
    const child = own(run, 'workflow');
    if (!isRecord(child)) return;
    const returned = own(run, 'return');
    if (returned !== undefined && returned !== 'stdout' && returned !== 'none')
      unsupported(checker, at(place, 'return'), 'run.return');
    for (const key of ['namespace', 'name', 'version']) {
      checker.text(child[key], at(place, 'workflow', key), inTask(locals));
    }
    checker.template(child['input'], at(place, 'workflow', 'input'), inTask(locals));
    const { namespace, name: called, version } = child;
    if (
      typeof version === 'string' &&
      version !== '' &&
      version !== 'latest' &&
      !version.includes('${') &&
      !SEMVER.test(version)
    ) {
      checker.problems.error(
        at(place, 'workflow', 'version'),
        'version',
        `${quote(version)} must be a semantic version such as 1.0.0, or latest`,
      );
    }
    if (
      typeof namespace === 'string' &&
      typeof called === 'string' &&
      typeof version === 'string' &&
      !`${namespace}${called}${version}`.includes('${')
    ) {
      checker.references.workflows.push({ pointer: at(place, 'workflow'), namespace, name: called, version });
    }
  },
};

/** `code` is passed on as written: a `${` in it belongs to the script. */
const NO_TEMPLATES = new Set(['language', 'lifetime', 'source', 'code']);
/** The process may get secrets. They are redacted from what it returns. */
const MAY_READ_SECRETS = new Set(['stdin', 'arguments', 'environment']);

function checkProcess(
  kind: ProcessKind,
  configured: Record<string, unknown>,
  place: string,
  locals: readonly string[],
  checker: Checker,
): void {
  checker.references.processes.push({ pointer: place, kind, configured });
  checkDuration(
    own(configured['lifetime'], 'after'),
    at(place, 'lifetime', 'after'),
    inTask(locals),
    checker,
  );
  checkEndpoint(
    own(configured['source'], 'endpoint'),
    at(place, 'source', 'endpoint'),
    locals,
    checker,
    'allow',
  );
  for (const [key, value] of Object.entries(configured)) {
    if (NO_TEMPLATES.has(key)) continue;
    const expressions = inTask(locals, MAY_READ_SECRETS.has(key) ? 'allow' : 'refuse');
    if (key === 'command') checker.text(value, at(place, key), expressions);
    else checker.template(value, at(place, key), expressions);
  }
}
