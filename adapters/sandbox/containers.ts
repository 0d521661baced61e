/**
 * Runs processes in containers of a Docker engine. The container of a call has a name that follows from its
 * key, so the call's repeat, after its worker was lost, continues the same container.
 */
import { limited, type SandboxSettings } from '../../contracts/process-policy.ts';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fault, Fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { CallProgress } from '../../domain/ports.ts';
import { FOLDER, makeFolder, takeFiles } from './container-files.ts';
import {
  containerName,
  containerSpec,
  keeperName,
  LABEL,
  type SandboxFile,
  type SandboxRequest,
} from './container-spec.ts';
import { createEngineApi, EngineAway, messageOf, type EngineAnswer, type EngineApi } from './engine-api.ts';
import { inTime } from './in-time.ts';
import { collectOutput, type Collected } from './multiplexed.ts';
import { createTurns } from './turns.ts';

export interface SandboxCall extends SandboxRequest {
  signal: AbortSignal;
  /** Asked once `signal` is aborted. False: another worker continues the call. */
  cancelRequested?: () => Promise<boolean>;
  progress?: CallProgress;
  /** The process is not begun a second time: its outcome is unknown then. */
  once?: boolean;
  /** Called before the output comes from its beginning. */
  onBegin?: () => void;
  onOutput?: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void;
  /** Gets each file of `/files/out`; in a repeat of the call again. */
  takeFile?: (name: string, chunks: AsyncIterable<Uint8Array>) => Promise<void>;
}

interface SandboxResult extends Collected {
  code: number;
  /** What lies in `/files/out` and is no plain file. */
  leftOut: string[];
}

export interface Sandbox {
  /** @throws Fault, and the signal's reason */
  run(call: SandboxCall): Promise<SandboxResult>;
  /** Removes the container of a call whose outcome is stored, unless it is kept for a while. */
  release(key: string): Promise<void>;
  /** All containers of this installation on the engine, of any worker. */
  list(): Promise<Kept[]>;
  /** Ends a container, which stays. Harmless if it is gone. */
  kill(id: string): Promise<void>;
  /** Ends and removes a container. Harmless if it is gone. */
  remove(id: string): Promise<void>;
  version(): Promise<string>;
  /** Whether the engine answers, and has or could pull an image. @returns a sentence @throws Fault */
  check(wanted: WantedImage): Promise<string>;
  close(): Promise<void>;
}

interface WantedImage {
  image: string;
  pull: SandboxRequest['pull'];
  /** Whether its containers have the folder for files. */
  hasFolder: boolean;
  signal: AbortSignal;
}

interface Kept {
  id: string;
  key: string;
  running: boolean;
  createdAt: Date;
  /** When it may be removed after its end; null while it runs, or if it never started. */
  removeAt: Date | null;
  /** It runs longer than a container may, so no worker follows it. */
  overdue: boolean;
}

interface State {
  id: string;
  status: string;
  startedAt: number;
  endedAt: number;
  code: number;
  outOfMemory: boolean;
  labels: Record<string, unknown>;
}

/** The call is repeated in a while. */
class Busy extends Error {}

interface Begun {
  state: State;
  /** To write standard input to. */
  input: Duplex | null;
}

/** After the end of a container, for the rest of its output, of which the engine keeps 64 MiB. */
const DRAIN_MS = 30_000;

const PULL_MS = 600_000;

/** How long a call waits for an engine that does not answer, and how often it asks. */
const AWAY_MS = 30_000;
const AWAY_PAUSE_MS = 1_000;

/** After the limit of time, for the worker that follows the container. */
const OVERDUE_MS = 60_000;

