/** The editor's worker: reads, checks and lays out texts, and evaluates expressions, beside the page. */
import { isRecord } from '../../../../contracts/is-record.ts';
import type { Checked, Format, Reply, Request } from './checks.ts';
import { checkText } from './check.ts';
import { layOutJson, readJson } from './json-text.ts';

/** YAML and the evaluation of expressions are loaded when they are first needed. */
const yaml = () => import('./yaml-text.ts');
const yamlWriter = () => import('../../../../language/yaml/write-yaml.ts');
const evaluation = () => import('./evaluate.ts');

addEventListener('message', ({ data }: MessageEvent<Request>) => {
  const { id } = data;
  answer(data).then(
    (result) => reply({ id, answer: result }),
    (error: unknown) => reply({ id, error: error instanceof Error ? error.message : String(error) }),
  );
});

function reply(message: Reply): void {
  postMessage(message);
}

async function answer(request: Request): Promise<unknown> {
  switch (request.kind) {
    case 'check':
      return check(request);
    case 'layOut':
      return layOut(request);
    case 'write':
      return write(request.value, request.format);
    case 'hasComments':
      return (await yaml()).hasComments(request.text);
    case 'evaluate':
      return (await evaluation()).evaluate(request.expression, request.input);
  }
}

async function check({ text, format, name, known }: Extract<Request, { kind: 'check' }>): Promise<Checked> {
  const read = format === 'json' ? readJson : (await yaml()).readYaml;
  const started = performance.now();
  const checked = checkText(read(text), name, known);
  const tookMs = performance.now() - started;
  const isYaml = checked.definition === undefined && format === 'json' && (await isYamlDefinition(text));
  return { ...checked, ...(isYaml ? { isIn: 'yaml' as const } : {}), tookMs };
}

/** JSON that is not finished is no YAML either. */
async function isYamlDefinition(text: string): Promise<boolean> {
  if (/^\s*[{["]/.test(text)) return false;
  const { value } = (await yaml()).readYaml(text);
  return isRecord(value);
}

async function layOut({ text, from, to }: Extract<Request, { kind: 'layOut' }>): Promise<string | null> {
  if (from === to) {
    if (from === 'yaml') return (await yaml()).layOutYaml(text);
    return readJson(text).value === undefined ? null : layOutJson(text);
  }
  const { value } = from === 'json' ? readJson(text) : (await yaml()).readYaml(text);
  return value === undefined ? null : write(value, to);
}

async function write(value: unknown, format: Format): Promise<string> {
  return format === 'json' ? `${JSON.stringify(value, null, 2)}\n` : (await yamlWriter()).writeYaml(value);
}
