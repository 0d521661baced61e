import { z } from 'zod';
import { SEMVER } from '../document.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { at, own, quote } from '../problems.ts';
import { anything, duration, externalResource, freeObject, name, taskBase, text } from '../common-shapes.ts';
import { checkDuration, checkEndpoint } from '../reusable.ts';
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
  language: name,
  code: text.optional(),
  source: externalResource.optional(),
}).refine(
  (value) => (value.code === undefined) !== (value.source === undefined),
  'needs exactly one of: code, source',
);

const shell = exact({ ...process, command: name });

const workflow = exact({ namespace: name, name, version: name, input: anything.optional() });

const PROCESSES = ['workflow', 'container', 'script', 'shell'] as const;

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
    for (const kind of ['container', 'script', 'shell'] as const) {
      const configured = own(run, kind);
      if (!isRecord(configured)) continue;
      unsupported(checker, at(place, kind), `run.${kind}`);
      checkDuration(
        own(configured['lifetime'], 'after'),
        at(place, kind, 'lifetime', 'after'),
        inTask(locals),
        checker,
      );
      checkEndpoint(
        own(configured['source'], 'endpoint'),
        at(place, kind, 'source', 'endpoint'),
        locals,
        checker,
      );
      for (const [key, value] of Object.entries(configured)) {
        if (!['lifetime', 'source', 'code'].includes(key))
          checker.template(value, at(place, kind, key), inTask(locals));
      }
    }
    const child = own(run, 'workflow');
    if (!isRecord(child)) return;
    const returned = own(run, 'return');
    if (returned !== undefined && returned !== 'stdout')
      unsupported(checker, at(place, 'return'), 'run.return');
    for (const key of ['namespace', 'name', 'version']) {
      const value = child[key];
      if (typeof value === 'string' && value.includes('${'))
        unsupported(checker, at(place, 'workflow', key), 'run.reference');
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
        `${quote(version)} has to be a semantic version such as 1.0.0, or latest`,
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
