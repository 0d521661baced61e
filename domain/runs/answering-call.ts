/** Which call of a run writes the text that the run gives as its output. */
import { agentKind } from '../../contracts/agent-configuration.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { escapeToken } from '../../contracts/json-pointer.ts';
import type { EntityManager } from '../../db/orm.ts';
import { resolveCallee } from '../../language/definition/call-function.ts';
import type { PinnedAgent } from '../ports.ts';
import { pinKey } from './pins.ts';

/** Kinds whose answer is the text that they produce while they run. */
const WRITERS: ReadonlySet<string> = new Set(['llm', 'vision', 'a2a']);

/**
 * The JSON pointer of the run's last task, if it calls an agent whose text is the run's output as it is; null
 * if the output may be another.
 */
export async function findAnsweringCall(em: EntityManager, runId: string): Promise<string | null> {
  const [run] = await em.execute<{ definition: unknown }[]>('select definition from run where id = ?', [
    runId,
  ]);
  const last = run && lastCall(run.definition);
  if (!last) return null;
  const [pin] = await em.execute<{ snapshot: PinnedAgent }[]>(
    'select snapshot from run_pin where run_id = ? and reference = ?',
    [runId, last.reference],
  );
  const isFree = pin && Object.keys(pin.snapshot.output_schema).length === 0;
  return isFree && WRITERS.has(agentKind(pin.snapshot)) ? last.pointer : null;
}

/** The last task, if nothing changes its output. */
function lastCall(definition: unknown): { pointer: string; reference: string } | null {
  if (!isRecord(definition) || definition['output'] !== undefined || !Array.isArray(definition['do']))
    return null;
  const index = definition['do'].length - 1;
  const item: unknown = definition['do'][index];
  const [name, task] = (isRecord(item) ? Object.entries(item)[0] : undefined) ?? [];
  if (name === undefined || !isRecord(task) || task['output'] !== undefined) return null;
  const { call, with: given } = task;
  const { use } = definition;
  const functions = isRecord(use) && isRecord(use['functions']) ? use['functions'] : undefined;
  const callee = typeof call === 'string' ? resolveCallee(call, functions) : undefined;
  if (callee?.kind !== 'builtin' || callee.name !== 'agent' || !isRecord(given)) return null;
  const { agent, version } = given;
  if (typeof agent !== 'string') return null;
  return {
    pointer: `/do/${index}/${escapeToken(name)}`,
    reference: pinKey({ agent, ...(typeof version === 'string' ? { version } : {}) }),
  };
}

/** Whether a task of this pointer is the call, or a turn of its model. */
export function isOfCall(call: string | null, task: string): boolean {
  return call !== null && (task === call || task === `${call}/model`);
}
