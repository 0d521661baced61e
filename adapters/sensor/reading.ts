/** What a message of a device means: JSON, a text, or bytes, which become a file. */
import { fault } from '../../contracts/fault.ts';
import { compile } from '../../language/expressions/index.ts';
import { callBudget } from '../../language/expression-budget.ts';
import type { CallFiles } from '../../domain/ports.ts';
import { isTextual } from '../http/media-types.ts';
import type { Sensitive } from '../secrets/sensitive.ts';

export interface Message {
  topic: string;
  payload: Uint8Array;
  /** As the device declares it (MQTT 5 §3.3.2.3.9). */
  contentType: string | undefined;
  at: Date;
}

/** Of one call. */
const MAX_FILES = 100;

/** Takes the value out of each message of one call. Throws `Fault`. */
export function createReader(
  { value: source, files }: { value: string | undefined; files: CallFiles | undefined },
  sensitive: Sensitive,
): (message: Message) => Promise<unknown> {
  const rule = source === undefined ? null : ruleOf(source);
  let stored = 0;
  return async (message) => {
    const content = contentOf(message);
    if (content === undefined) {
      stored += 1;
      if (stored > MAX_FILES)
        throw fault('communication', `The device sent more than ${MAX_FILES} files`, { status: 502 });
      return fileOf(message, files, sensitive);
    }
    if (rule === null) return content;
    try {
      // Redact before the rule as well, because the rule could cut a secret into unrecognisable pieces.
      return rule.first(sensitive.clean(content), callBudget().options) ?? null;
    } catch (error) {
      throw fault(
        'expression',
        `"value" of the agent's configuration cannot be evaluated: ${messageOf(error)}`,
        { cause: error },
      );
    }
  };
}

function ruleOf(source: string): ReturnType<typeof compile> {
  try {
    return compile(/^\s*\$\{([\s\S]*)\}\s*$/.exec(source)?.[1] ?? source);
  } catch (error) {
    throw fault('configuration', `"value" of the agent's configuration is not jq: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}

/** Undefined: neither JSON nor text. */
function contentOf({ payload, contentType }: Message): unknown {
  if (contentType !== undefined && !isTextual(essence(contentType))) return undefined;
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(payload);
  } catch {
    return undefined;
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function essence(contentType: string): string {
  return contentType.split(';')[0]?.trim().toLowerCase() ?? '';
}

async function fileOf(
  { topic, payload, contentType }: Message,
  files: CallFiles | undefined,
  sensitive: Sensitive,
): Promise<unknown> {
  if (files === undefined)
    throw fault('communication', 'The device sent bytes, which are no text', { status: 502 });
  const name = topic.split('/').findLast((level) => level !== '') ?? 'reading';
  const type = contentType === undefined ? '' : essence(contentType);
  return sensitive.cleanFiles(files).store(payload, {
    name,
    media_type: /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(type) ? type : 'application/octet-stream',
  });
}