/** @param installationId tells the containers of several installations on one engine apart */
export function createSandbox(settings: SandboxSettings, installationId: () => Promise<string>): Sandbox {
  const api = createEngineApi(settings.engine, settings.token);
  const turns = createTurns(settings.atOnce);
  return {
    run: (call) =>
      turns.take(call.signal, async () =>
        runInContainer(api, limited(settings, call.limits ?? {}), await installationId(), call),
      ),
    async release(key) {
      const name = containerName(await installationId(), key);
      const state = await inspect(api, name);
      if (state && keepSecondsOf(state.labels) === 0) await remove(api, state.id);
      await remove(api, keeperName(name));
    },
    async list() {
      const filters = JSON.stringify({ label: [`${LABEL.installation}=${await installationId()}`] });
      const { status, body } = await api.call(
        'GET',
        `/containers/json?all=1&filters=${encodeURIComponent(filters)}`,
      );
      if (status !== 200 || !Array.isArray(body)) return [];
      const ids = body.flatMap((one: unknown) => (isRecord(one) ? [String(one['Id'])] : []));
      const kept: Kept[] = [];
      for (const id of ids) {
        const state = await inspect(api, id);
        if (state) kept.push(keptOf(state, settings));
      }
      return kept;
    },
    kill: (id) => kill(api, id),
    remove: (id) => remove(api, id),
    version: () => api.version(),
    check: (wanted) => check(api, settings, wanted),
    close: () => api.close(),
  };
}

/** An engine that starts anew is waited for; its containers have ended then. */
async function runInContainer(
  api: EngineApi,
  settings: SandboxSettings,
  installationId: string,
  call: SandboxCall,
): Promise<SandboxResult> {
  const fed = isRecord(call.progress?.kept) && call.progress.kept['fed'] === true;
  const memory: Memory = { fed, followed: false, begun: call.progress?.repeated === true };
  let [awaySince, awayAt] = [0, 0];
  for (;;) {
    memory.followed = false;
    try {
      return await attempt(api, settings, installationId, call, memory);
    } catch (error) {
      if (!(error instanceof EngineAway) || call.signal.aborted) throw error;
      const now = Date.now();
      // An engine that hangs lets the attempts themselves take long.
      if (awayAt === 0 || (memory.followed && now - awayAt > AWAY_MS)) awaySince = now;
      awayAt = now;
      if (now - awaySince > AWAY_MS) throw error;
      await sleep(AWAY_PAUSE_MS, undefined, { signal: call.signal }).catch(() => {});
    }
  }
}

/** What a call knows of its container. */
interface Memory {
  /** It got its whole input. */
  fed: boolean;
  /** The last attempt found or began it. */
  followed: boolean;
  /** An earlier attempt may have begun it. */
  begun: boolean;
}

async function attempt(
  api: EngineApi,
  settings: SandboxSettings,
  installationId: string,
  call: SandboxCall,
  memory: Memory,
): Promise<SandboxResult> {
  const name = containerName(installationId, call.key);
  try {
    const begun =
      (await continued(api, name, call, memory)) ??
      (await begin(api, settings, installationId, call, memory));
    memory.followed = true;
    const result = await follow(api, begun.state, settings, call).finally(() => begun.input?.destroy());
    const ended = await inspect(api, name);
    if (!ended || ended.status === 'running')
      throw fault('runtime', 'The container was removed by others while it ran');
    if (ended.outOfMemory) throw fault('runtime', `The container needs more than ${settings.memoryMib} MiB`);
    const take = call.takeFile ?? (async () => {});
    const leftOut = call.files === null ? [] : await takeFiles(api, name, take, call.signal);
    return { ...result, code: ended.code, leftOut };
  } catch (error) {
    if (error instanceof Busy || (error instanceof EngineAway && !call.signal.aborted)) throw error;
    // Only a fault ends the call. If this worker stops or loses the connection, the container goes on, and
    // the repeat of the call continues it.
    if (!call.signal.aborted) {
      if (error instanceof Fault) await kill(api, name);
    } else if ((await call.cancelRequested?.()) !== false) await removeBoth(api, name);
    throw error;
  }
}

/** The container of an earlier attempt; null if there is none, or if it did not get its whole input. */
async function continued(
  api: EngineApi,
  name: string,
  call: SandboxCall,
  { fed, begun }: Memory,
): Promise<Begun | null> {
  const state = await inspect(api, name);
  if (state && state.startedAt > 0 && (call.stdin === null || fed)) return { state, input: null };
  // One that was created and not started has done nothing.
  if (call.once === true && begun && (!state || state.startedAt > 0))
    throw fault('communication', 'The outcome of an earlier attempt is unknown, and it may not be repeated');
  if (!state) return null;
  await removeBoth(api, name);
  return null;
}

