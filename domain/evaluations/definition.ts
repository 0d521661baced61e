/** The definition of an evaluation's run: each version gets all cases, beside the other versions. */
import type { Judge } from './given.ts';

/** The names of the tasks that call a version and its judge, by the version's index. */
export const CALL = 'call-';
export const JUDGE = 'judge-';

/**
 * Its input is `{cases: [{input, expected?}]}`, its output for each version a list with `{ok, output}` or
 * `{ok, error}` of each case; of a single version, this list. The `output` is `{output, verdict?}`, and the
 * verdict `{value}` or `{error}`.
 */
export function evaluationDefinition(
  agentId: string,
  versions: readonly string[],
  judge: Judge | null,
  concurrency: number,
): object {
  const branches = versions.map((version, index) => ({
    [`version-${index}`]: {
      call: 'map',
      with: {
        in: '.cases',
        concurrency,
        on_error: 'collect',
        do: [
          {
            [`${CALL}${index}`]: {
              call: 'agent',
              with: { agent: agentId, version, input: '${ $item.input }' },
              output: { as: '${ {output: .} }' },
            },
          },
          ...(judge === null ? [] : [{ [`${JUDGE}${index}`]: judgement(judge) }]),
        ],
      },
    },
  }));
  return {
    document: { dsl: '1.0.3', namespace: 'cadenza', name: 'evaluate-agent', version: '1.0.0' },
    do: branches.length === 1 ? branches : [{ evaluate: { fork: { branches } } }],
  };
}

/** A judge that fails does not make the call fail. */
function judgement({ agent_id: agent, version, criteria }: Judge): object {
  const input = {
    // As a text of jq, because it may look like an expression.
    ...(criteria === null ? {} : { criteria: `\${ ${JSON.stringify(criteria)} }` }),
    input: '${ $item.input }',
    output: '${ .output }',
    expected: '${ $item.expected }',
  };
  return {
    try: [{ ask: { call: 'agent', with: { agent, version, input }, output: { as: '${ {value: .} }' } } }],
    catch: { as: 'error', do: [{ missed: { set: { error: '${ $error.detail // $error.title }' } } }] },
    output: { as: '${ $input + {verdict: .} }' },
  };
}
