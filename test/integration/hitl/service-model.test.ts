/**
 * The service on PostgreSQL, with decisions in one statement and in steps, against the pure state machine,
 * which has its own model: after random commands of several people, the row, the decision, the votes, the log
 * and the audit agree with the machine.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Actor } from '../../../domain/auth/actor.ts';
import { auditEntry, SYSTEM_ORIGIN } from '../../../domain/audit/write.ts';
import { AppError } from '../../../domain/errors.ts';
import { decideAtOnce } from '../../../domain/hitl/decide-at-once.ts';
import { claim, decide, delegate, loadForChange, release } from '../../../domain/hitl/service.ts';
import { cancelHumanTasks, expireHumanTask } from '../../../domain/hitl/lifecycle.ts';
import { lockRun } from '../../../domain/runs/events.ts';
import { step, type Command, type TaskState } from '../../../domain/hitl/state-machine.ts';
import type { Quorum } from '../../../contracts/hitl.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';

let app: TestApp;
const people: Actor[] = [];
/** Decisions in one statement. */
let written = 0;

beforeAll(async () => {
  app = await startTestApp();
  for (const username of ['ann', 'bob', 'cid'])
    people.push(await app.createUser({ username, roles: ['approver'] }));
});
afterAll(() => app.close());

type Move =
  | {
      who: number;
      kind: 'decide' | 'claim' | 'release' | 'delegate';
      decision: string;
      to: number;
      /** Whether a decision is tried in one statement first, as requests do. */
      atOnce: boolean;
    }
  | { kind: 'expire' | 'cancel' };
const who = fc.nat({ max: 2 });
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 14,
    arbitrary: fc.record({
      who,
      kind: fc.constantFrom('decide' as const, 'claim' as const, 'release' as const, 'delegate' as const),
      decision: fc.constantFrom('approve', 'reject'),
      to: who,
      atOnce: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('expire' as const, 'cancel' as const) }) },
);
const quorum: fc.Arbitrary<Quorum | null> = fc.option(
  fc.record({
    approvals: fc.integer({ min: 1, max: 3 }),
    rejections: fc.integer({ min: 1, max: 2 }),
    exclude_initiator: fc.constant(false),
  }),
);

async function decidedAtOnce(given: Move, taskId: string): Promise<boolean> {
  if (!('who' in given) || given.kind !== 'decide' || !given.atOnce) return false;
  const actor = people[given.who] as Actor;
  const note = { action: 'decideHumanTask', objectType: 'human_task', objectId: taskId };
  const decided = await decideAtOnce(
    app.orm.em.fork(),
    { actor, via: 'api' },
    {
      taskId,
      submission: () => ({ value: { decision: given.decision } }),
      entry: () => JSON.stringify(auditEntry(SYSTEM_ORIGIN, note)),
    },
  );
  if (decided !== null) written += 1;
  return decided !== null;
}

async function carryOut(given: Move, taskId: string, runId: string): Promise<string | null> {
  const run = async (em: EntityManager): Promise<unknown> => {
    if (!('who' in given))
      return given.kind === 'expire' ? expireHumanTask(em, { task_id: taskId }) : cancelHumanTasks(em, runId);
    const actor = people[given.who] as Actor;
    const caller = { actor, via: 'api' } as const;
    const seen = await loadForChange(em, actor, taskId);
    switch (given.kind) {
      case 'decide':
        return decide(em, caller, seen, { value: { decision: given.decision } });
      case 'claim':
        return claim(em, caller, seen);
      case 'release':
        return release(em, caller, seen);
      case 'delegate':
        return delegate(em, caller, seen, { value: { to: people[given.to]?.username ?? '' } });
    }
  };
  try {
    if (await decidedAtOnce(given, taskId)) return null;
    await app.orm.em.fork().transactional(async (em) => {
      await lockRun(em, runId);
      await run(em);
    });
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.errors?.[0]?.code ?? error.code;
    throw error;
  }
}

