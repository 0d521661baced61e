/**
 * What every adapter does, whatever its kind (CONTRIBUTING.md, "Add an agent kind"). A kind joins by its
 * entry in `kinds.ts`.
 */
import { describe, expect, test } from '@jest/globals';
import { AGENT_KINDS } from '../../../../contracts/agent-kinds/index.ts';
import { createAdapters, createEgressPolicy } from '../../../../adapters/index.ts';
import type { AgentCall, CallProgress, PartialRedaction, PartialSink } from '../../../../domain/ports.ts';
import { agentCall, faultOf } from '../../../support/agent-call.ts';
import { closedAfterEach } from '../../../support/closed-after-each.ts';
import { memoryFiles } from '../../../support/memory-files.ts';
import { until } from '../../../support/platform.ts';
import { ANSWER, KEY, type Counterpart } from './counterpart.ts';
import { KINDS, NOT_HERE } from './kinds.ts';

const opened = closedAfterEach();

test('every kind is in the contract, or says why it is not', () => {
  const kinds = KINDS.map(({ kind }) => kind);
  expect(Object.keys(AGENT_KINDS).filter((kind) => !kinds.includes(kind) && !(kind in NOT_HERE))).toEqual([]);
  expect(kinds.filter((kind) => kind in NOT_HERE)).toEqual([]);
});

function invoke(call: AgentCall) {
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  opened(egress);
  return createAdapters({ egress }).invoke(call);
}

/** Kinds that keep the id of what they have begun. */
const KEEPING_ID = ['a2a', 'framework'];

describe.each(KINDS)('$kind', ({ kind, lacks = {}, start }) => {
  const begin = async (): Promise<{
    counterpart: Counterpart;
    call(more?: Partial<AgentCall>, secrets?: Record<string, string>): AgentCall;
  }> => {
    const counterpart = opened(await start());
    return {
      counterpart,
      call: (more = {}, secrets = { CONTRACT_KEY: KEY }) => ({
        ...agentCall(counterpart.agent, counterpart.input, { secrets }),
        files: memoryFiles(),
        ...more,
      }),
    };
  };

  test('an invocation carries its key and the secret, and gives output and usage', async () => {
    const { counterpart, call } = await begin();
    const { output, usage } = await invoke(call());
    expect(JSON.stringify(output)).toContain(ANSWER);
    expect(usage).toMatchObject({ requests: expect.any(Number), duration_ms: expect.any(Number) });
    expect(counterpart.calls).toEqual([{ key: 'run-1/do/0/call/1/1', credential: `Bearer ${KEY}` }]);
  });

  test('secrets are read when the agent is called, and an unknown one is named', async () => {
    const { counterpart, call } = await begin();
    const fault = await faultOf(invoke(call({}, {})));
    expect(fault).toMatchObject({ kind: 'configuration', detail: expect.stringContaining('CONTRACT_KEY') });
    expect(counterpart.calls).toEqual([]);
  });

  test('a secret that the counterpart repeats is in no output, and not in what is kept', async () => {
    const { counterpart, call } = await begin();
    counterpart.behave('echo');
    const kept: Record<string, unknown> = {};
    const progress: CallProgress = {
      repeated: false,
      kept: null,
      keep: async (value) => void Object.assign(kept, value),
    };
    const result = await invoke(call({ progress }));
    expect(JSON.stringify(result.output)).toContain(`${ANSWER} Bearer <CONTRACT_KEY>`);
    expect(JSON.stringify([result, kept])).not.toContain(KEY);
  });

  test('a call ends in time and when it is cancelled, and the counterpart learns of it', async () => {
    const { counterpart, call } = await begin();
    counterpart.behave('hold');
    const late = await faultOf(invoke(call({ timeoutMs: 3_000 })));
    expect(late).toMatchObject({ kind: 'timeout', status: 408 });
    await until(
      async () => counterpart.left(),
      (left) => left === 1,
    );
    const controller = new AbortController();
    let hasId = false;
    const progress: CallProgress = {
      repeated: false,
      kept: null,
      keep: async () => void (hasId = true),
    };
    const cancelled = invoke(
      call({ signal: controller.signal, cancelRequested: async () => true, progress }),
    );
    await until(
      async () => counterpart.calls.length,
      (calls) => calls === 2,
    );
    // A task of A2A can be cancelled only when the caller has read its id.
    if (KEEPING_ID.includes(kind))
      await until(
        async () => hasId,
        (known) => known,
      );
    controller.abort(new Error('run cancelled'));
    await expect(cancelled).rejects.toThrow('run cancelled');
    await until(
      async () => counterpart.left(),
      (left) => left === 2,
    );
  });

  test('an answer above the limit is refused', async () => {
    const { counterpart, call } = await begin();
    counterpart.behave('huge');
    const fault = await faultOf(invoke(call({ timeoutMs: 5_000 })));
    expect(fault).toMatchObject({ kind: 'communication', status: 502 });
    expect(fault.detail).toMatch(/larger than|too large|more than/);
  });

  test('a counterpart that is not there is a failure that a retry may mend', async () => {
    const { counterpart, call } = await begin();
    await counterpart.close();
    expect(await faultOf(invoke(call()))).toMatchObject({ kind: 'communication', status: 503 });
  });

  const refusals: [number, string][] = [
    [401, 'authentication'],
    [403, 'authorization'],
    [429, 'communication'],
    [503, 'communication'],
  ];
  if (lacks.refusal === undefined)
    test.each(refusals)('a refusal with %i is a fault of type %s that says why', async (refuse, kind) => {
      const { counterpart, call } = await begin();
      counterpart.behave({ refuse, says: 'The oven is cold' });
      const fault = await faultOf(invoke(call()));
      expect(fault).toMatchObject({ kind, status: refuse });
      expect(fault.detail).toContain('The oven is cold');
      expect(fault.detail).not.toContain(KEY);
      // The definition's retry decides, nobody else.
      expect(counterpart.calls).toHaveLength(1);
    });

  if (lacks.streaming === undefined)
    test('those who follow the run see the output grow', async () => {
      const { counterpart, call } = await begin();
      counterpart.behave('echo');
      const got = { text: '', redaction: null as PartialRedaction | null };
      const partial: PartialSink = {
        redactBy: (redaction) => (got.redaction = redaction),
        output: (text) => (got.text += text),
        restart: () => (got.text = ''),
        progress: () => {},
      };
      const { output } = await invoke(call({ partial }));
      expect(got.redaction?.redact(got.text)).toBe(`${ANSWER} Bearer <CONTRACT_KEY>`);
      expect(JSON.stringify(output)).toContain(ANSWER);
    });
});
