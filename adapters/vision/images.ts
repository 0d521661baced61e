/** The images of an invocation: found in its input, loaded by us, checked by their content. */
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { callBudget } from '../../language/expression-budget.ts';
import type { AgentCall } from '../../domain/ports.ts';
import { compile } from '../../language/expressions/index.ts';
import { reserveAnswer } from '../egress/answer-memory.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { fileOf, readGiven, splitFiles, type GivenFile } from '../files/given-files.ts';
import { textWithFiles, type FilePart } from '../llm/llm-files.ts';

const MAX_IMAGES = 20;
const MAX_IMAGE_BYTES = 10 * 1024 * 1024;
const MAX_TOTAL_BYTES = 16 * 1024 * 1024;

/** What all providers take, by the first bytes. */
const SIGNATURES: readonly [string, (bytes: Buffer) => boolean][] = [
  ['image/png', (bytes) => bytes.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', (bytes) => bytes.subarray(0, 3).toString('hex') === 'ffd8ff'],
  ['image/gif', (bytes) => /^GIF8[79]a/.test(bytes.subarray(0, 6).toString('latin1'))],
  ['image/webp', (bytes) => /^RIFF[^]{4}WEBP/.test(bytes.subarray(0, 12).toString('latin1'))],
];

/**
 * `expression` is jq that gives the images; without it they are all files of the input. `rest` is what the
 * input says beside them. Throws `Fault`: expression, or validation if there are none or too many.
 */
export function imagesGiven(
  input: unknown,
  expression: string | undefined,
): { images: GivenFile[]; rest: unknown } {
  const { files, rest } = splitFiles(input);
  const images = expression === undefined ? files : imagesChosen(input, expression);
  if (images.length === 0) throw fault('validation', 'The input has no image');
  if (images.length > MAX_IMAGES)
    throw fault(
      'validation',
      `The input has ${images.length} images; at most ${MAX_IMAGES} can be sent at once`,
    );
  return { images, rest: textOf(rest) };
}

function imagesChosen(input: unknown, expression: string): GivenFile[] {
  const source = /^\s*\$\{([\s\S]*)\}\s*$/.exec(expression)?.[1] ?? expression;
  let value: unknown;
  try {
    value = compile(`[${source}\n] | flatten`).first(input, callBudget().options);
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    throw fault('expression', `"images" of the agent's configuration cannot be evaluated: ${reason}`, {
      cause: error,
    });
  }
  const chosen = Array.isArray(value) ? value.filter((item) => item !== null) : [];
  return chosen.map((item) => {
    const file = fileOf(item, true);
    if (file === null)
      throw fault(
        'validation',
        '"images" of the agent\'s configuration gives a value that is neither a file nor a URL',
      );
    return file;
  });
}

/** As `messages` take it: the text of `{text, data}`, the form of A2A messages, else the value itself. */
function textOf(rest: unknown): unknown {
  if (rest === undefined) return '';
  const isMessage = isRecord(rest) && typeof rest['text'] === 'string' && !('files' in rest);
  return isMessage ? textWithFiles({ ...rest, files: [] }) : rest;
}

/** Throws `Fault` (validation) for what is no image, and above the limits. */
export async function loadImages(
  images: readonly GivenFile[],
  { files, signal, timeoutMs }: AgentCall,
  egress: EgressPolicy,
): Promise<FilePart[]> {
  const startedAt = performance.now();
  const parts: FilePart[] = [];
  let left = MAX_TOTAL_BYTES;
  for (const [index, image] of images.entries()) {
    if (left <= 0) throw tooMuch();
    const { name, media_type, bytes } = await readGiven(image, {
      files,
      egress,
      signal,
      timeoutMs: Math.max(1, Math.round(timeoutMs - (performance.now() - startedAt))),
      maxBytes: MAX_IMAGE_BYTES,
    });
    left -= bytes.length;
    if (left < 0) throw tooMuch();
    await reserveAnswer(bytes.length, signal);
    const mediaType = SIGNATURES.find(([, matches]) => matches(bytes))?.[0];
    if (mediaType === undefined)
      throw fault(
        'validation',
        `Image ${index + 1} (${name}, ${media_type}) is neither PNG, JPEG, GIF nor WebP`,
      );
    parts.push({ type: 'file', data: bytes, mediaType, filename: name });
  }
  return parts;
}

function tooMuch(): Error {
  return fault(
    'validation',
    `The images have more than ${MAX_TOTAL_BYTES / 1024 / 1024} MiB together, which is the limit`,
  );
}
