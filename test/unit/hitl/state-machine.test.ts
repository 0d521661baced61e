import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  isUndecided,
  step,
  type Command,
  type Refusal,
  type TaskState,
} from '../../../domain/hitl/state-machine.ts';
import type { Quorum } from '../../../contracts/hitl.ts';

const people = ['ann', 'bob', 'cid', 'dee'];
const words = ['approve', 'reject', 'hold'];
const person = fc.constantFrom(...people);
const late = fc.integer({ min: 0, max: 19 }).map((n) => n === 0);
const any = fc.boolean();
const rarely = (kind: 'expire' | 'cancel') => ({ weight: 1, arbitrary: fc.constant<Command>({ kind }) });

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('decide' as const),
      by: person,
      decision: fc.constantFrom(...words),
      late,
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('claim' as const), by: person, late }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('release' as const), by: person, any, late }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('delegate' as const),
      by: person,
      giver: person,
      to: person,
      any,
      late,
    }),
  },
  rarely('expire'),
  rarely('cancel'),
);
const quorum: fc.Arbitrary<Quorum | null> = fc.option(
  fc.record({
    approvals: fc.integer({ min: 1, max: 3 }),
    rejections: fc.integer({ min: 1, max: 3 }),
    exclude_initiator: fc.constant(false),
  }),
  { freq: 2 },
);

/** A second implementation of the rules, based on the accepted commands instead of on a state. */
class Model {
  readonly #quorum: Quorum | null;
  end: 'decided' | 'expired' | 'cancelled' | null = null;
  winner: { by: string; decision: string } | null = null;
  holder: string | undefined;
  readonly ballots = new Map<string, string>();

  constructor(rules: Quorum | null) {
    this.#quorum = rules;
  }

  /** The refusal expected of a command, or null, after taking the command in. */
  take(given: Command): Refusal | null {
    if (given.kind === 'expire' || given.kind === 'cancel') {
      this.end ??= given.kind === 'expire' ? 'expired' : 'cancelled';
      return null;
    }
    if (this.end === null && given.late) this.end = 'expired';
    if (this.end !== null)
      return ({ decided: 'already_decided', expired: 'task_expired', cancelled: 'task_cancelled' } as const)[
        this.end
      ];
    const others = this.holder !== undefined && this.holder !== given.by;
    switch (given.kind) {
      case 'claim':
        if (this.#quorum) return 'quorum_not_claimable';
        if (others) return 'claimed_by_another';
        this.holder = given.by;
        return null;
      case 'release':
        if (this.holder === undefined) return 'not_claimed';
        if (others && !given.any) return 'claimed_by_another';
        this.holder = undefined;
        return null;
      case 'delegate':
        if (others && !given.any) return 'claimed_by_another';
        if (this.ballots.has(given.giver)) return 'already_voted';
        if (this.holder !== undefined) this.holder = given.to;
        return null;
      case 'decide': {
        if (others) return 'claimed_by_another';
        if (this.ballots.has(given.by)) return 'already_voted';
        if (this.#quorum) this.ballots.set(given.by, given.decision);
        const same = [...this.ballots.values()].filter((word) => word === given.decision).length;
        const enough =
          this.#quorum === null ||
          same === (given.decision === 'reject' ? this.#quorum.rejections : this.#quorum.approvals);
        if (enough) {
          this.end = 'decided';
          this.winner = { by: given.by, decision: given.decision };
        }
        return null;
      }
    }
  }
}

const start = (rules: Quorum | null): TaskState => ({
  status: 'open',
  claimed_by: null,
  quorum: rules,
  votes: [],
});

describe('the decision state machine', () => {
  test('agrees with the model for any sequence of commands by several people', () => {
    fc.assert(
      fc.property(quorum, fc.array(command, { maxLength: 30 }), (rules, commands) => {
        const model = new Model(rules);
        let state = start(rules);
        let winners = 0;
        for (const given of commands) {
          const expected = model.take(given);
          const result = step(state, given);
          expect('refused' in result ? result.refused : null).toBe(expected);
          if ('change' in result && result.change === 'decided') {
            winners++;
            expect(given).toMatchObject(model.winner ?? {});
          }
          state = result.state;
          expect(state.status).toBe(model.end ?? (model.holder === undefined ? 'open' : 'claimed'));
          if (isUndecided(state.status)) expect(state.claimed_by ?? undefined).toBe(model.holder);
          expect(Object.fromEntries(state.votes.map((vote) => [vote.by, vote.decision]))).toEqual(
            Object.fromEntries(model.ballots),
          );
        }
        expect(winners).toBe(model.end === 'decided' ? 1 : 0);
      }),
      { numRuns: 2_000, seed: 20260801 },
    );
  });

  test('never leaves a final state', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('decided' as const, 'expired' as const, 'cancelled' as const),
        quorum,
        command,
        (status, rules, given) => {
          const state: TaskState = { ...start(rules), status };
          expect(step(state, given).state).toBe(state);
        },
      ),
      { seed: 20260801 },
    );
  });

  test('counts distinct people for a decision, and by default one rejection decides', () => {
    const rules = { approvals: 2, rejections: 1, exclude_initiator: false };
    const decide = (state: TaskState, by: string, decision: string) =>
      step(state, { kind: 'decide', by, decision, late: false });
    const firstVote = decide(start(rules), 'ann', 'approve');
    expect(firstVote).toMatchObject({ change: 'voted', state: { status: 'open' } });
    expect(decide(firstVote.state, 'ann', 'approve')).toMatchObject({ refused: 'already_voted' });
    expect(decide(firstVote.state, 'bob', 'hold')).toMatchObject({ change: 'voted' });
    expect(decide(firstVote.state, 'bob', 'reject')).toMatchObject({ change: 'decided' });
    expect(decide(firstVote.state, 'bob', 'approve')).toMatchObject({
      change: 'decided',
      state: { status: 'decided' },
    });
  });
});
