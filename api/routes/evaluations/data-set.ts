/** The data set of an evaluation, from a stored file. */
import type { EntityManager } from '../../../db/orm.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { AppError, invalid, type FieldError } from '../../../domain/errors.ts';
import type { EvaluationCase } from '../../../domain/evaluations/given.ts';
import { FileContentMissing, type FileStore } from '../../../domain/files/ports.ts';
import { getFile } from '../../../domain/files/service.ts';
import { unstorable } from '../../middleware/body.ts';
import { evaluationCase, evaluationCases } from './schemas.ts';

const MAX_BYTES = 4 * 1024 * 1024;

/** @throws 404 for a file that the actor may not read; 422 for one that has no data set */
export async function readDataSet(
  em: EntityManager,
  store: FileStore,
  actor: Actor,
  fileId: string,
): Promise<EvaluationCase[]> {
  const file = await getFile(em, actor, fileId);
  if (file.size > MAX_BYTES) throw problem('too_big', `The file has more than ${MAX_BYTES} bytes.`);
  return casesIn(file.size === 0 ? '' : await contentOf(store, file.id));
}

async function contentOf(store: FileStore, id: string): Promise<string> {
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of await store.open(id)) chunks.push(chunk);
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    if (error instanceof FileContentMissing)
      throw new AppError('gone', 'content_lost', 'The content of this file no longer exists.');
    if (error instanceof TypeError) throw problem('encoding', 'The file is not text in UTF-8.');
    throw error;
  }
}

/** A JSON array, or a case on each line. @throws 422, which names the lines that are wrong */
function casesIn(content: string): EvaluationCase[] {
  if (content.trimStart().startsWith('[')) return checked(parsed(content, 'The file'));
  const lines = content.split('\n').map((line, index) => ({ line, number: index + 1 }));
  const cases = lines
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, number }) => {
      const value = parsed(line, `Line ${number}`);
      const result = evaluationCase.safeParse(value);
      if (result.success) return value;
      const [issue] = result.error.issues;
      throw problem(
        'invalid',
        `Line ${number}${pathOf(issue?.path ?? [])}: ${issue?.message ?? 'is no case'}`,
      );
    });
  return checked(cases);
}

function parsed(text: string, place: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw problem('syntax', `${place} is no JSON.`);
  }
}

function checked(cases: unknown): EvaluationCase[] {
  const [bad] = unstorable(cases);
  if (bad) throw problem(bad.code, `Case ${bad.pointer}: ${bad.message}`);
  const result = evaluationCases.safeParse(cases);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw problem('invalid', `The cases${pathOf(issue?.path ?? [])}: ${issue?.message ?? 'are no data set'}`);
}

function pathOf(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part)}`).join('');
}

function problem(code: string, message: string): AppError {
  const error: FieldError = { pointer: '/file_id', code, message };
  return invalid([error], message);
}
