/** The page's side of the editor's worker. */
// oxlint-disable-next-line import/default -- Vite gives the address of the script, as css.d.ts declares
import workerUrl from './check-worker.ts?worker&url';
import type { Reply, Requests } from './checks.ts';

interface TrustedTypes {
  createPolicy: (
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ) => { createScriptURL: (url: string) => string };
}

/** Browsers without Trusted Types take the address as it is. */
const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };

/** The page's policy lets scripts be named only here, and only this one. */
const policy = trustedTypes?.createPolicy('cadenza', {
  createScriptURL(url) {
    if (url !== workerUrl) throw new TypeError(`${url} is no script of the console`);
    return url;
  },
});

interface Waiting {
  resolve: (answer: unknown) => void;
  reject: (error: Error) => void;
}

export class CheckWorker {
  readonly #worker = new Worker(policy?.createScriptURL(workerUrl) ?? workerUrl, { type: 'module' });
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  /** Its script has not been loaded: the server is away, or has a newer console. */
  #isBroken = false;

  constructor() {
    this.#worker.addEventListener('message', ({ data }: MessageEvent<Reply>) => {
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ('error' in data) waiting?.reject(new Error(data.error));
      else waiting?.resolve(data.answer);
    });
    this.#worker.addEventListener('error', () => {
      this.#isBroken = true;
      for (const { reject } of this.#waiting.values()) reject(new Error('the worker has failed'));
      this.#waiting.clear();
    });
  }

  ask<Kind extends keyof Requests>(
    kind: Kind,
    ask: Requests[Kind]['ask'],
  ): Promise<Requests[Kind]['answer']> {
    if (this.#isBroken) return Promise.reject(new Error('the worker has failed'));
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      // The worker answers each kind with its answer.
      this.#waiting.set(id, { resolve: resolve as Waiting['resolve'], reject });
      this.#worker.postMessage({ id, kind, ...ask });
    });
  }

  close(): void {
    this.#worker.terminate();
  }
}
