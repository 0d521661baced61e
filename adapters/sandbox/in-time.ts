import { fault } from '../../contracts/fault.ts';

/**
 * Work with a limit of its own besides the call's signal. @throws Fault `tooLate` at the limit: a repeat
 * would take as long
 */
export async function inTime<T>(
  { signal, limitMs, tooLate }: { signal: AbortSignal; limitMs: number; tooLate: string },
  work: (within: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = AbortSignal.timeout(limitMs);
  try {
    return await work(AbortSignal.any([signal, late]));
  } catch (error) {
    if (!late.aborted || signal.aborted) throw error;
    throw fault('timeout', tooLate);
  }
}
