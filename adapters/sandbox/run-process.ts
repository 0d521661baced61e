/** `run: script`, `run: container` and `run: shell`: checks what the installation allows, and runs it. */
import { cutTo } from '../../contracts/cut-text.ts';
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { refusals, type ProcessPolicy } from '../../contracts/process-policy.ts';
import { durationToMs } from '../../language/definition/duration.ts';
import type { ProcessCall, ProcessRunner, ProcessStream } from '../../domain/ports.ts';
import { withoutSecrets } from '../call-settings.ts';
import { createTokenSource } from '../authentication/oauth-token.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { createContainerAgents } from '../docker/container-agents.ts';
import { createHttpCaller } from '../http/call-http.ts';
import { createSensitive } from '../secrets/sensitive.ts';
import { FOLDER } from './container-files.ts';
import type { SandboxFile } from './container-spec.ts';
import type { Sandbox, SandboxCall } from './containers.ts';
import { createLiveLog, type LiveLog } from './live-log.ts';
import { contentsOf, createFilesOut, filesOf, once, type FilesOut } from './process-files.ts';
import { createScriptRunner, type Script, type ScriptRunner, type ScriptSettings } from './run-script.ts';
import { environmentOf, pullOf, sentence, shellOf, textOf, textsOf } from './texts.ts';
import { traceEnvironment } from '../../tracing/context.ts';

export interface ProcessSettings {
  policy: ProcessPolicy;
  scripts: ScriptSettings;
}

/** Characters of a Python script, which is an argument of its container's process. */
const MAX_PYTHON = 100_000;

/** Of standard output and standard error each; of the code of a script, too. */
const MAX_BYTES = 1024 * 1024;

export function createProcessRunner(
  egress: EgressPolicy,
  { policy, scripts }: ProcessSettings,
  sandbox: Sandbox | null,
): ProcessRunner {
  const runner = createScriptRunner(scripts);
  const agents = createContainerAgents(policy, sandbox);
  const http = createHttpCaller({ egress, tokens: createTokenSource(egress) });
  const start = async (call: ProcessCall, code: string, live: LiveLog, out: FilesOut): Promise<Ended> => {
    const given = await filesOf(call, code);
    const withPaths = { ...call, with: given.with };
    if (isJavaScript(call)) return runScript(runner, withPaths, code, given.files, live, out);
    if (sandbox === null)
      throw fault('configuration', 'This worker has no container engine (SANDBOX_ENGINE)');
    const ended = await sandbox.run({
      ...containerOf(withPaths, code, policy.containers),
      files: given.files,
      onBegin: () => live.begin(),
      onOutput: (stream, bytes) => live.write(stream, bytes),
      takeFile: (name, chunks) => out.take(name, chunks),
    });
    return { ...ended, leftOut: given.files === null ? null : ended.leftOut };
  };
  return {
    check: (agent) => agents.check(agent),
    invoke: (call) => agents.invoke(call),
    async release(key) {
      await sandbox?.release(key);
    },
    async run(call) {
      const [refused] = refusals(call.kind, call.with, policy, true);
      if (refused) throw fault('configuration', sentence(refused.message));
      const sensitive = createSensitive();
      for (const value of call.sensitive ?? []) sensitive.protect(value, '<SECRET>');
      const clean = (text: string): string => String(sensitive.clean(text));
      const live = createLiveLog(call.log, sensitive, call.whole);
      const out = createFilesOut(call.files, sensitive);
      try {
        const ended = await start(call, await codeOf(call, http), live, out);
        const { code, stdout, stderr, cut } = ended;
        const logged = await live.end(code !== 0);
        const files = ended.leftOut === null ? null : out.files;
        const warnings = (ended.leftOut ?? []).map(
          (name) => `${FOLDER}/out/${clean(name)} is no plain file and was left out`,
        );
        return { code, stdout: clean(stdout), stderr: clean(stderr), cut, logged, files, warnings };
      } catch (error) {
        // What ended the process is told even if its log cannot be written.
        if (!call.signal.aborted) await live.end(true).catch(() => {});
        throw withoutSecrets(error, sensitive);
      } finally {
        live.stop();
      }
    },
  };
}

/** How a process ended; `leftOut` is null if it had no folder for files. */
interface Ended {
  code: number;
  stdout: string;
  stderr: string;
  cut: readonly ProcessStream[];
  leftOut: readonly string[] | null;
}

