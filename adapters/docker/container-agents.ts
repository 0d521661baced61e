/** Agents of kind `docker`: each invocation is a process in a container of its own. */
import {
  dockerConfiguration,
  memoryMibOf,
  type DockerConfiguration,
} from '../../contracts/agent-kinds/docker.ts';
import { fault } from '../../contracts/fault.ts';
import { agentRefusals, pullPolicyOf, type ProcessPolicy } from '../../contracts/process-policy.ts';
import type {
  ContainerAgentCall,
  ContainerAgentResult,
  PinnedAgent,
  ProcessRunner,
  ProcessStream,
} from '../../domain/ports.ts';
import { parseConfiguration, timeoutOf, withoutSecrets } from '../call-settings.ts';
import type { Sandbox, SandboxCall } from '../sandbox/containers.ts';
import { createLiveLog } from '../sandbox/live-log.ts';
import { createFilesOut } from '../sandbox/process-files.ts';
import { pullOf, sentence, shellOf, textOf } from '../sandbox/texts.ts';
import { loadSensitive, type Sensitive } from '../secrets/sensitive.ts';
import { inputOf } from './agent-input.ts';
import { createAgentOutput } from './agent-output.ts';

/** Of standard output and standard error each. */
const MAX_BYTES = 1024 * 1024;
/** Characters of standard error in an error's text. */
const QUOTED = 500;

export function createContainerAgents(
  policy: ProcessPolicy,
  sandbox: Sandbox | null,
): Pick<ProcessRunner, 'check' | 'invoke'> {
  return {
    async check({ agent, secret, signal }) {
      const admitted = await admit(agent, policy, sandbox, secret);
      const { image, input, output, pull } = admitted.configuration;
      const hasFolder = input === 'file' || output === 'file';
      try {
        return await admitted.sandbox.check({ image, pull: pulls(policy, pull), hasFolder, signal });
      } catch (error) {
        throw withoutSecrets(error, admitted.sensitive);
      }
    },
    async invoke(call) {
      const admitted = await admit(call.agent, policy, sandbox, call.secret);
      try {
        return await runAgent(admitted, policy, call);
      } catch (error) {
        throw withoutSecrets(error, admitted.sensitive);
      }
    },
  };
}

interface Admitted {
  sandbox: Sandbox;
  configuration: DockerConfiguration & { image: string };
  sensitive: Sensitive;
}

/** What an invocation needs before its container. @throws Fault (configuration) for what is missing */
async function admit(
  agent: PinnedAgent,
  policy: ProcessPolicy,
  sandbox: Sandbox | null,
  secret: ContainerAgentCall['secret'],
): Promise<Admitted> {
  const configuration = parseConfiguration(dockerConfiguration, agent.configuration);
  const { image, entrypoint, command, env } = configuration;
  if (image === undefined || image === '')
    throw fault('configuration', `The agent ${agent.name} has no "image" in its configuration`);
  const [refused] = agentRefusals(agent.configuration, policy);
  if (refused) throw fault('configuration', sentence(refused.message));
  if (sandbox === null) throw fault('configuration', 'This worker has no container engine (SANDBOX_ENGINE)');
  const sensitive = await loadSensitive([entrypoint, command, env], secret);
  return { sandbox, configuration: { ...configuration, image }, sensitive };
}

function pulls({ containers }: ProcessPolicy, pull: unknown): ReturnType<typeof pullOf> {
  return pullOf(containers, pullPolicyOf(pull));
}

async function runAgent(
  { sandbox, configuration, sensitive }: Admitted,
  policy: ProcessPolicy,
  call: ContainerAgentCall,
): Promise<ContainerAgentResult> {
  const { agent, log } = call;
  const fromFile = configuration.output === 'file';
  const whole: ProcessStream[] = fromFile ? [] : ['stdout'];
  const live = createLiveLog(log, sensitive, whole);
  const out = createFilesOut(call.files, sensitive);
  const output = createAgentOutput(fromFile, out);
  const given = await inputOf(configuration, call, sensitive);
  try {
    const ended = await sandbox.run({
      ...containerOf(configuration, policy, call, sensitive),
      ...given,
      whole,
      onBegin: () => live.begin(),
      onOutput: (stream, bytes) => live.write(stream, bytes),
      takeFile: (name, chunks) => output.take(name, chunks),
    });
    const clean = (text: string): string => String(sensitive.clean(text));
    const { code, cut } = ended;
    const [stdout, stderr] = [clean(ended.stdout), clean(ended.stderr)];
    const logged = await live.end(code !== 0);
    if (code !== 0) {
      const said = stderr.trim().slice(-QUOTED);
      throw fault(
        'runtime',
        `The container of ${agent.name} ended with exit code ${code}${said === '' ? '' : `: ${said}`}`,
      );
    }
    const warnings = ended.leftOut.map(
      (name) => `/files/out/${clean(name)} is no plain file and was left out`,
    );
    const value = sensitive.clean(output.of(ended.stdout));
    return { output: value, stdout: fromFile ? stdout : '', stderr, cut, logged, files: out.files, warnings };
  } catch (error) {
    // What ended the process is told even if its log cannot be written.
    if (!call.signal.aborted) await live.end(true).catch(() => {});
    throw error;
  } finally {
    live.stop();
  }
}

type Described = Omit<SandboxCall, 'files' | 'stdin' | 'arguments' | 'env' | 'whole'>;

function containerOf(
  configuration: DockerConfiguration & { image: string },
  policy: ProcessPolicy,
  { agent, idempotencyKey, timeoutMs, signal, cancelRequested, progress }: ContainerAgentCall,
  { fill }: Sensitive,
): Described {
  const { image, entrypoint, command, pull, timeout, retry, network, user, memory, cpus, pids } =
    configuration;
  const program =
    typeof command === 'string'
      ? shellOf(fill(command))
      : typeof entrypoint === 'string'
        ? [fill(entrypoint)]
        : entrypoint?.map((word) => fill(textOf(word)));
  return {
    key: idempotencyKey,
    title: agent.name.slice(0, 200),
    image,
    pull: pulls(policy, pull),
    ...(program === undefined ? {} : { entrypoint: program }),
    ports: {},
    mounts: [],
    keepSeconds: 0,
    timeoutMs: timeoutOf(timeout, timeoutMs),
    outputBytes: MAX_BYTES,
    once: retry?.idempotent === false,
    limits: {
      network: network === true,
      ...(user === undefined ? {} : { user }),
      ...(memory === undefined ? {} : { memoryMib: memoryMibOf(memory) }),
      ...(cpus === undefined ? {} : { cpus }),
      ...(pids === undefined ? {} : { pids }),
    },
    signal,
    ...(cancelRequested ? { cancelRequested } : {}),
    ...(progress ? { progress } : {}),
  };
}
