/** What a call of an agent is answered, and what it books, without its database (docs/budgets.md). */
import { expect, test } from '@jest/globals';
import { AgentGate, type GatedCall } from '../../../activities/agent-gate.ts';
import { fault } from '../../../contracts/fault.ts';

const remote = (id: string) => ({ task_id: id, context_id: '', answer: { as: 'data' }, mark: id });

function gateOf(reply?: unknown): AgentGate {
  const input = { name: 'ask', input: {}, timeout_ms: 1_000, reply } as unknown as GatedCall;
  const prices = { book: async () => ({ find: () => null }) };
  // The budget has no open question.
  const orm = { em: { fork: () => ({ transactional: async () => [] }) } };
  return new AgentGate({ orm, logger: null, prices } as never, input);
}

test("a question about a budget that nobody answers ends the agent's question behind it", async () => {
  const then = { remote: remote('own'), decision: { decision: 'approve', payload: null, comment: null } };
  const about = { ...remote('budget:1'), budget: { subject_id: '1', exceeded: 'tokens', then } };
  const decided = { decision: 'raise', payload: { amount: 1 }, comment: null };
  expect(gateOf({ remote: about, decision: decided }).reply).toEqual(then);
  const ended = gateOf({ remote: about, decision: null });
  expect(ended.reply).toEqual({ ...then, decision: null });
  // The agent is told without a turn and without its budget.
  const rules = { budgeted: true, limits: { concurrency: 1 }, pricesVersion: 0 };
  const row = { runId: 'r', key: 'k', claim: 1 };
  const earlier = { isRepeat: false, isMadeAgain: false };
  expect(await ended.enter(row, { name: 'a' } as never, rules, earlier)).toBeNull();
});

test('a failed call books nothing, unless its end is unknown: then what it has reserved', async () => {
  const failed = fault('communication', 'The agent is away');
  const gate = gateOf();
  gate.holds = true;
  expect(await gate.spent(failed)).toEqual({ costUsd: 0, tokens: 0 });
  expect(await gate.spent(fault('timeout', 'Too late'))).toEqual({ costUsd: null, tokens: null });
  gate.markOutcomeUnknown();
  expect(await gate.spent(failed)).toEqual({ costUsd: null, tokens: null });
});
