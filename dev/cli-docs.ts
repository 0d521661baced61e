/** The reference of the command line, and its list of commands, from their declarations. */
import type { Command, CommandContext, RouteMap } from '@stricli/core';

import { COMMAND_NAMES, createApp } from '../cli/app.ts';
import { commonFlags, flagName } from '../cli/core/flags.ts';

type Target = Command<CommandContext> | RouteMap<CommandContext>;
type Flag = NonNullable<Command<CommandContext>['parameters']['flags']>[string];
type Letters = Readonly<Partial<Record<string, string>>>;

const WIDTH = 108;

/** Everything below this heading is written from the declarations. */
const HEADING = '## Flags of every command\n';

/** @param current the document, whose part before the list of commands is written by hand */
export async function cliDocs(current: string): Promise<string> {
  const byHand = current.slice(0, current.indexOf(HEADING));
  const common = flagLines(commonFlags as unknown as Record<string, Flag>, { o: 'output', q: 'quiet' });
  const commands: string[] = [];
  for (const name of COMMAND_NAMES)
    commands.push(...commandsOf((await declared(name)).target, `cadenza ${name}`));
  return `${byHand}${HEADING}\n${common.join('\n')}\n\n## Commands\n\n${commands.join('\n\n')}\n`;
}

/** What `cadenza --help` lists: the source of cli/listed.ts. */
export async function cliList(): Promise<string> {
  const rows: string[] = [];
  for (const name of COMMAND_NAMES) {
    const { target, config } = await declared(name);
    const usage = target.formatUsageLine({ prefix: ['cadenza', name], config, ansiColor: false });
    rows.push(JSON.stringify({ name, usage: usage.split('|'), brief: target.brief }));
  }
  return [
    '/** All commands, as the help lists them without loading them. Written by `npm run cli-docs`. */',
    `export const LISTED = [${rows.join(',')}] as const;`,
  ].join('\n');
}

async function declared(name: (typeof COMMAND_NAMES)[number]) {
  const { root, config } = await createApp(name);
  const target = (root as unknown as RouteMap<CommandContext>).getRoutingTargetForInput(name);
  if (target === undefined) throw new Error(`No command ${name}`);
  return { target, config: config.documentation };
}

function* commandsOf(target: Target, path: string): Generator<string> {
  if (!('getAllEntries' in target)) {
    yield commandSection(target, path);
    return;
  }
  for (const { name, target: inner, hidden } of target.getAllEntries())
    if (!hidden) yield* commandsOf(inner, `${path} ${name['convert-camel-to-kebab']}`);
}

function commandSection(command: Command<CommandContext>, path: string): string {
  const { flags = {}, aliases = {}, positional } = command.parameters;
  const own = Object.fromEntries(Object.entries(flags).filter(([name]) => !(name in commonFlags)));
  const parameters = positionalsOf(positional);
  const usage = [path, ...parameters.map(({ usage: text }) => text)].join(' ');
  const parts = [
    `### ${path}`,
    `\`${usage}\``,
    wrap((command.fullDescription ?? `${command.brief}.`).replaceAll('<', '\\<'), ''),
    [...parameters.map(({ line }) => line), ...flagLines(own, aliases)].join('\n'),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

interface Positional {
  usage: string;
  line: string;
}

function positionalsOf(positional: Command<CommandContext>['parameters']['positional']): Positional[] {
  if (positional === undefined) return [];
  const isArray = positional.kind === 'array';
  const all = isArray ? [positional.parameter] : positional.parameters;
  return all.map(({ placeholder = 'ARG', brief, optional }) => {
    const name = `${placeholder}${isArray ? '…' : ''}`;
    const isOptional = optional === true || (isArray && (positional.minimum ?? 0) === 0);
    return { usage: isOptional ? `[${name}]` : name, line: wrap(`- \`${placeholder}\`: ${brief}`, '  ') };
  });
}

function flagLines(flags: Readonly<Record<string, Flag>>, letters: Letters): string[] {
  return Object.entries(flags).map(([name, given]) => {
    const letter = Object.entries(letters).find(([, flag]) => flag === name)?.[0];
    const word = flagName(name);
    const value = 'values' in given ? given.values.join('|') : given.placeholder;
    const shown = [letter === undefined ? word : `-${letter}, ${word}`, ...(value ? [value] : [])].join(' ');
    const many = 'variadic' in given && given.variadic ? ' (repeatable)' : '';
    return wrap(`- \`${shown}\`: ${given.brief}${many}`, '  ');
  });
}

/** Breaks lines between words, with `indent` before all but the first. */
function wrap(text: string, indent: string): string {
  return text
    .split('\n')
    .map((line) => {
      const lines: string[] = [];
      for (const word of line.split(' ')) {
        const last = lines.at(-1);
        if (last !== undefined && last.length + word.length + 1 <= WIDTH)
          lines[lines.length - 1] = `${last} ${word}`;
        else lines.push(last === undefined ? word : `${indent}${word}`);
      }
      return lines.join('\n');
    })
    .join('\n');
}
