import { Fault } from '../../contracts/fault.ts';
import type { AgentCall } from '../../domain/ports.ts';

/** A failure on our side while talking to the agent, not the agent's. */
export class OwnFailure extends Error {
  constructor(cause: unknown) {
    super('a failure of our own', { cause });
  }
}

/**
 * Marks failures of the platform's files and of the stored progress. They are not failures of the agent:
 * Temporal has to repeat the call, and workflows must not catch them.
 */
export function markOwnFailures(call: AgentCall): AgentCall {
  const { progress, files } = call;
  return {
    ...call,
    ...(progress ? { progress: { ...progress, keep: (value) => marked(progress.keep(value)) } } : {}),
    ...(files
      ? {
          files: {
            store: (content, file) => marked(files.store(content, file)),
            read: (id) => marked(files.read(id)),
            open: (id) => marked(files.open(id)),
            link: (id) => marked(files.link(id)),
          },
        }
      : {}),
  };
}

async function marked<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof Fault ? error : new OwnFailure(error);
  }
}