async function runScript(
  runner: ScriptRunner,
  call: ProcessCall,
  code: string,
  files: readonly SandboxFile[] | null,
  live: LiveLog,
  out: FilesOut,
): Promise<Ended> {
  const script = { ...scriptOf(call, code), files: files === null ? null : await contentsOf(files) };
  live.begin();
  const { files: left, ...ended } = await runner.run(script, call.signal, (stream, text) =>
    live.write(stream, Buffer.from(text)),
  );
  for (const { name, bytes } of left) await out.take(name, once(bytes));
  return { ...ended, leftOut: files === null ? null : [] };
}

/** The code of a script, which may have to be fetched; empty for others. */
async function codeOf(call: ProcessCall, http: ReturnType<typeof createHttpCaller>): Promise<string> {
  const { code, source } = call.with;
  if (call.kind !== 'script') return '';
  if (typeof code === 'string') return code;
  const endpoint = isRecord(source) ? source['endpoint'] : undefined;
  const request = { method: 'get', endpoint, output: 'raw', redirect: true };
  const { output } = await http.http({ ...call, with: request });
  const bytes = Buffer.from(String(output), 'base64');
  if (bytes.length > MAX_BYTES) throw fault('configuration', `The script has more than ${MAX_BYTES} bytes`);
  return bytes.toString('utf8');
}

function scriptOf({ with: configured, timeoutMs, whole }: ProcessCall, code: string): Script {
  return {
    code,
    argv: textsOf(configured['arguments']),
    env: { ...traceEnvironment(), ...environmentOf(configured['environment']) },
    stdin: textOf(configured['stdin']),
    files: null,
    timeoutMs,
    outputBytes: MAX_BYTES,
    whole,
  };
}

function containerOf(
  call: ProcessCall,
  code: string,
  policy: ProcessPolicy['containers'],
): Omit<SandboxCall, 'files'> {
  const { stdin, arguments: values, environment, lifetime, name } = call.with;
  const { cancelRequested, progress, timeoutMs, whole, signal } = call;
  return {
    ...imageOf(call, code, policy),
    key: call.idempotencyKey,
    title: cutTo(textOf(name), 200),
    arguments: textsOf(values),
    env: environmentOf(environment),
    stdin: stdin === undefined ? null : textOf(stdin),
    keepSeconds: keepSecondsOf(lifetime),
    timeoutMs,
    outputBytes: MAX_BYTES,
    whole,
    signal,
    ...(cancelRequested ? { cancelRequested } : {}),
    ...(progress ? { progress } : {}),
  };
}

function imageOf(
  { kind, with: configured }: ProcessCall,
  code: string,
  policy: ProcessPolicy['containers'],
): ImageOf {
  const { image, command, pullPolicy, ports, volumes } = configured;
  const common = { pull: pullOf(policy, pullPolicy), ports: {}, mounts: [] };
  if (kind === 'shell') return { ...common, image: policy?.shell_image ?? '', entrypoint: shellOf(command) };
  if (kind === 'script') {
    if (code.length > MAX_PYTHON)
      throw fault('configuration', `A script in Python has at most ${MAX_PYTHON} characters`);
    return { ...common, image: policy?.python_image ?? '', entrypoint: ['python3', '-c', code] };
  }
  return {
    ...common,
    image: textOf(image),
    ...(command === undefined ? {} : { entrypoint: shellOf(command) }),
    ports: environmentOf(ports),
    mounts: mountsOf(volumes, policy?.volumes ?? []),
  };
}

type ImageOf = Pick<SandboxCall, 'image' | 'pull' | 'entrypoint' | 'ports' | 'mounts'>;

function isJavaScript({ kind, with: configured }: ProcessCall): boolean {
  return kind === 'script' && configured['language'] !== 'python';
}

function mountsOf(volumes: unknown, allowed: readonly string[]): SandboxCall['mounts'] {
  return Object.entries(environmentOf(volumes)).map(([source, target]) => {
    if (!/^\/[^:]*$/.test(target))
      throw fault('configuration', `The volume ${source} needs a folder of the container, such as /data`);
    return { source, target, writable: allowed.includes(`${source}:rw`) };
  });
}

/** By default a container is removed once its outcome is stored. */
function keepSecondsOf(lifetime: unknown): number {
  const { cleanup, after } = isRecord(lifetime) ? lifetime : {};
  if (cleanup === 'never') return Number.MAX_SAFE_INTEGER;
  if (cleanup !== 'eventually') return 0;
  try {
    return Math.ceil(durationToMs(after) / 1000);
  } catch (error) {
    // Anything but a fault would be repeated for ever.
    throw fault('configuration', `lifetime.after: ${error instanceof Error ? error.message : String(error)}`);
  }
}
