import { isRecord } from '../../../contracts/is-record.ts';
import { isLiteralText, MAX_FILTERS, MAX_FILTERS_LENGTH } from '../../../contracts/listening.ts';
import { closest } from '../../../contracts/suggest.ts';
import { at, own, quote } from '../problems.ts';
import type { Checker } from '../checker.ts';
import { eventStrategy, iterator, readMode, taskBase } from '../common-shapes.ts';
import { checkExport, checkOutput } from '../data-flow.ts';
import { exact } from '../shape.ts';
import type { Place } from '../scope.ts';
import { inTask, type Kind } from './kind.ts';
import { declareVariables } from './variables.ts';

export const listenKind: Kind = {
  schema: exact({
    ...taskBase,
    listen: exact({ to: eventStrategy, read: readMode.optional() }),
    foreach: iterator.optional(),
  }),
  check(task, pointer, locals, checker) {
    checkStrategy(own(task['listen'], 'to'), at(pointer, 'listen', 'to'), inTask(locals), checker);
    checkIterator(task['foreach'], at(pointer, 'foreach'), locals, checker);
  },
};

export function checkStrategy(strategy: unknown, pointer: string, place: Place, checker: Checker): void {
  if (!isRecord(strategy)) return;
  if (JSON.stringify(strategy).length > MAX_FILTERS_LENGTH) {
    checker.problems.error(pointer, 'too_large', `may have at most ${MAX_FILTERS_LENGTH} characters of JSON`);
    return;
  }
  for (const [key, filters] of Object.entries(strategy)) {
    const where = at(pointer, key);
    if (key === 'until' && strategy['any'] === undefined)
      checker.problems.warning(where, 'ignored', '"until" counts only beside "any"');
    if (key === 'until' && typeof filters === 'string') checker.expression(filters, where, place);
    else if (key === 'until') checkStrategy(filters, where, place, checker);
    else if (!Array.isArray(filters)) checkFilter(filters, where, place, checker);
    else if (filters.length > MAX_FILTERS)
      checker.problems.error(where, 'too_many', `may have at most ${MAX_FILTERS} filters`);
    else if (filters.length === 0 && key === 'all')
      checker.problems.error(where, 'too_few', 'needs at least one filter');
    else
      for (const [index, filter] of filters.entries()) checkFilter(filter, at(where, index), place, checker);
  }
}

/** Those of every event but `id`, to which the name of many an extension is similar. */
const ATTRIBUTES = ['source', 'type', 'subject', 'time', 'data', 'datacontenttype', 'dataschema'];
const NOT_SUGGESTED = ['id', 'specversion'];

function checkFilter(filter: unknown, pointer: string, place: Place, checker: Checker): void {
  const attributes = own(filter, 'with');
  for (const [key, value] of isRecord(attributes) ? Object.entries(attributes) : []) {
    const where = at(pointer, 'with', key);
    if (!/^[a-z0-9]+$/.test(key))
      checker.problems.error(where, 'not_allowed', `${quote(key)} is no name of an attribute of CloudEvents`);
    else if (![...ATTRIBUTES, ...NOT_SUGGESTED].includes(key)) warnOfSimilar(key, where, checker);
    checkPattern(value, where, place, checker);
  }
  const correlate = own(filter, 'correlate');
  if (!isRecord(correlate)) return;
  for (const [key, correlation] of Object.entries(correlate)) {
    checker.expression(own(correlation, 'from'), at(pointer, 'correlate', key, 'from'), place);
    checker.text(own(correlation, 'expect'), at(pointer, 'correlate', key, 'expect'), place);
  }
}

/** The attribute may be an extension, so it is no error. */
function warnOfSimilar(key: string, pointer: string, checker: Checker): void {
  const meant = closest(key, ATTRIBUTES);
  if (meant === undefined) return;
  const message = `only events with an extension attribute ${quote(key)} fit; did you mean ${quote(meant)}?`;
  checker.problems.warning(pointer, 'similar_attribute', message);
}

/** A literal, a regular expression, an expression, or data of them. */
function checkPattern(value: unknown, pointer: string, place: Place, checker: Checker): void {
  if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) checkPattern(item, at(pointer, key), place, checker);
  if (typeof value !== 'string') return;
  checker.text(value, pointer, place);
  if (value.includes('${') || isLiteralText(value)) return;
  try {
    RegExp(value, 'u');
  } catch {
    const message = `${quote(value)} is no regular expression, so only the same text fits`;
    checker.problems.warning(pointer, 'no_pattern', message);
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
