/** What an invocation in a container returns. */
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { FileReference } from '../../domain/ports.ts';
import { FOLDER } from '../sandbox/container-files.ts';
import type { FilesOut } from '../sandbox/process-files.ts';

/** In `/files/out`; `CADENZA_OUTPUT_FILE` names it. */
export const OUTPUT_FILE = 'output';
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_DEPTH = 200;

export interface AgentOutput {
  /** Takes each file of `/files/out`. */
  take(name: string, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  /**
   * JSON, else text. The path of a file that the container left becomes its reference. Files that the output
   * does not name become its `files`.
   */
  of(stdout: string): unknown;
}

/** @param fromFile whether a file is the output, and not standard output */
export function createAgentOutput(fromFile: boolean, out: FilesOut): AgentOutput {
  const references = new Map<string, FileReference>();
  let content: string | null = null;
  return {
    async take(name, chunks) {
      if (fromFile && name === OUTPUT_FILE) {
        content = await textIn(chunks);
        return;
      }
      const before = out.files.length;
      await out.take(name, chunks);
      const stored = out.files.at(before) ?? out.files.find((file) => file.name === name);
      if (stored !== undefined) references.set(`${FOLDER}/out/${name}`, stored);
    },
    of(stdout) {
      if (fromFile && content === null)
        throw fault('runtime', `The container left no ${FOLDER}/out/${OUTPUT_FILE} (CADENZA_OUTPUT_FILE)`);
      const named = new Set<FileReference>();
      const value = withReferences(parsed(content ?? stdout), references, named, 0);
      return withFiles(
        value,
        [...references.values()].filter((file) => !named.has(file)),
      );
    },
  };
}

async function textIn(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES)
      throw fault('runtime', `${FOLDER}/out/${OUTPUT_FILE} has more than ${MAX_BYTES} bytes`);
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString('utf8');
}

function parsed(text: string): unknown {
  const trimmed = text.trimEnd();
  if (trimmed === '') return null;
  try {
    return JSON.parse(trimmed);
  } catch {
    return trimmed;
  }
}

function withReferences(
  value: unknown,
  references: ReadonlyMap<string, FileReference>,
  named: Set<FileReference>,
  depth: number,
): unknown {
  if (references.size === 0) return value;
  if (depth > MAX_DEPTH)
    throw fault('runtime', `The output of the container is nested more than ${MAX_DEPTH} levels deep`);
  if (typeof value === 'string') {
    const file = references.get(value);
    if (file !== undefined) named.add(file);
    return file ?? value;
  }
  const inner = (one: unknown): unknown => withReferences(one, references, named, depth + 1);
  if (Array.isArray(value)) return value.map(inner);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inner(one)]));
}

function withFiles(value: unknown, files: FileReference[]): unknown {
  if (files.length === 0) return value;
  if (value === null) return { files };
  if (typeof value === 'string') return { text: value, files };
  return isRecord(value) && !Object.hasOwn(value, 'files') ? { ...value, files } : { data: value, files };
}
