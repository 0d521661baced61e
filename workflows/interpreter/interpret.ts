/** Interprets the workflow from raw input to output: dsl.md "Data Flow", steps 1, 2, 10, 11. */
import { askAgain } from './ask-again.ts';
import { transform, validate, type At } from './data-flow.ts';
import { RUNTIME, type Execution } from './execution.ts';
import { fault } from './fault.ts';
import { listFrame, runList } from './run-list.ts';
import { timeoutMs, withDeadline, workflowDescriptor } from './run-task.ts';

/** @throws DslFault for an uncaught error; CancelledFailure of Temporal when cancelled */
export async function interpret(execution: Execution): Promise<unknown> {
  const { definition, state } = execution;
  if (state.asked_again) await askAgain(execution, state.asked_again);
  const at = (ref: string, more: Record<string, unknown> = {}): At => ({
    ref,
    variables: { workflow: workflowDescriptor(execution), runtime: RUNTIME, ...more },
  });
  if (!state.root.list) {
    validate(definition.input?.schema, state.root.raw, 'The input', '/input');
    state.root.list = listFrame(transform(definition.input?.from, state.root.raw, at('/input')));
  }
  const { list } = state.root;
  const run = (): ReturnType<typeof runList> =>
    runList(execution, definition.do, '/do', list, {
      scope: state.scope,
      variables: {},
      attempt: 1,
      strand: execution.strand,
    });
  const { output: raw } =
    definition.timeout === undefined ? await run() : await inTime(execution, run, at('/timeout'));
  const output = transform(definition.output?.as, raw, at('/output', { context: state.scope.context }));
  validate(definition.output?.schema, output, 'The output', '/output');
  return output ?? null;
}

function inTime<T>(execution: Execution, run: () => Promise<T>, at: At): Promise<T> {
  const { timeout } = execution.definition;
  if (timeout === undefined) return run();
  execution.state.deadline ??= Date.now() + timeoutMs(execution, timeout, at);
  return withDeadline(execution.state.deadline, run, () =>
    fault('timeout', 'The workflow did not finish in time', '/timeout'),
  );
}
