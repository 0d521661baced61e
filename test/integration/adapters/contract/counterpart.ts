/** What the contract of adapters needs of a kind: a counterpart that does what a test says. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { keepIdle } from '../../../support/http-server.ts';

/** The value of `<CONTRACT_KEY>`. */
export const KEY = 'sk-contract-0123456789';

export interface ContractKind {
  kind: string;
  /** What the kind cannot do, with the reason. Its tests are left out. */
  lacks?: { streaming?: string; refusal?: string };
  start(): Promise<Counterpart>;
}

/** From now on: answer, never answer, repeat the credential, answer more than any kind takes, refuse. */
export type Behaviour = 'answer' | 'hold' | 'echo' | 'huge' | { refuse: number; says: string };

export interface Counterpart {
  /** The fields of an agent that reaches it, with `<CONTRACT_KEY>` as the credential. */
  agent: Record<string, unknown> & { type: string; configuration: Record<string, unknown> };
  /** What the agent is asked, an object. Its output contains `ANSWER`. */
  input: Record<string, unknown>;
  behave(behaviour: Behaviour): void;
  /** Answers what is held, and everything from now on. */
  release(): void;
  /** The invocations that it has got, with their idempotency key and credential. */
  calls: { key: string; credential: string }[];
  /** How many of them the caller has given up. */
  left(): number;
  close(): Promise<void>;
}

export const ANSWER = 'Well answered';
/** An answer of A2A, which may bring files, has 16 MiB; all others 8 MiB. */
export const HUGE_BYTES = 17 * 1024 * 1024;

interface HttpAnswer {
  /** JSON. */
  body: unknown;
  /** The events of an answer that is streamed. */
  events?: string[];
}

/** A counterpart that is one request of HTTP. `answer` wraps a text in the answer of its kind. */
export async function httpCounterpart(
  answer: (text: string, body: string) => HttpAnswer,
  about: (url: string) => Pick<Counterpart, 'agent' | 'input'>,
  credentialOf = ({ headers }: IncomingMessage): string => headers.authorization ?? '',
): Promise<Counterpart> {
  const calls: Counterpart['calls'] = [];
  const held = new Set<() => void>();
  let behaviour: Behaviour = 'answer';
  let left = 0;
  const respond = (body: string, credential: string, response: ServerResponse): void => {
    if (typeof behaviour === 'object') {
      const error = { error: { message: `${behaviour.says} ${credential}` } };
      return void response
        .writeHead(behaviour.refuse, { 'content-type': 'application/json' })
        .end(JSON.stringify(error));
    }
    const said = behaviour === 'echo' ? `${ANSWER} ${credential}` : ANSWER;
    const text = behaviour === 'huge' ? 'x'.repeat(HUGE_BYTES) : said;
    const { body: whole, events } = answer(text, body);
    if (events === undefined)
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events) response.write(`data: ${event}\n\n`);
    response.end();
  };
  const server = createServer(keepIdle, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const credential = credentialOf(request);
    calls.push({ key: String(request.headers['idempotency-key'] ?? ''), credential });
    response.on('close', () => {
      if (!response.writableFinished) left += 1;
    });
    if (behaviour === 'hold') await new Promise<void>((resolve) => held.add(resolve));
    respond(Buffer.concat(chunks).toString('latin1'), credential, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    ...about(`http://127.0.0.1:${address.port}`),
    behave: (next) => (behaviour = next),
    release() {
      behaviour = 'answer';
      for (const go of held) go();
      held.clear();
    },
    calls,
    left: () => left,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
