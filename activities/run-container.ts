/** Runs the process of an agent of kind `docker`, with its pinned version and its owner's secrets. */
import type { Invoked, RunActivities, RunContainerInput, Written } from '../contracts/activities.ts';
import { fault } from '../contracts/fault.ts';
import { describeViolations, violations } from '../language/schema/validate-json.ts';
import type { ContainerAgentResult, PinnedAgent } from '../domain/ports.ts';
import { pinKey } from '../domain/runs/pins.ts';
import type { ProcessDeps } from './deps.ts';
import { isLost } from './files-of-run.ts';
import { admit, toolTarget } from './invoke-agent.ts';
import { invokeOnce, type Calling } from './invocation.ts';
import { processFiles } from './process-files.ts';
import { logFiles, processLog } from './process-log.ts';

/** Characters of a stream in the run's log, from its end, of a process that was too quick for a live log. */
const LOGGED = 8 * 1024;

export function runContainerActivity(deps: ProcessDeps): RunActivities['runContainer'] {
  return (input) => {
    let agent: PinnedAgent | null = null;
    return invokeOnce(deps, input, {
      pin: input.tool ? null : pinKey(input),
      identity: [input.agent, input.version ?? null, input.input, input.tool ?? null],
      async prepare({ snapshot, agent_status: status }) {
        const target = input.tool ? await toolTarget(deps, input, input.tool) : null;
        if (target && 'agent' in target) agent = target.agent;
        else if (snapshot) agent = admit(snapshot, status).agent;
        else throw new Error('the agent was not pinned');
      },
      // The container of an earlier attempt is found; what may not run twice is not begun again.
      idempotent: () => true,
      stored: (key) => deps.processes.release(key),
      call(calling) {
        if (!agent) throw new Error('not prepared');
        return run(deps, input, agent, calling);
      },
    });
  };
}

async function run(
  deps: ProcessDeps,
  input: RunContainerInput,
  agent: PinnedAgent,
  calling: Calling,
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
  return {
    agent_id: agent.id,
    agent_version: agent.version,
    output,
    usage: { requests: 1, duration_ms: Math.round(performance.now() - startedAt) },
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
