/** What a command prints: data on stdout in the form that was asked for, words on stderr. */
import type { Writable } from 'node:stream';

import { CliError, EXIT } from './errors.ts';
import { escapeUnsafe, hasUnsafe, oneLine, painter, printable, safeJson, type Paint } from './text.ts';
import { detailLines, tableLines, type View } from './table.ts';

export const FORMATS = ['table', 'json', 'jsonl', 'yaml', 'name'] as const;
export type Format = (typeof FORMATS)[number];

export interface OutputOptions {
  stdout: Writable & { isTTY?: boolean; columns?: number };
  stderr: Writable & { isTTY?: boolean };
  /** Default: a table on a terminal, else JSON. */
  format?: Format | undefined;
  jq?: string | undefined;
  quiet: boolean;
  colored: boolean;
}

export class Output {
  readonly format: Format;
  readonly paint: Paint;
  /** Whether the user asked for a format that programs read. */
  readonly isForPrograms: boolean;
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.#options = options;
    const isTable = options.stdout.isTTY === true && options.jq === undefined;
    this.format = options.format ?? (isTable ? 'table' : 'json');
    this.isForPrograms = options.format !== undefined && options.format !== 'table';
    this.paint = painter(options.colored && options.stdout.isTTY === true);
  }

  /** Whether events are lines for people. */
  get hasLines(): boolean {
    return this.format === 'table' && this.#options.jq === undefined;
  }

  get columns(): number {
    return this.#options.stdout.columns ?? 0;
  }

  /** Words for people, on stderr. */
  say(text: string): void {
    if (!this.#options.quiet) this.#options.stderr.write(`${printable(text)}\n`);
  }

  /** Data that is text already, such as a diagram. */
  text(text: string): void {
    this.#write(printable(text));
  }

  /** The text of a file: exactly, unless a terminal would act on it. */
  exact(text: string): void {
    const isTerminal = this.#options.stdout.isTTY === true;
    this.#options.stdout.write(isTerminal ? printable(text.replaceAll('\r\n', '\n')) : text);
  }

  /** Lines of a stream, exactly. Resolves when they are handed over. */
  async lines(lines: readonly string[]): Promise<void> {
    const { stdout } = this.#options;
    const text = lines.map((line) => `${stdout.isTTY === true ? printable(line) : line}\n`).join('');
    await new Promise<void>((resolve, reject) =>
      stdout.write(text, (error) => (error ? reject(error) : resolve())),
    );
  }

  /** Part of a text, as it arrives. */
  raw(text: string): void {
    this.#options.stdout.write(printable(text));
  }

  async list<T>(rows: readonly T[], view: View<T>): Promise<void> {
    if (this.#options.jq !== undefined) return this.#filtered(rows);
    switch (this.format) {
      case 'table':
        if (rows.length === 0) return this.say(view.none ?? 'Nothing found.');
        for (const line of tableLines(rows, view, this.columns, this.paint)) this.#write(line);
        return;
      case 'name':
        for (const row of rows) this.#write(oneLine(view.name(row)));
        return;
      case 'json':
        return this.#write(safeJson(rows, 2));
      case 'jsonl':
        for (const row of rows) this.#write(safeJson(row));
        return;
      case 'yaml':
        return this.#write(await safeYaml(rows));
    }
  }

  async record<T>(record: T, view: View<T>): Promise<void> {
    if (this.#options.jq !== undefined) return this.#filtered(record);
    switch (this.format) {
      case 'table': {
        const lines = view.lines?.(record, this.paint) ?? detailLines(record, view, this.paint);
        for (const line of lines) this.#write(line);
        return;
      }
      case 'name':
        return this.#write(oneLine(view.name(record)));
      case 'json':
        return this.#write(safeJson(record, 2));
      case 'jsonl':
        return this.#write(safeJson(record));
      case 'yaml':
        return this.#write(await safeYaml(record));
    }
  }

  /** Any JSON value; a table of it is its YAML. */
  async value(value: unknown): Promise<void> {
    if (this.#options.jq !== undefined) return this.#filtered(value);
    if (this.format === 'table' || this.format === 'yaml') return this.#write(await safeYaml(value));
    this.#write(safeJson(value, this.format === 'json' ? 2 : undefined));
  }

  /** One of a stream: a line of text for people, else a line of JSON. */
  async event(value: unknown, line: () => string): Promise<void> {
    if (this.#options.jq !== undefined) return this.#filtered(value);
    if (this.format === 'table') this.#write(line());
    else if (this.format === 'yaml') this.#write(`---\n${await safeYaml(value)}`);
    else this.#write(safeJson(value));
  }

  /** As `gh` and `jq -r` print: texts as they are, everything else as JSON. */
  async #filtered(value: unknown): Promise<void> {
    for (const result of await evaluate(this.#options.jq ?? '.', value))
      this.#write(typeof result === 'string' ? printable(result) : safeJson(result));
  }

  #write(text: string): void {
    this.#options.stdout.write(`${text}\n`);
  }
}

/** @throws CliError for an expression that is wrong or fails */
export async function evaluate(
  source: string,
  input: unknown,
  variables: Record<string, unknown> = {},
): Promise<unknown[]> {
  const { compile, ExpressionError } = await import('../../language/expressions/index.ts');
  try {
    const program = compile(source, { variables: Object.keys(variables) });
    return program.all(input, { variables, clock: () => new Date() });
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const exitCode = error.kind === 'compile' ? EXIT.usage : EXIT.failed;
    const { message, line, column } = error;
    const place = `line ${line}, column ${column}`;
    throw new CliError(`jq: ${message} (${place})`, { code: 'expression_failed', exitCode });
  }
}

export async function safeYaml(value: unknown): Promise<string> {
  const yaml = await import('yaml');
  const document = new yaml.Document(value, { aliasDuplicateObjects: false });
  yaml.visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value === 'string' && hasUnsafe(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  return escapeUnsafe(document.toString({ lineWidth: 0 }).trimEnd());
}
