import type { ForTask } from '../../../language/definition/model.ts';
import { evaluate, isTrue, resolve, type At } from '../data-flow.ts';
import type { Env, Execution, Outcome, Task } from '../execution.ts';
import { mustYield } from '../effort.ts';
import { fault } from '../fault.ts';
import { pointer } from '../pointer.ts';
import { listFrame, runList } from '../run-list.ts';

/**
 * dsl-reference.md "For": `while` is evaluated before each iteration; the output of an iteration is the input
 * of the next.
 */
export async function runFor(
  execution: Execution,
  definition: ForTask,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const loop = (task.frame.loop ??= { items: itemsOf(definition, input, at), index: 0, data: input });
  const { each = 'item', at: indexName = 'index' } = definition.for;
  while (loop.index < loop.items.length) {
    while (mustYield()) await execution.yieldTask();
    const variables = { ...task.env.variables, [each]: loop.items[loop.index], [indexName]: loop.index };
    if (!loop.list && definition.while !== undefined) {
      const scope = { ...at.variables, ...variables, context: task.env.scope.context };
      if (!isTrue(definition.while, loop.data, { ref: task.ref, variables: scope })) break;
    }
    loop.list ??= listFrame(loop.data);
    const env: Env = { ...task.env, variables };
    const { output, end } = await runList(execution, definition.do, pointer(task.ref, 'do'), loop.list, env);
    loop.data = output;
    if (end) return { output, then: 'end' };
    delete loop.list;
    loop.index++;
  }
  return { output: loop.data };
}

function itemsOf(definition: ForTask, input: unknown, at: At): unknown[] {
  const { in: source } = definition.for;
  const items = typeof source === 'string' ? evaluate(source, input, at) : resolve(source, input, at);
  if (Array.isArray(items)) return items;
  throw fault(
    'expression',
    `for.in must give an array, not ${items === null ? 'null' : typeof items}`,
    at.ref,
  );
}
