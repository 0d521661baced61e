import { fault } from '../contracts/fault.ts';

/** Passes chunks on; where none comes for `idleMs`, `silence` is aborted with a Fault, which is to end their source. */
export async function* watched(chunks: AsyncIterable<Uint8Array>, silence: AbortController, idleMs: number): AsyncGenerator<Uint8Array> {
  const silent = (): void => silence.abort(fault('communication', `The stream was silent for ${idleMs} ms`, { status: 504 }));
  let timer = setTimeout(silent, idleMs);
  try {
    for await (const chunk of chunks) {
      clearTimeout(timer);
      timer = setTimeout(silent, idleMs);
      yield chunk;
    }
  } finally {
    clearTimeout(timer);
  }
}
