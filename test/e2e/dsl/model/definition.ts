import type { Step, Test } from './plan.ts';

const PASSED = '.path + [$task.name]';
const condition = ({ by, rest }: Test): string => `.n % ${by} == ${rest}`;
const ERROR = 'https://example.com/errors/planned';

/** The plan as a definition of the DSL. */
export function definitionOf(plan: Step[]): Record<string, unknown> {
  return { do: listOf(plan), output: { as: '{data: ., context: $context}' } };
}

function listOf(steps: Step[]): Record<string, unknown>[] {
  return steps.map((step) => ({ [step.name]: taskOf(step) }));
}

function taskOf({ name, kind, then, exports, ...step }: Step): Record<string, unknown> {
  return {
    ...(step.if ? { if: condition(step.if) } : {}),
    ...bodyOf(kind),
    ...(exports ? { export: { as: `$context + {${name}: .n}` } } : {}),
    ...(then === undefined ? {} : { then }),
  };
}

function bodyOf(kind: Step['kind']): Record<string, unknown> {
  switch (kind.is) {
    case 'set':
      return { set: { n: `\${ (.n + ${kind.add}) % 97 }`, path: `\${ ${PASSED} }` } };
    case 'wait':
      return { wait: { milliseconds: kind.milliseconds } };
    case 'do':
      return { do: listOf(kind.list) };
    case 'for':
      return {
        for: { each: 'x', in: `[range(${kind.times})]` },
        ...(kind.while ? { while: condition(kind.while) } : {}),
        do: listOf(kind.list),
      };
    case 'fork':
      return {
        fork: { branches: listOf(kind.branches) },
        output: { as: '{n: (map(.n) | add % 97), path: (map(.path) | add)}' },
      };
    case 'raise':
      return { raise: { error: { type: ERROR, status: kind.status } } };
    case 'switch':
      return {
        switch: [
          ...(kind.otherwise === undefined ? [] : [{ otherwise: { then: kind.otherwise } }]),
          ...kind.cases.map(({ when, then }, i) => ({ [`case${i}`]: { when: condition(when), then } })),
        ],
      };
    case 'try': {
      const { status, retries, handler, catchThen } = kind;
      return {
        try: listOf(kind.list),
        catch: {
          ...(status === undefined ? {} : { errors: { with: { status } } }),
          ...(retries === undefined ? {} : { retry: { limit: { attempt: { count: retries } } } }),
          ...(handler ? { do: listOf(handler) } : {}),
          ...(catchThen === undefined ? {} : { then: catchThen }),
        },
      };
    }
  }
}