async function begin(
  api: EngineApi,
  settings: SandboxSettings,
  installationId: string,
  call: SandboxCall,
  memory: Memory,
): Promise<Begun> {
  const name = containerName(installationId, call.key);
  if (call.pull === 'always') await pull(api, call.image, call.signal);
  const imageCommand = await commandOfImage(api, call, call.image);
  if (call.files !== null) await beginFolder(api, settings, installationId, call, call.files);
  const spec = containerSpec(call, settings, installationId, imageCommand);
  memory.begun = true;
  const created = await api.call('POST', `/containers/create?name=${name}`, spec);
  if (created.status === 409) throw new Busy('Another attempt of the same call is under way');
  if (created.status !== 201)
    throw fault('runtime', `The container could not be created: ${messageOf(created)}`);
  const input = call.stdin === null ? null : await api.attach(`/containers/${name}/attach?stream=1&stdin=1`);
  try {
    const started = await api.call('POST', `/containers/${name}/start`);
    if (started.status !== 204 && started.status !== 304)
      throw fault('runtime', `The container could not be started: ${messageOf(started)}`);
    const state = await inspect(api, name);
    if (!state) throw fault('runtime', 'The container was removed by others while it started');
    if (input !== null) feed(input, call, memory);
    return { state, input };
  } catch (error) {
    input?.destroy();
    throw error;
  }
}

/** An attempt that was lost before its container began may have left a folder. */
async function beginFolder(
  api: EngineApi,
  settings: SandboxSettings,
  installationId: string,
  call: SandboxCall,
  files: readonly SandboxFile[],
): Promise<void> {
  if (settings.filesImage === null) throw noFolder();
  await commandOfImage(api, call, settings.filesImage);
  const { key, title, signal } = call;
  const name = containerName(installationId, key);
  await remove(api, keeperName(name));
  await makeFolder(api, { name, installationId, key, title }, settings, files, signal);
}

/** Writes the input while the process runs, which may end without reading it. */
function feed(input: Duplex, { stdin, progress }: SandboxCall, memory: Memory): void {
  input.on('error', () => {});
  input.resume();
  input.end(stdin, () => {
    memory.fed = true;
    // Without this note, a repeat of the call begins anew.
    void progress?.keep({ fed: true }).catch(() => {});
  });
}

/**
 * What the image runs by itself, if arguments are to follow it. Pulls the image if it is missing. An entry
 * point takes the arguments directly.
 */
async function commandOfImage(api: EngineApi, call: SandboxCall, image: string): Promise<readonly string[]> {
  const path = `/images/${encodeURIComponent(image)}/json`;
  let found = await api.call('GET', path);
  if (found.status === 404 && call.pull !== 'never') {
    await pull(api, image, call.signal);
    found = await api.call('GET', path);
  }
  if (found.status !== 200) throw noImage(image, found);
  const config = isRecord(found.body) ? found.body['Config'] : null;
  const { Entrypoint: entrypoint, Cmd: command } = isRecord(config) ? config : {};
  const hasEntrypoint = call.entrypoint !== undefined || (Array.isArray(entrypoint) && entrypoint.length > 0);
  return hasEntrypoint || !Array.isArray(command) ? [] : command.map(String);
}

async function check(
  api: EngineApi,
  { filesImage }: SandboxSettings,
  { image, pull: policy, hasFolder, signal }: WantedImage,
): Promise<string> {
  const version = await api.version({ signal });
  if (hasFolder && filesImage === null) throw noFolder();
  if (hasFolder && filesImage !== null) await offer(api, filesImage, policy, signal);
  return `The container engine (${version}) ${await offer(api, image, policy, signal)}`;
}

