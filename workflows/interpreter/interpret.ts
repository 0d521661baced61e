/** The workflow from its raw input to its output: dsl.md "Data Flow", steps 1, 2, 10, 11. */
import { transform, validate } from './data-flow.ts';
import type { At } from './data-flow.ts';
import { RUNTIME } from './execution.ts';
import type { Execution } from './execution.ts';
import { fault } from './fault.ts';
import { listFrame, runList } from './run-list.ts';
import { timeoutMs, withDeadline, workflowDescriptor } from './run-task.ts';

/** @throws DslFault what leaves the last `catch`; cancellation as Temporal's CancelledFailure. */
export async function interpret(x: Execution): Promise<unknown> {
  const { definition, state } = x;
  const at = (ref: string, more: Record<string, unknown> = {}): At => ({
    ref,
    variables: { workflow: workflowDescriptor(x), runtime: RUNTIME, ...more },
  });
  if (!state.root.list) {
    validate(definition.input?.schema, state.root.raw, 'The input', '/input');
    state.root.list = listFrame(transform(definition.input?.from, state.root.raw, at('/input')));
  }
  const { list } = state.root;
  const run = (): ReturnType<typeof runList> =>
    runList(x, definition.do, '/do', list, { scope: state.scope, variables: {}, attempt: 1 });
  const { output: raw } = definition.timeout === undefined ? await run() : await inTime(x, run, at('/timeout'));
  const output = transform(definition.output?.as, raw, at('/output', { context: state.scope.context }));
  validate(definition.output?.schema, output, 'The output', '/output');
  return output ?? null;
}

function inTime<T>(x: Execution, run: () => Promise<T>, at: At): Promise<T> {
  const { timeout } = x.definition;
  if (timeout === undefined) return run();
  x.state.deadline ??= Date.now() + timeoutMs(x, timeout, at);
  return withDeadline(x.state.deadline, run, () => fault('timeout', 'The workflow did not finish in time', '/timeout'));
}
