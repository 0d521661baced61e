import { isRecord } from '../../../contracts/is-record.ts';
import { at, own } from '../problems.ts';
import type { Checker } from '../checker.ts';
import { eventStrategy, iterator, readMode, taskBase } from '../common-shapes.ts';
import { checkExport, checkOutput } from '../data-flow.ts';
import { exact } from '../shape.ts';
import { unsupported } from '../support.ts';
import { inTask, type Kind } from './kind.ts';
import { declareVariables } from './variables.ts';

export const listenKind: Kind = {
  schema: exact({
    ...taskBase,
    listen: exact({ to: eventStrategy, read: readMode.optional() }),
    foreach: iterator.optional(),
  }),
  check(task, pointer, locals, checker) {
    unsupported(checker, at(pointer, 'listen'), 'listen');
    checkStrategy(own(task['listen'], 'to'), at(pointer, 'listen', 'to'), locals, checker);
    checkIterator(task['foreach'], at(pointer, 'foreach'), locals, checker);
  },
};

export function checkStrategy(
  strategy: unknown,
  pointer: string,
  locals: readonly string[],
  checker: Checker,
): void {
  if (!isRecord(strategy)) return;
  for (const [key, filters] of Object.entries(strategy)) {
    if (key === 'until' && typeof filters === 'string')
      checker.expression(filters, at(pointer, key), inTask(locals));
    else if (key === 'until') checkStrategy(filters, at(pointer, key), locals, checker);
    else if (Array.isArray(filters))
      for (const [index, filter] of filters.entries())
        checkFilter(filter, at(pointer, key, index), locals, checker);
    else checkFilter(filters, at(pointer, key), locals, checker);
  }
}

function checkFilter(filter: unknown, pointer: string, locals: readonly string[], checker: Checker): void {
  const attributes = own(filter, 'with');
  if (isRecord(attributes)) {
    for (const [key, value] of Object.entries(attributes))
      checker.text(value, at(pointer, 'with', key), inTask(locals));
  }
  const correlate = own(filter, 'correlate');
  if (!isRecord(correlate)) return;
  for (const [key, correlation] of Object.entries(correlate)) {
    checker.expression(own(correlation, 'from'), at(pointer, 'correlate', key, 'from'), inTask(locals));
    checker.text(own(correlation, 'expect'), at(pointer, 'correlate', key, 'expect'), inTask(locals));
  }
}

/** `foreach` of listen and of AsyncAPI subscriptions. */
export function checkIterator(
  foreach: unknown,
  pointer: string,
  locals: readonly string[],
  checker: Checker,
): void {
  if (!isRecord(foreach)) return;
  const inner = declareVariables(checker, pointer, locals, [
    { key: 'item', value: foreach['item'], fallback: 'item' },
    { key: 'at', value: foreach['at'], fallback: 'index' },
  ]);
  checker.tasks(foreach['do'], at(pointer, 'do'), inner);
  checkOutput(
    foreach['output'],
    at(pointer, 'output'),
    { site: 'output', locals: inner, secrets: 'refuse' },
    checker,
  );
  checkExport(foreach['export'], at(pointer, 'export'), inner, checker);
}
