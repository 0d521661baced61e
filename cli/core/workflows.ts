/** How workflows, and the problems of their definitions, are shown. */
import type { DefinitionProblem, ListedWorkflow, Workflow } from '../../client/index.ts';
import type { Cli } from './cli.ts';
import { argument } from './command.ts';
import type { DefinitionFile } from './input.ts';
import { workflowId } from './names.ts';
import type { View } from './table.ts';
import { ago, oneLine } from './text.ts';

export const WORKFLOW = argument('WORKFLOW', 'Name or id', 'workflow');

export const workflowView: View<ListedWorkflow | Workflow> = {
  columns: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => name],
    ['revision', ({ revision }) => revision],
    ['valid', ({ valid }) => (valid ? 'yes' : 'no')],
    ['visibility', ({ visibility }) => visibility],
    ['changed', (workflow) => ago(workflow.updated_at)],
  ],
  name: ({ id }) => id,
  none: 'No workflows yet: cadenza workflow create FILE',
};

export async function readWorkflow(cli: Cli, given: string): Promise<Workflow> {
  return cli.client.call('getWorkflow', { path: { id: await workflowId(cli, given) }, signal: cli.signal });
}

/** `pay.yaml:4:7`, as editors and terminals open it. */
export const placeIn = (file: string, line: number | undefined, column: number | undefined): string =>
  line === undefined ? file : `${file}:${line}:${column ?? 1}`;

export function withPlaces(
  problems: readonly DefinitionProblem[],
  { placeOf }: Pick<DefinitionFile, 'placeOf'>,
): DefinitionProblem[] {
  return problems.map((problem) => (placeOf ? { ...problem, ...placeOf(problem.pointer) } : problem));
}

export const problemLines = (problems: readonly DefinitionProblem[], file?: string): string[] =>
  problems.map(({ severity, pointer, message, line, column }) => {
    const place = file === undefined || line === undefined ? '' : `${placeIn(file, line, column)}: `;
    return `${place}${severity} at ${pointer || '/'}: ${oneLine(message)}`;
  });

export function sayProblems(cli: Cli, problems: readonly DefinitionProblem[], file?: string): void {
  for (const line of problemLines(problems, file)) cli.say(line);
}
