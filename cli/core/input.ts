/** What the user gives a command: files, standard input, `name=value` pairs, answers to questions. */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

import { isRecord } from '../../contracts/is-record.ts';
import type { YamlText } from '../../language/yaml/read-yaml.ts';
import type { Cli, Surroundings } from './cli.ts';
import { CliError, usageError } from './errors.ts';
import { oneLine } from './text.ts';
import { unreadable } from './unreadable.ts';

/** Text of a file; `-` is standard input. */
export async function readText(cli: Cli, path: string): Promise<string> {
  if (path === '-') return readAll(cli.surroundings.stdin);
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** JSON or YAML. */
export async function readDocument(cli: Cli, path: string): Promise<unknown> {
  return parseDocument(await readText(cli, path), path === '-' ? 'standard input' : path);
}

export async function parseDocument(source: string, name: string): Promise<unknown> {
  return (await parseText(source, name)).value;
}

/** The value and the place of each part. JSON, which may be larger than YAML, has no places then. */
export async function parseText(
  source: string,
  name: string,
): Promise<Pick<YamlText, 'value'> & Partial<YamlText>> {
  const { MAX_YAML_CHARACTERS, readYaml, YamlError } = await import('../../language/yaml/read-yaml.ts');
  if (source.length > MAX_YAML_CHARACTERS && /^\s*[[{]/.test(source))
    return { value: parseJson(source, name) };
  try {
    return readYaml(source);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const { line, column } = error.place;
    throw new CliError(`${name}:${line}:${column}: ${error.message}.`, { code: 'file_unreadable' });
  }
}

function parseJson(source: string, name: string): unknown {
  try {
    return JSON.parse(source);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliError(`${name} is no JSON: ${reason}`, { code: 'file_unreadable' });
  }
}

/** A definition in a file: its text, which the server keeps, and its value. */
export interface DefinitionFile extends Partial<YamlText> {
  text: string;
  definition: Record<string, unknown>;
}

export async function readDefinition(cli: Cli, path: string): Promise<DefinitionFile> {
  return definitionIn(await readText(cli, path), path === '-' ? 'standard input' : path);
}

export async function definitionIn(text: string, name: string): Promise<DefinitionFile> {
  const { value, placeOf } = await parseText(text, name);
  if (!isRecord(value)) throw new CliError(`${name} is no object.`, { code: 'file_unreadable' });
  return { text, definition: value, ...(placeOf ? { placeOf } : {}) };
}

/** What is sent of it: YAML as it is written, because the server keeps it; JSON as its value. */
export const sentDefinition = ({
  text,
  definition,
}: Pick<DefinitionFile, 'text' | 'definition'>): Record<string, unknown> | string =>
  /^\s*\{/.test(text) ? definition : text;

export async function readRecord(cli: Cli, path: string): Promise<Record<string, unknown>> {
  const value = await readDocument(cli, path);
  if (!isRecord(value)) throw new CliError(`${path} is no object.`, { code: 'file_unreadable' });
  return value;
}

async function readAll(stdin: Surroundings['stdin']): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString('utf8');
}

/** A password from standard input if `--password-stdin` is given, else it is asked for. */
export const readPassword = async (cli: Cli, isOnStdin: boolean | undefined): Promise<string> =>
  isOnStdin === true
    ? readSecret(cli)
    : ask(cli, 'Password: ', { hidden: true, instead: '--password-stdin' });

/** A password, and on the next line of standard input the code of a second factor with `--code-stdin`. */
export async function readPasswordAndCode(
  cli: Cli,
  { passwordStdin, codeStdin }: { passwordStdin: boolean | undefined; codeStdin: boolean | undefined },
): Promise<{ password: string; code?: string }> {
  if (codeStdin !== true) return { password: await readPassword(cli, passwordStdin) };
  const [password = '', code = '', ...more] = (await readSecret(cli)).split(/\r?\n/);
  if (password === '' || code.trim() === '' || more.length > 0)
    throw usageError('Standard input must have two lines: the password and the code.');
  return { password, code };
}

/** A secret from standard input, without the line end that `echo` adds. */
export async function readSecret(cli: Cli): Promise<string> {
  const value = (await readAll(cli.surroundings.stdin)).replace(/\r?\n$/, '');
  if (value === '') throw usageError('Standard input is empty.');
  return value;
}

interface AskOptions {
  hidden?: boolean;
  /** The flag that needs no terminal. */
  instead?: string;
}

/** Asks on stderr, because stdout is for data. @throws CliError without a terminal */
export async function ask(
  cli: Cli,
  question: string,
  { hidden = false, instead }: AskOptions = {},
): Promise<string> {
  if (!cli.isInteractive) {
    const hint = instead === undefined ? '' : ` Without one, use ${instead}.`;
    throw usageError(`This needs a terminal, to ask for: ${question.replace(/:? *$/, '')}.${hint}`);
  }
  const { stdin, stderr } = cli.surroundings;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  if (hidden) stderr.write(question);
  const lines = createInterface({ input: stdin, output: hidden ? silent : stderr, terminal: true });
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return await lines.question(hidden ? '' : question, { signal: cli.signal });
  } finally {
    lines.close();
    if (hidden) stderr.write('\n');
  }
}

export async function confirm(cli: Cli, question: string, yes: boolean | undefined): Promise<void> {
  if (yes === true) return;
  if (!cli.isInteractive) throw usageError(`${question} Confirm it with --yes.`);
  // It may quote names that other people gave.
  if (!/^y(es)?$/i.test((await ask(cli, `${oneLine(question)} [y/N] `)).trim()))
    throw new CliError('Nothing was changed.', { code: 'not_confirmed' });
}
