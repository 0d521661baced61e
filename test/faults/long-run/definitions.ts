/** The workflows of the load. Every effect names its operation and step, so that its calls can be counted. */
import { agentTask, humanTask } from '../../support/definitions.ts';

export const KINDS = [
  'short',
  'long',
  'agent',
  'approval',
  'expiring',
  'listening',
  'parent',
  'map',
  'large',
  'flaky',
  'cancelled',
] as const;
/** What clients start. */
export type Kind = (typeof KINDS)[number];

export const EVENTS_PER_LISTENER = 3;
const MAP_ITEMS = 8;
export const DECIDER = 'decider';

/** Titles of human tasks end in the operation; only these are decided. */
export const TITLES = { approval: 'Approve', expiring: 'Perhaps', cancelled: 'Leave alone' };

/** The steps whose effects a completed run has had, each once. */
export const EFFECTS: Readonly<Record<Kind, readonly string[]>> = {
  short: ['s0', 's1', 's2', 's3', 's4'],
  long: ['call'],
  agent: ['a0', 'a1', 'a2'],
  approval: ['before', 'after'],
  expiring: [],
  listening: Array.from({ length: EVENTS_PER_LISTENER }, (_unused, n) => `event-${n}`),
  parent: ['a/work', 'b/work', 'detached/work'],
  map: Array.from({ length: MAP_ITEMS }, (_unused, n) => `item-${n}`),
  large: ['fetch', 'after'],
  flaky: ['call'],
  cancelled: [],
};

interface Counterparts {
  url: string;
  agentId: string;
}

/** By name; `child` and `waiter` are started by others, `spark`, `clock` and `turns` by themselves. */
export function definitions({ url, agentId }: Counterparts, turnsSeconds: number): Record<string, unknown> {
  const body = (step: string, more: object = {}) => ({
    effect: `\${ "\\($workflow.input.op)/${step}" }`,
    ...more,
  });
  const effect = (step: string, more: object = {}) => ({
    call: 'http',
    with: { method: 'post', endpoint: `${url}/call`, body: body(step, more) },
    export: { as: '$context + {nonces: (($context.nonces // []) + [.nonce])}' },
  });
  const short = (step: string, more: object = {}) => ({
    ...effect(step, more),
    timeout: { after: { seconds: 5 } },
  });
  const nonces = { set: { nonces: '${ $context.nonces }' } };
  const child = (step: string) => ({
    run: { workflow: { ...named('child'), input: { op: `\${ "\\($workflow.input.op)/${step}" }` } } },
  });
  const definition = (name: string, tasks: object[], more: object = {}) => ({
    document: { dsl: '1.0.3', version: '1.0.0', ...identity(name) },
    ...more,
    do: tasks,
  });
  const steps = (kind: Kind, make: (step: string) => object): object[] =>
    EFFECTS[kind].map((step) => ({ [step]: make(step) }));
  const only = (more: object) => ({ candidates: { users: [DECIDER] }, ...more });
  const title = (kind: keyof typeof TITLES): string => `\${ "${TITLES[kind]} \\($workflow.input.op)" }`;
  return {
    child: definition('child', [{ work: effect('work') }, { rest: { wait: { seconds: 1 } } }, { nonces }]),
    waiter: definition('waiter', [{ rest: { wait: { minutes: 10 } } }]),
    short: definition('short', [...steps('short', (step) => short(step)), { nonces }]),
    long: definition('long', [{ call: effect('call', { ms: '${ $workflow.input.ms }' }) }, { nonces }]),
    agent: definition('agent', [
      ...steps('agent', (step) => ({
        ...agentTask(agentId, { input: body(step, { ms: 200 }) }),
        export: effect(step).export,
      })),
      { nonces },
    ]),
    approval: definition('approval', [
      { before: short('before') },
      {
        ask: {
          ...humanTask(title('approval'), only({})),
          export: { as: '$context + {decision: .decision, comment: .comment}' },
        },
      },
      { after: short('after', { decision: '${ .decision }' }) },
      { all: { set: '${ $context }' } },
    ]),
    expiring: definition('expiring', [
      {
        ask: humanTask(title('expiring'), only({ expires: 'PT8S', on_expiry: { decision: 'reject' } })),
      },
      { all: { set: { decision: '${ .decision }', comment: '${ .comment }' } } },
    ]),
    listening: definition('listening', [
      {
        take: {
          listen: {
            to: {
              any: [
                {
                  with: { type: 'faults.step' },
                  correlate: { op: { from: '.data.op', expect: '${ $workflow.input.op }' } },
                },
              ],
              until: `length == ${EVENTS_PER_LISTENER}`,
            },
          },
          foreach: {
            item: 'event',
            do: [{ note: effect('event-\\($event.n)') }, { keep: { set: { n: '${ $event.n }' } } }],
            output: { as: '.n' },
          },
        },
      },
      { all: { set: { order: '${ . }' } } },
    ]),
    parent: definition('parent', [
      { detached: { run: { await: false, ...child('detached').run } } },
      { both: { fork: { branches: [{ a: child('a') }, { b: child('b') }] } } },
      { all: { set: { nonces: '${ [.[].nonces[]] }' } } },
    ]),
    map: definition('map', [
      {
        each: {
          call: 'map',
          with: {
            in: `[range(${MAP_ITEMS})]`,
            concurrency: 4,
            do: [
              { call: effect('item-\\($item)', { ms: 100 }) },
              { keep: { set: { nonce: '${ .nonce }' } } },
            ],
          },
        },
      },
      { all: { set: { nonces: '${ [.[].nonce] }' } } },
    ]),
    large: definition('large', [
      { fetch: effect('fetch', { bytes: 150_000 }) },
      { after: { ...effect('after'), input: { from: '{length: (.text | length)}' } } },
      { nonces },
    ]),
    flaky: definition('flaky', [
      {
        attempt: {
          try: [{ call: effect('call', { flaky: true }) }],
          catch: {
            errors: { with: { status: 503 } },
            retry: { delay: { seconds: 1 }, limit: { attempt: { count: 5 } } },
          },
        },
      },
    ]),
    cancelled: definition('cancelled', [
      {
        all: {
          fork: {
            branches: [
              { ask: humanTask(title('cancelled'), only({})) },
              { hold: effect('hold', { ms: 120_000 }) },
              { child: { run: { workflow: { ...named('waiter'), input: {} } } } },
            ],
          },
        },
      },
    ]),
    spark: definition(
      'spark',
      [
        {
          call: {
            call: 'http',
            with: {
              method: 'post',
              endpoint: `${url}/call`,
              body: { effect: '${ "\\($workflow.input[0].op)/spark" }' },
            },
          },
        },
      ],
      { schedule: { on: { one: { with: { type: 'faults.spark' } } }, read: 'data' } },
    ),
    clock: definition('clock', [{ done: { set: { done: true } } }], {
      schedule: { every: { seconds: CLOCK_SECONDS } },
    }),
    turns: definition('turns', [{ rest: { wait: { seconds: Math.ceil(turnsSeconds * 1.2) } } }], {
      schedule: { every: { seconds: turnsSeconds } },
    }),
  };
}

/** How often `clock` starts a run, whatever its other runs do. */
export const CLOCK_SECONDS = 3;

function identity(name: string): { namespace: string; name: string } {
  return { namespace: 'faults', name };
}

function named(name: string): { namespace: string; name: string; version: string } {
  return { ...identity(name), version: '1.0.0' };
}