const command = (given: Move): Command => {
  if (!('who' in given)) return given;
  const by = people[given.who]?.id ?? '';
  const to = people[given.to]?.id ?? '';
  return { kind: given.kind, by, giver: by, to, decision: given.decision, any: false, late: false };
};

test('the service agrees with the state machine', async () => {
  await fc.assert(
    fc.asyncProperty(quorum, fc.array(move, { minLength: 1, maxLength: 12 }), async (rules, moves) => {
      const runId = await insertRun(app.orm, { owner: people[0]?.id ?? '' });
      const id = await insertTask(app.orm, runId, {
        candidates: { users: ['ann', 'bob', 'cid'], roles: [], groups: [] },
        quorum: rules,
      });
      let state: TaskState = { status: 'open', claimed_by: null, quorum: rules, votes: [] };
      const changes: string[] = [];
      let assignee: string | null = null;
      /** People who delegated their vote. */
      const without = new Set<string>();
      for (const move of moves) {
        const answer = await carryOut(move, id, runId);
        const sent = command(move);
        if ('by' in sent && without.has(sent.by)) {
          expect(answer).toBe('delegated');
          continue;
        }
        const expected = step(state, sent);
        if (sent.kind === 'delegate' && !('refused' in expected)) {
          // The policy, not the machine, decides who may delegate and to whom.
          const holder: string | null = rules === null ? (state.claimed_by ?? assignee) : sent.by;
          if (holder !== null && holder !== sent.by) {
            expect(answer).toBe('not_the_assignee');
            continue;
          }
          const voted = state.votes.some((vote) => vote.by === sent.to);
          if (voted || sent.to === sent.by) {
            expect(answer).toBe(voted ? 'already_voted' : 'same_person');
            continue;
          }
          const before = people.length - without.size;
          const after = people.length - new Set([...without, sent.by].filter((one) => one !== sent.to)).size;
          if (rules !== null && before >= rules.approvals && after < rules.approvals) {
            expect(answer).toBe('quorum_unreachable');
            continue;
          }
          without.add(sent.by);
          without.delete(sent.to);
          assignee = sent.to;
        }
        if ('refused' in expected) {
          const stranger =
            rules === null &&
            sent.kind === 'delegate' &&
            state.claimed_by === null &&
            assignee !== null &&
            assignee !== sent.by;
          expect(answer).toBe(stranger ? 'not_the_assignee' : expected.refused);
        } else {
          expect(answer).toBeNull();
          if (expected.change !== 'unchanged') changes.push(expected.change);
        }
        state = expected.state;
      }
      const em = app.orm.em.fork();
      const read = <T>(sql: string): Promise<T[]> => em.execute<T[]>(sql, [id]);
      expect(await read(`select status, claimed_by from hitl_task where id = ?`)).toEqual([
        { status: state.status, claimed_by: state.claimed_by },
      ]);
      expect(
        await read(`select voted_by as by, decision from hitl_vote where task_id = ? order by id`),
      ).toEqual(state.votes);
      expect(await read(`select 1 from hitl_decision where task_id = ?`)).toHaveLength(
        state.status === 'decided' ? 1 : 0,
      );
      expect(await read(`select 1 from run_signal where payload->>'task_id' = ?`)).toHaveLength(
        state.status === 'decided' ? 1 : 0,
      );
      const audit = await read<{ action: string }>(
        `select action from hitl_audit where task_id = ? order by id`,
      );
      expect(audit.map((row) => row.action)).toEqual(['created', ...changes]);
      const log = await em.execute<{ seq: number; action: string }[]>(
        `select seq, split_part(key, ':', 3) as action from run_event where run_id = ? order by seq`,
        [runId],
      );
      // Expiry and cancellation by the run are logged by the activity that requests them.
      expect(log.map((row) => row.action)).toEqual(
        changes.filter((change) => change !== 'expired' && change !== 'cancelled'),
      );
      expect(log.map((row) => row.seq)).toEqual(log.map((_, index) => index + 1));
    }),
    { numRuns: 60, seed: 20260801 },
  );
  expect(written).toBeGreaterThan(20);
});
