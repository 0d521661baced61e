/** How the input of an invocation gets into its container. */
import type { DockerConfiguration } from '../../contracts/agent-kinds/docker.ts';
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { ContainerAgentCall } from '../../domain/ports.ts';
import { completed, referencesIn } from '../files/file-references.ts';
import { FOLDER, namesOf } from '../sandbox/container-files.ts';
import type { SandboxFile } from '../sandbox/container-spec.ts';
import type { SandboxCall } from '../sandbox/containers.ts';
import { MAX_FILES_IN, once, opened, referenceOf } from '../sandbox/process-files.ts';
import { environmentOf, textOf } from '../sandbox/texts.ts';
import type { Sensitive } from '../secrets/sensitive.ts';
import { renderTemplate } from '../secrets/templates.ts';
import { OUTPUT_FILE } from './agent-output.ts';

const INPUT_NAME = 'input.json';
/** The folder's name in a configuration asks for the folder. */
const MENTION = /\/files\/(?:in|out)(?![\w-])/;

type Given = Pick<SandboxCall, 'files' | 'stdin' | 'arguments' | 'env'>;

/**
 * JSON on standard input, in a file, or as arguments. Files of the input lie in `/files/in`; a reference to
 * one gets its `path`, and is only the path as an argument or in the environment. Throws `Fault`.
 */
export async function inputOf(
  { input: mode = 'stdin', output, command, entrypoint, env }: DockerConfiguration,
  { input, files }: Pick<ContainerAgentCall, 'input' | 'files'>,
  sensitive: Sensitive,
): Promise<Given> {
  const ids = [...new Set(referencesIn(input).map(({ file_id: id }) => id.toLowerCase()))];
  if (ids.length > MAX_FILES_IN) throw fault('runtime', `A container gets at most ${MAX_FILES_IN} files`);
  const found = await Promise.all(ids.map((id) => opened(files, id)));
  const [inputName = INPUT_NAME, ...names] = namesOf([{ name: INPUT_NAME }, ...found]);
  const paths = new Map(ids.map((id, index) => [id, `${FOLDER}/in/${names[index] ?? ''}`]));
  const pathOf = (value: unknown): unknown => paths.get(referenceOf(value)?.toLowerCase() ?? '') ?? value;
  const text = JSON.stringify(
    (await completed(input, async (reference) => ({
      ...reference,
      path: paths.get(reference.file_id.toLowerCase()) ?? '',
    }))) ?? null,
  );
  const named = found.map((file, index): SandboxFile => ({ ...file, name: names[index] ?? file.name }));
  const inFile = mode === 'file';
  const mentions = MENTION.test(JSON.stringify([command, entrypoint, env]));
  const needsFolder = inFile || output === 'file' || ids.length > 0 || mentions;
  return {
    stdin: mode === 'stdin' ? text : null,
    arguments: [
      ...(Array.isArray(command) ? command.map((word) => sensitive.fill(textOf(word))) : []),
      ...(mode === 'args' ? argumentsOf(input, pathOf) : []),
    ],
    env: {
      ...environment(env, input, pathOf, sensitive),
      ...(inFile ? { CADENZA_INPUT_FILE: `${FOLDER}/in/${inputName}` } : {}),
      ...(output === 'file' ? { CADENZA_OUTPUT_FILE: `${FOLDER}/out/${OUTPUT_FILE}` } : {}),
    },
    files: needsFolder ? [...(inFile ? [fileOf(inputName, text)] : []), ...named] : null,
  };
}

function fileOf(name: string, text: string): SandboxFile {
  const bytes = Buffer.from(text);
  return { name, size: bytes.length, chunks: async () => once(bytes) };
}

/** One for each item of a list; any other input is one argument. */
function argumentsOf(input: unknown, pathOf: (value: unknown) => unknown): string[] {
  if (input === null || input === undefined) return [];
  return (Array.isArray(input) ? input : [input]).map((item: unknown) => textOf(pathOf(item)));
}

function environment(
  env: DockerConfiguration['env'],
  input: unknown,
  pathOf: (value: unknown) => unknown,
  sensitive: Sensitive,
): Record<string, string> {
  const rendered = renderTemplate(env, input, sensitive, 'env');
  if (!isRecord(rendered)) return {};
  const variables = Object.entries(rendered).filter(([, value]) => value !== null && value !== undefined);
  for (const [name] of variables)
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw fault('configuration', `${JSON.stringify(name)} is no name of a variable of the environment`);
  return environmentOf(Object.fromEntries(variables.map(([name, value]) => [name, pathOf(value)])));
}
