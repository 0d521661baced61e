/** The data set of an evaluation, from a stored file or from a body of CSV. */
import { issueText } from '../../../contracts/issue-texts.ts';
import type { Agent } from '../../../db/entities/agent.ts';
import type { EntityManager } from '../../../db/orm.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { AppError, invalid, type FieldError } from '../../../domain/errors.ts';
import type { EvaluationCase } from '../../../domain/evaluations/given.ts';
import { FileContentMissing, type FileStore } from '../../../domain/files/ports.ts';
import { getFile } from '../../../domain/files/service.ts';
import { parseJson, unstorable } from '../../middleware/body.ts';
import { CsvProblem, readCsv, type CellSchemas } from './csv.ts';
import { evaluationCase, evaluationCases, MAX_CASES } from './schemas.ts';

const MAX_BYTES = 4 * 1024 * 1024;

/** What tells how the cells of CSV are meant. */
export type EvaluatedAgent = Pick<Agent, 'input_schema' | 'output_schema'>;

/** @throws 404 for a file that the actor may not read; 422 for one that has no data set */
export async function readDataSet(
  em: EntityManager,
  store: FileStore,
  actor: Actor,
  fileId: string,
  agent: EvaluatedAgent,
): Promise<EvaluationCase[]> {
  const file = await getFile(em, actor, fileId);
  const refuse = refusalAt('/file_id');
  if (file.size > MAX_BYTES) throw refuse('too_big', `The file has more than ${MAX_BYTES} bytes.`);
  const content = file.size === 0 ? '' : await contentOf(store, file.id, refuse);
  const isCsv = file.media_type.startsWith('text/csv') || /\.csv$/i.test(file.name);
  return isCsv ? casesInCsv(content, agent, refuse) : casesIn(content, refuse);
}

/** @throws 422 */
export function casesOfBody(text: string, agent: EvaluatedAgent): EvaluationCase[] {
  return casesInCsv(text, agent, refusalAt(''));
}

type Refuse = (code: string, message: string) => AppError;

const refusalAt =
  (pointer: string): Refuse =>
  (code, message) => {
    const error: FieldError = { pointer, code, message };
    return invalid([error], message);
  };

async function contentOf(store: FileStore, id: string, refuse: Refuse): Promise<string> {
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of await store.open(id)) chunks.push(chunk);
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    if (error instanceof FileContentMissing)
      throw new AppError('gone', 'content_lost', 'The content of this file no longer exists.');
    if (error instanceof TypeError) throw refuse('encoding', 'The file is not text in UTF-8.');
    throw error;
  }
}

/** A JSON array, or a case on each line. @throws 422, which names the lines that are wrong */
function casesIn(content: string, refuse: Refuse): EvaluationCase[] {
  const parsed = (text: string, place: string): unknown => {
    try {
      return parseJson(text);
    } catch (error) {
      const reason = error instanceof AppError && error.code === 'too_deep' ? 'nested too deeply' : 'no JSON';
      throw refuse('syntax', `${place} is ${reason}.`);
    }
  };
  if (content.trimStart().startsWith('[')) return checked(parsed(content, 'The file'), refuse);
  const cases: { value: unknown; line: number }[] = [];
  for (const { text, line } of linesOf(content)) {
    if (text.trim() === '') continue;
    if (cases.length === MAX_CASES)
      throw refuse('invalid', `The file has more than ${MAX_CASES} cases: line ${line} is one too many.`);
    cases.push({ value: parsed(text, `Line ${line}`), line });
  }
  return checkedLines(cases, refuse);
}

/** One after the other, so that nobody splits a file that is refused for its length. */
function* linesOf(content: string): Generator<{ text: string; line: number }> {
  for (let line = 1, start = 0; start <= content.length; line += 1) {
    const end = content.indexOf('\n', start);
    const next = end === -1 ? content.length : end;
    yield { text: content.slice(start, next), line };
    start = next + 1;
  }
}

function casesInCsv(
  text: string,
  { input_schema: input, output_schema: output }: EvaluatedAgent,
  refuse: Refuse,
): EvaluationCase[] {
  const schemas: CellSchemas = { input, output };
  try {
    return checkedLines(readCsv(text, schemas, MAX_CASES), refuse);
  } catch (error) {
    throw error instanceof CsvProblem ? refuse('syntax', error.message) : error;
  }
}

function checkedLines(cases: readonly { value: unknown; line: number }[], refuse: Refuse): EvaluationCase[] {
  for (const { value, line } of cases) {
    const result = evaluationCase.safeParse(value, { error: issueText });
    if (result.success) continue;
    const [issue] = result.error.issues;
    throw refuse('invalid', `Line ${line}${pathOf(issue?.path ?? [])}: ${issue?.message ?? 'is no case'}`);
  }
  return checked(
    cases.map(({ value }) => value),
    refuse,
  );
}

function checked(cases: unknown, refuse: Refuse): EvaluationCase[] {
  // Before anything looks at each of them.
  if (Array.isArray(cases) && cases.length > MAX_CASES)
    throw refuse('invalid', `There are ${cases.length} cases, but at most ${MAX_CASES} are allowed.`);
  const [bad] = unstorable(cases);
  if (bad) throw refuse(bad.code, `Case ${bad.pointer}: ${bad.message}`);
  const result = evaluationCases.safeParse(cases, { error: issueText });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw refuse('invalid', `The cases${pathOf(issue?.path ?? [])}: ${issue?.message ?? 'are no data set'}`);
}

function pathOf(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part)}`).join('');
}