/** What the engine can do about the image, which it does not pull. @throws Fault if nothing */
async function offer(
  api: EngineApi,
  image: string,
  policy: SandboxRequest['pull'],
  signal: AbortSignal,
): Promise<string> {
  const name = encodeURIComponent(image);
  if (policy !== 'always') {
    const found = await api.call('GET', `/images/${name}/json`, undefined, { signal });
    if (found.status === 200) return `has the image ${image}.`;
    if (found.status !== 404 || policy === 'never') throw noImage(image, found);
  }
  const offered = await api.call('GET', `/distribution/${name}/json`, undefined, { signal });
  if (offered.status === 200) return `can pull the image ${image}.`;
  throw fault('communication', `The image ${image} cannot be pulled: ${messageOf(offered)}`);
}

function noImage(image: string, answer: EngineAnswer): Fault {
  return fault('configuration', `The engine has no image ${image}: ${messageOf(answer)}`);
}

function noFolder(): Fault {
  return fault('configuration', `${FOLDER} needs an image that keeps it (SANDBOX_SHELL_IMAGE)`);
}

async function pull(api: EngineApi, image: string, signal: AbortSignal): Promise<void> {
  const tooLate = `The image ${image} could not be pulled within ${PULL_MS / 60_000} minutes`;
  await inTime({ signal, limitMs: PULL_MS, tooLate }, (within) => pullNow(api, image, within));
}

async function pullNow(api: EngineApi, image: string, signal: AbortSignal): Promise<void> {
  const [, name = image, tag] = /^([^@]+?)(?::([^:/@]+))?$/.exec(image) ?? [];
  const version = image.includes('@') ? '' : `&tag=${tag ?? 'latest'}`;
  const query = `fromImage=${encodeURIComponent(name)}${version}`;
  const { status, body } = await api.stream('POST', `/images/create?${query}`, signal);
  // Lines of JSON tell the progress; the last one tells an error.
  let tail = '';
  for await (const chunk of body) tail = (tail + String(chunk)).slice(-2_000);
  const failure = /"(?:error|message)"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(tail)?.[1];
  if (status !== 200 || failure !== undefined)
    throw fault('communication', `The image ${image} could not be pulled: ${failure ?? `status ${status}`}`);
}

/** Reads the output until the container ends. @throws Fault at a limit */
async function follow(
  api: EngineApi,
  { id, startedAt }: State,
  { seconds }: SandboxSettings,
  { timeoutMs, signal, outputBytes, whole, onBegin, onOutput }: SandboxCall,
): Promise<Collected> {
  const limitMs = Math.min(seconds * 1000, timeoutMs);
  const late = AbortSignal.timeout(Math.max(1, limitMs - (Date.now() - startedAt)));
  const over = AbortSignal.any([signal, late]);
  const reading = new AbortController();
  try {
    const still = AbortSignal.any([over, reading.signal]);
    onBegin?.();
    let drained = false;
    const wanted = { outputBytes, whole, onOutput };
    const output = read(api, id, still, { ...wanted, follow: true }, () => drained);
    // It may fail before it is awaited.
    output.catch(() => {});
    const ended = api.call('POST', `/containers/${id}/wait?condition=not-running`, undefined, {
      signal: still,
    });
    await Promise.race([ended, output.then(() => ended)]);
    void sleep(DRAIN_MS, undefined, { ref: false }).then(() => {
      drained = true;
      reading.abort(new Error('no more output'));
    });
    const followed = await output;
    if (drained) return followed;
    // Some engines lose the end of what is followed (Docker before 23).
    onBegin?.();
    const all = await read(api, id, over, { ...wanted, follow: false }, () => false);
    return longerOf(followed, all);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (late.aborted) throw fault('timeout', `The container did not end within ${limitMs / 1000} s`);
    // A repeat would not get it either.
    if (reading.signal.aborted)
      throw fault('communication', 'The container engine did not deliver the output in time');
    throw error;
  } finally {
    reading.abort(new Error('nobody waits for the container'));
  }
}

