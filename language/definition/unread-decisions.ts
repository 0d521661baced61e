/**
 * Warns about a `human` task whose decision is never read, so that the run continues the same way whatever
 * was decided. Warns only if the next task certainly discards the decision and no text of the definition
 * mentions a decision.
 */
import { isRecord } from '../../contracts/is-record.ts';
import { at, own, type Problems } from './problems.ts';
import { listPathsOf } from './task-kind.ts';

/** Keys with which a task may use its input besides its expressions. */
const FLOWS = ['if', 'input', 'output', 'export'];
/** Kinds whose output is their input. */
const TRANSPARENT = ['wait', 'emit'];
/** Matches `.` alone, or a variable that contains whole data. */
const WHOLE = new RegExp(
  [
    String.raw`(?:^|[^\w\])"'.])\.(?![\w"[.])|`,
    String.raw`\$(?:input|output|context|task|workflow\b(?!\.(?:input|id|definition)))|`,
    String.raw`\btojson\b|\bto_entries\b`,
  ].join(''),
);

export function warnOfUnreadDecisions(definition: Record<string, unknown>, problems: Problems): void {
  // A text that mentions a decision is trusted to read the right one.
  const speaking = textsIn(definition).filter((text) => text.includes('decision'));
  const shown = new Set(shownSteps(definition));
  visit(definition['do'], '/do', (tasks, pointer) => {
    for (const [index, { name, task }] of tasks.entries()) {
      if (!isChoice(task) || shown.has(name) || !isDropped(tasks.slice(index + 1).map((next) => next.task)))
        continue;
      const mine = new Set(textsIn(task));
      if (speaking.some((text) => !mine.has(text))) continue;
      problems.warning(
        at(pointer, index, name),
        'decision_unread',
        'offers several decisions, and nothing after it reads which one was taken: the run goes on the ' +
          'same way. Read ".decision", such as in a switch',
      );
    }
  });
}

/** The steps that human tasks show to people, as `context`. */
function shownSteps(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(shownSteps);
  if (!isRecord(value)) return [];
  const { call, with: given } = value;
  const context = typeof call === 'string' && isHumanCall(call) ? own(given, 'context') : undefined;
  const named = Array.isArray(context) ? context.filter((entry) => typeof entry === 'string') : [];
  return [...named, ...Object.values(value).flatMap(shownSteps)];
}

interface NamedTask {
  name: string;
  task: Record<string, unknown>;
}

function visit(list: unknown, pointer: string, look: (tasks: NamedTask[], pointer: string) => void): void {
  if (!Array.isArray(list)) return;
  const tasks = list.flatMap((entry: unknown) => {
    const [name] = isRecord(entry) ? Object.keys(entry) : [];
    const task = name === undefined ? undefined : own(entry, name);
    return name !== undefined && isRecord(task) ? [{ name, task }] : [];
  });
  // A malformed task would shift the pointers; its mistake is already reported.
  if (tasks.length !== list.length) return;
  look(tasks, pointer);
  for (const [index, { name, task }] of tasks.entries()) {
    const place = at(pointer, index, name);
    visit(task['do'], at(place, 'do'), look);
    visit(task['try'], at(place, 'try'), look);
    visit(own(task['catch'], 'do'), at(place, 'catch', 'do'), look);
    if (task['call'] !== undefined)
      for (const path of listPathsOf(task)) visit(path.reduce<unknown>(own, task), at(place, ...path), look);
    // Branches run in parallel and do not follow one another, so each is checked separately.
    const branches = own(task['fork'], 'branches');
    for (const [branch, entry] of Array.isArray(branches) ? branches.entries() : []) {
      for (const inner of isRecord(entry) ? Object.keys(entry) : []) {
        visit(own(own(entry, inner), 'do'), at(place, 'fork', 'branches', branch, inner, 'do'), look);
      }
    }
  }
}

function isChoice(task: Record<string, unknown>): boolean {
  const { call } = task;
  if (typeof call !== 'string' || !isHumanCall(call)) return false;
  if (task['then'] !== undefined || FLOWS.some((key) => task[key] !== undefined)) return false;
  const decisions = own(task['with'], 'decisions');
  return decisions === undefined || (Array.isArray(decisions) && decisions.length > 1);
}

/** Whether the following tasks replace the output without reading all of it. */
function isDropped(next: readonly Record<string, unknown>[]): boolean {
  for (const task of next) {
    if (FLOWS.some((key) => task[key] !== undefined) || textsIn(task).some((text) => WHOLE.test(bare(text))))
      return false;
    if (TRANSPARENT.some((key) => task[key] !== undefined) && task['then'] === undefined) continue;
    if (isRecord(task['set'])) return true;
    const { call } = task;
    if (typeof call !== 'string') return false;
    return (
      call === 'http' ||
      isHumanCall(call) ||
      (/^agent(?::|$)/.test(call) && own(task['with'], 'input') !== undefined)
    );
  }
  return false;
}

function isHumanCall(call: string): boolean {
  return call === 'human' || call.startsWith('human:');
}

/** Only the expressions of a text: the rest is data. */
function bare(text: string): string {
  return text.includes('${') ? text.slice(text.indexOf('${') + 2).trim() : '';
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isRecord(value) ? Object.values(value).flatMap(textsIn) : [];
}
