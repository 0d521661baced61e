/** The request that reads a step, for a terminal. */
import type { Step } from './fold-run.ts';

export function curlOf(origin: string, runId: string, { reference, visit }: Step): string {
  const path = `/runs/${encodeURIComponent(runId)}/tasks/${encodeURIComponent(reference)}?visit=${visit}`;
  // Percent encoding leaves quotes alone, which would end the argument.
  const url = `${origin}${path}`.replaceAll("'", '%27');
  return `curl -H "Authorization: Bearer $TOKEN" '${url}'`;
}
