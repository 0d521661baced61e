/** Drawings of workflows and runs. */
import type { Cli } from './cli.ts';
import { flag } from './flags.ts';

export const diagramFlags = { svg: flag('SVG instead of Mermaid') };

export async function draw(
  cli: Cli,
  operation: 'getWorkflowDiagram' | 'getRunDiagram',
  id: string,
  { svg = false }: { svg?: boolean | undefined },
): Promise<void> {
  const accept = svg ? 'image/svg+xml' : 'text/vnd.mermaid, text/plain;q=0.9';
  cli.out.text(await cli.client.call(operation, { path: { id }, headers: { accept }, signal: cli.signal }));
}