/** Of a stream that was cut, the engine may not have the beginning any more. */
function longerOf(followed: Collected, all: Collected): Collected {
  const textOf = (stream: 'stdout' | 'stderr'): string =>
    followed.cut.includes(stream) || followed[stream].length > all[stream].length
      ? followed[stream]
      : all[stream];
  const cut = [...new Set([...followed.cut, ...all.cut])];
  return { stdout: textOf('stdout'), stderr: textOf('stderr'), cut };
}

interface Reading {
  onOutput: SandboxCall['onOutput'];
  /** Until the container ends; else what it has written so far. */
  follow: boolean;
}

async function read(
  api: EngineApi,
  id: string,
  signal: AbortSignal,
  { outputBytes, whole, onOutput, follow: following }: Pick<SandboxCall, 'outputBytes' | 'whole'> & Reading,
  isLate: () => boolean,
): Promise<Collected> {
  const { status, body } = await api.stream(
    'GET',
    `/containers/${id}/logs?follow=${following ? 1 : 0}&stdout=1&stderr=1`,
    signal,
  );
  if (status !== 200) throw fault('communication', `The engine gave no output of the container (${status})`);
  const tooLong = (cut: readonly ('stdout' | 'stderr')[]): boolean => whole.some((one) => cut.includes(one));
  const isEnough = (cut: readonly ('stdout' | 'stderr')[]): boolean => tooLong(cut) || cut.length === 2;
  const collected = await collectOutput(
    body,
    { maxBytes: outputBytes, isEnough, onOutput },
    // The end of what the task returns could be missing.
    () => isLate() && whole.length === 0,
  );
  if (tooLong(collected.cut)) {
    const streams = collected.cut.filter((stream) => whole.includes(stream)).join(' and ');
    throw fault('runtime', `The container wrote more than ${outputBytes} bytes to ${streams}`);
  }
  return collected;
}

async function inspect(api: EngineApi, name: string): Promise<State | null> {
  const { status, body } = await api.call('GET', `/containers/${name}/json`);
  if (status === 404) return null;
  const [state, config] = isRecord(body) ? [body['State'], body['Config']] : [];
  if (status !== 200 || !isRecord(body) || !isRecord(state))
    throw fault('communication', `The container engine answered ${status}`);
  const time = (value: unknown): number => Math.max(0, Date.parse(String(value)) || 0);
  const labels = isRecord(config) ? config['Labels'] : null;
  return {
    id: String(body['Id']),
    status: String(state['Status']),
    startedAt: time(state['StartedAt']),
    endedAt: time(state['FinishedAt']),
    code: Number(state['ExitCode']),
    outOfMemory: state['OOMKilled'] === true,
    labels: { ...(isRecord(labels) ? labels : {}), created: body['Created'] },
  };
}

function keepSecondsOf(labels: Record<string, unknown>): number {
  return Number(labels[LABEL.keepSeconds]) || 0;
}

function keptOf({ id, status, startedAt, endedAt, labels }: State, { seconds }: SandboxSettings): Kept {
  const running = status === 'running' || status === 'paused' || status === 'restarting';
  const hasEnded = !running && startedAt > 0;
  return {
    id,
    key: String(labels[LABEL.key]),
    running,
    createdAt: new Date(String(labels['created'])),
    // The files of a container wait for the worker that takes them, however late it is.
    overdue:
      running && labels[LABEL.folder] === undefined && Date.now() > startedAt + seconds * 1000 + OVERDUE_MS,
    removeAt: hasEnded ? new Date(endedAt + keepSecondsOf(labels) * 1000) : null,
  };
}

async function kill(api: EngineApi, name: string): Promise<void> {
  await api.call('POST', `/containers/${name}/kill`).catch(() => null);
}

/** A container, and the folder for its files. */
async function removeBoth(api: EngineApi, name: string): Promise<void> {
  await remove(api, name);
  await remove(api, keeperName(name));
}

async function remove(api: EngineApi, id: string): Promise<void> {
  const answer = await api.call('DELETE', `/containers/${id}?force=1&v=1`);
  // 409: it is being removed already.
  if (![204, 404, 409].includes(answer.status))
    throw fault('communication', `The engine did not remove a container: ${messageOf(answer)}`);
}
