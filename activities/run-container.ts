/** Runs the process of an agent of kind `docker`, with its pinned version and its owner's secrets. */
import type { Invoked, RunActivities, RunContainerInput, Written } from '../contracts/activities.ts';
import { fault } from '../contracts/fault.ts';
import { describeViolations, violations } from '../language/schema/validate-json.ts';
import type { ContainerAgentResult, PinnedAgent } from '../domain/ports.ts';
import type { CallRules } from '../domain/spending/rules.ts';
import { pinKey } from '../domain/runs/pins.ts';
import type { ProcessDeps } from './deps.ts';
import { isLost } from './files-of-run.ts';
import { measured } from './agent-calls.ts';
import { AgentGate } from './agent-gate.ts';
import { admit, rulesOf, toolTarget } from './invoke-agent.ts';
import { invokeOnce, type Calling, type Invocation } from './invocation.ts';
import { processFiles } from './process-files.ts';
import { logFiles, processLog } from './process-log.ts';

/** Characters of a stream in the run's log, from its end, of a process that was too quick for a live log. */
const LOGGED = 8 * 1024;

export function runContainerActivity(deps: ProcessDeps): RunActivities['runContainer'] {
  return (input) => {
    let prepared: { agent: PinnedAgent; rules: CallRules } | null = null;
    const gate = new AgentGate(deps, input);
    const invocation: Invocation = {
      pin: input.tool ? null : pinKey(input),
      identity: [input.agent, input.version ?? null, input.input, input.tool ?? null],
      async prepare(begun) {
        const { snapshot, agent_status: status } = begun;
        const target = input.tool ? await toolTarget(deps, input, input.tool) : null;
        if (target && 'agent' in target) prepared = target;
        else if (snapshot) prepared = admit(snapshot, status, rulesOf(begun));
        else throw new Error('the agent was not pinned');
      },
      gate,
      // Its budgets were asked before.
      enter: async (row, { claimed_before: isRepeat }) =>
        prepared &&
        gate.enter(
          row,
          prepared.agent,
          { ...prepared.rules, budgeted: false },
          { isRepeat, isMadeAgain: false },
        ),
      // The container of an earlier attempt is found; what may not run twice is not begun again.
      idempotent: () => true,
      stored: (key) => deps.processes.release(key),
      call(calling) {
        if (!prepared) throw new Error('not prepared');
        return run(deps, input, prepared.agent, calling, gate);
      },
    };
    return measured(
      deps.agentCalls,
      () => prepared?.agent.id ?? null,
      () => invokeOnce(deps, input, invocation),
    );
  };
}

async function run(
  deps: ProcessDeps,
  input: RunContainerInput,
  agent: PinnedAgent,
  calling: Calling,
  gate: AgentGate,
): Promise<Invoked> {
  const startedAt = performance.now();
  const result = await deps.processes
    .invoke({
      agent,
      input: input.input,
      timeoutMs: input.timeout_ms,
      log: processLog(deps, input, calling),
      files: processFiles(deps, input.run_id, calling.idempotencyKey),
      secret: (name) => deps.secret(agent.owner_id, name),
      ...calling,
    })
    .catch((error: unknown) => {
      throw isLost(error) ? fault('runtime', `A file cannot be read: ${error.message}`) : error;
    });
  await logFiles(deps, input, result.files);
  const found = violations(agent.output_schema, result.output);
  if (found.length > 0)
    throw fault(
      'validation',
      `The answer of ${agent.name} does not fit its output_schema: ${describeViolations(found)}`,
    );
  const { warnings, logged, output } = result;
  const usage = { requests: 1, duration_ms: Math.round(performance.now() - startedAt) };
  return {
    agent_id: agent.id,
    agent_version: agent.version,
    output,
    usage: (await gate.priced(usage)) ?? usage,
    ...(logged ? {} : { written: writtenOf(result) }),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

function writtenOf(result: ContainerAgentResult): Written[] {
  return (['stdout', 'stderr'] as const).flatMap((stream) => {
    const text = result[stream].trimEnd();
    if (text === '') return [];
    return [{ stream, text: text.slice(-LOGGED), cut: text.length > LOGGED || result.cut.includes(stream) }];
  });
}
