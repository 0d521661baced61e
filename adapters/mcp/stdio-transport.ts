/**
 * MCP over the standard streams of a program (MCP "stdio"): one line of JSON for each message. The program
 * gets no variables of the worker, and it ends with the call, and with the worker, however that ends.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { fault } from '../../contracts/fault.ts';

/** A message is a line. It is parsed, checked and copied, so it takes several times its size. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** Of everything that the program writes in one call. */
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;
const MAX_STDERR_BYTES = 2_000;
const PATH = '/usr/local/bin:/usr/bin:/bin';
/** How long a program may take to end by itself after its input has ended. */
const GRACE_MS = 1_000;

/**
 * Runs the arguments as a program in its own process group, and kills the group when descriptor 3 ends: the
 * worker holds its other end, so even `kill -9` of the worker ends the program.
 */
const LIFELINE =
  'exec 4<&0; "$@" <&4 3<&- 4<&- & program=$!; exec 4<&- </dev/null; ' +
  '(read -r _ <&3; kill -s KILL -- -$$) >/dev/null 2>&1 & wait $program';

export interface StdioProgram {
  argv: readonly string[];
  environment: Readonly<Record<string, string>>;
}

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #program: StdioProgram;
  #process: ChildProcess | null = null;
  #ended: Promise<void> = Promise.resolve();
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #totalBytes = 0;
  #stderr = '';

  constructor(program: StdioProgram) {
    this.#program = program;
  }

  /** The beginning of what the program wrote to its standard error, for messages. */
  get stderr(): string {
    return this.#stderr;
  }

  async start(): Promise<void> {
    const { argv, environment } = this.#program;
    const child = spawn('/bin/sh', ['-c', LIFELINE, 'sh', ...argv], {
      cwd: '/',
      detached: true,
      env: { PATH, ...environment },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    });
    this.#process = child;
    this.#ended = new Promise((resolve) => {
      child.once('exit', () => {
        child.stdio[3]?.destroy();
        resolve();
      });
      child.once('error', () => resolve());
    });
    for (const stream of child.stdio) stream?.on('error', () => undefined);
    child.stdout?.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr?.on('data', (chunk: Buffer) => {
      if (this.#stderr.length < MAX_STDERR_BYTES)
        this.#stderr = (this.#stderr + chunk.toString()).slice(0, MAX_STDERR_BYTES);
    });
    child.once('close', () => this.onclose?.());
    child.once('error', (error) => this.onerror?.(error));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const input = this.#process?.stdin;
    if (!input?.writable) throw fault('communication', 'The program has ended', { status: 502 });
    if (!input.write(`${JSON.stringify(message)}\n`))
      await new Promise<void>((resolve) => {
        input.once('drain', resolve);
        void this.#ended.then(resolve);
      });
  }

  /** Ends the input, as the protocol asks, and soon afterwards the program with all its children. */
  async close(): Promise<void> {
    const child = this.#process;
    if (child === null) return;
    this.#process = null;
    child.stdin?.end();
    const grace = new AbortController();
    const timer = setTimeout(() => grace.abort(), GRACE_MS);
    await Promise.race([
      this.#ended,
      new Promise<void>((resolve) => grace.signal.addEventListener('abort', () => resolve(), { once: true })),
    ]);
    clearTimeout(timer);
    killGroup(child);
    for (const stream of child.stdio) stream?.destroy();
  }

  #read(chunk: Buffer): void {
    this.#totalBytes += chunk.length;
    if (this.#totalBytes > MAX_OUTPUT_BYTES) return this.#refuse(`more than ${MAX_OUTPUT_BYTES} bytes`);
    let rest = chunk;
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      const line = Buffer.concat([...this.#pending, rest.subarray(0, end)]);
      this.#pending = [];
      this.#pendingBytes = 0;
      rest = rest.subarray(end + 1);
      this.#deliver(line.toString());
    }
    this.#pending.push(rest);
    this.#pendingBytes += rest.length;
    if (this.#pendingBytes > MAX_LINE_BYTES) this.#refuse(`a message of more than ${MAX_LINE_BYTES} bytes`);
  }

  /** Lines that are no messages are ignored, because programs print other things by mistake. */
  #deliver(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return;
    }
    // The client checks the message.
    if (typeof message === 'object' && message !== null) this.onmessage?.(message as JSONRPCMessage);
  }

  #refuse(what: string): void {
    this.onerror?.(fault('communication', `The program wrote ${what}`, { status: 502 }));
    void this.close();
  }
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
