import { fault } from '../../contracts/fault.ts';

/** Passes chunks on. If none arrives for `idleMs`, it aborts `source` with a Fault, which ends the chunks. */
export async function* limitSilence(
  chunks: AsyncIterable<Uint8Array>,
  source: AbortController,
  idleMs: number,
): AsyncGenerator<Uint8Array> {
  const abort = (): void =>
    source.abort(fault('communication', `The stream was silent for ${idleMs} ms`, { status: 504 }));
  let timer = setTimeout(abort, idleMs);
  try {
    for await (const chunk of chunks) {
      clearTimeout(timer);
      timer = setTimeout(abort, idleMs);
      yield chunk;
    }
  } finally {
    clearTimeout(timer);
  }
}
