/**
 * The output of a task while it is written: the artifact `output` grows by appended chunks, and the task's
 * own artifact replaces it at the end. A chunk has no place in the log, so a client that resumes a stream
 * waits for the whole artifact.
 */
import { accepts } from '../../contracts/a2a/modes.ts';
import { OUTPUT_ARTIFACT } from '../../contracts/a2a/content.ts';
import type { A2AUpdate } from '../../contracts/a2a/objects.ts';
import type { TaskRow } from '../../domain/a2a/task-row.ts';
import { findAnsweringCall, isOfCall } from '../../domain/runs/answering-call.ts';
import type { AppDeps } from '../deps.ts';
import { GrowingText, piecesOf } from '../protocol-calls/growing-text.ts';

export interface PartialArtifact {
  /** What has been written since the last call. */
  take(): A2AUpdate[];
  close(): void;
}

const NOTHING: PartialArtifact = { take: () => [], close() {} };

/** `woken` is called when there is something to take. */
export async function partialArtifact(
  { orm, partialFeeds }: Pick<AppDeps, 'orm' | 'partialFeeds'>,
  { id, context_id: contextId, accepted_output_modes: modes }: TaskRow,
  woken: () => void,
): Promise<PartialArtifact> {
  if (modes.length > 0 && !accepts(modes, 'text/plain')) return NOTHING;
  const answering = await findAnsweringCall(orm.em.fork(), id);
  if (answering === null) return NOTHING;
  await partialFeeds.ready();
  const feed = partialFeeds.join(id, woken);
  const growing = new GrowingText();
  let isBegun = false;
  const chunkOf = (text: string): A2AUpdate => {
    const artifact = { ...OUTPUT_ARTIFACT, parts: [{ text, mediaType: 'text/plain' }] };
    const append = isBegun;
    isBegun = true;
    return { artifactUpdate: { taskId: id, contextId, artifact, append, lastChunk: false } };
  };
  return {
    take: () =>
      piecesOf(feed.take())
        .filter(({ task }) => isOfCall(answering, task))
        .map((piece) => growing.add(piece))
        .filter((text) => text !== '')
        .map(chunkOf),
    close: () => feed.close(),
  };
}
