/** Parses the answer to INPUT_REQUIRED: which decisions, with which payloads, for which human tasks. Pure. */
import type { A2AMessage, A2APart } from '../../contracts/a2a/objects.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { invalid, type AppError } from '../errors.ts';
import type { HumanTask } from '../hitl/human-task.ts';
import type { Submission } from '../hitl/submission.ts';
import { approvalWords } from '../../contracts/a2a/approval.ts';
import { extensionApprovals } from '../../contracts/a2a/hitl-extension.ts';
import { withoutEnd } from '../../contracts/text-end.ts';
import { textOf } from './input.ts';

export interface Answer {
  taskId: string;
  submission: Submission;
  /** Where the answer's fields are in the message, for errors. */
  pointer: string;
}

type Open = Pick<HumanTask, 'id' | 'decisions' | 'form_schema'>;

const YES = [
  'yes',
  'y',
  'ok',
  'okay',
  'approve',
  'approved',
  'accept',
  'confirm',
  'confirmed',
  'proceed',
  'continue',
  'go ahead',
];
const NO = ['no', 'n', 'reject', 'rejected', 'deny', 'denied', 'decline', 'cancel', 'stop'];

/**
 * Data parts come first: `{id?, decision?, payload?, comment?}`, the same in `{resume: …}`, or the form's
 * fields alone. Without data parts the text counts: yes or no for approvals, a decision's id or label, or the
 * value of a form's only text field. @throws 422; the task stays as it is
 */
export function answersOf(message: A2AMessage, open: readonly Open[]): Answer[] {
  const approvals = extensionApprovals(message);
  if (approvals) {
    return approvals.map(({ id, approved, reason }, index) => {
      const pointer = `/message/metadata/approvals/${index}`;
      const task = find(open, id, `${pointer}/id`);
      const words = approvalWords(task);
      if (words === null)
        throw refuse(pointer, 'this request is not an approval: answer it with a data part');
      return {
        taskId: task.id,
        submission: { decision: approved ? words.yes : words.no, comment: reason },
        pointer,
      };
    });
  }
  const data = message.parts.flatMap((part, index) => ('data' in part ? [{ part, index }] : []));
  if (data.length === 0) return [fromText(textOf(message.parts), open)];
  if (data.length > 1 && open.length === 1)
    throw refuse('/message/parts', 'one request is open: answer with one data part');
  const text = textOf(message.parts).trim();
  return data.map(({ part, index }) =>
    fromData(part, `/message/parts/${index}/data`, open, text === '' ? null : text),
  );
}

function fromData({ data }: A2APart, pointer: string, open: readonly Open[], text: string | null): Answer {
  const value = isRecord(data) && 'resume' in data ? data['resume'] : data;
  const outer = isRecord(data) ? data['id'] : undefined;
  const named = isRecord(value) && typeof value['id'] === 'string' ? value['id'] : outer;
  const task = pick(open, named, pointer);
  if (!isRecord(value) || !isEnvelope(value, task)) {
    const payload =
      isRecord(value) && value['id'] === task.id && !formHas(task, 'id') ? without(value, 'id') : value;
    return {
      taskId: task.id,
      submission: { decision: mainDecision(task, pointer), payload, comment: text },
      pointer,
    };
  }
  const { decision, payload, comment } = value;
  return {
    taskId: task.id,
    submission: {
      decision: typeof decision === 'string' ? decision : mainDecision(task, pointer),
      ...(payload === undefined ? {} : { payload }),
      comment: typeof comment === 'string' ? comment : text,
    },
    pointer,
  };
}

/**
 * Whether an object is a decision rather than the form's fields. If the form has fields of these names, they
 * belong to the form.
 */
function isEnvelope(value: Record<string, unknown>, task: Open): boolean {
  const keys = Object.keys(value);
  if (!keys.every((key) => ['type', 'id', 'decision', 'payload', 'comment'].includes(key))) return false;
  return (
    ['decision', 'payload'].some((key) => key in value && !formHas(task, key)) ||
    (keys.length > 0 &&
      keys.every((key) => ['type', 'id', 'comment'].includes(key)) &&
      task.form_schema === null)
  );
}

function fromText(text: string, open: readonly Open[]): Answer {
  const pointer = '/message/parts';
  const task = pick(open, undefined, pointer);
  const answerText = text.trim();
  const word = withoutEnd(answerText.toLowerCase(), '.!');
  const listed = task.decisions.find(
    ({ id, label }) => id.toLowerCase() === word || label.toLowerCase() === word,
  );
  if (listed) return { taskId: task.id, submission: { decision: listed.id }, pointer };
  const words = approvalWords(task);
  if (words && YES.includes(word)) return { taskId: task.id, submission: { decision: words.yes }, pointer };
  if (words && NO.includes(word)) return { taskId: task.id, submission: { decision: words.no }, pointer };
  const others = task.decisions.filter(({ id }) => id !== 'reject');
  const [only] = others;
  if (words === null && others.length === 1 && only && answerText !== '') {
    if (task.form_schema === null)
      return { taskId: task.id, submission: { decision: only.id, payload: { text: answerText } }, pointer };
    const form = task.form_schema;
    if (form['type'] === 'string')
      return { taskId: task.id, submission: { decision: only.id, payload: answerText }, pointer };
    const field = textField(form);
    if (field !== null)
      return {
        taskId: task.id,
        submission: { decision: only.id, payload: { [field]: answerText } },
        pointer,
      };
  }
  const choices = task.decisions.map(({ id }) => id).join(', ');
  throw refuse(
    pointer,
    `answer with one of ${choices}${words ? ' (or yes, no)' : ''}, ` +
      'or send a data part {"decision", "payload"}',
  );
}

/** The field that a plain text fills: `text`, or the form's only required field if it takes a string. */
function textField(form: Record<string, unknown>): string | null {
  const properties = isRecord(form['properties']) ? form['properties'] : {};
  if (isRecord(properties['text'])) return 'text';
  const required: unknown[] = Array.isArray(form['required']) ? form['required'] : Object.keys(properties);
  const [only] = required;
  const schema = typeof only === 'string' ? properties[only] : undefined;
  return required.length === 1 && typeof only === 'string' && isRecord(schema) && schema['type'] === 'string'
    ? only
    : null;
}

function pick(open: readonly Open[], named: unknown, pointer: string): Open {
  if (typeof named === 'string' && (open.length > 1 || open.some(({ id }) => id === named)))
    return find(open, named, `${pointer}/id`);
  const [only] = open;
  if (open.length === 1 && only) return only;
  throw refuse(
    pointer,
    `several requests are open: name one by "id" (${open.map(({ id }) => id).join(', ')})`,
  );
}

function find(open: readonly Open[], id: string, pointer: string): Open {
  const task = open.find((openTask) => openTask.id === id);
  if (!task) throw refuse(pointer, `no open request has the id ${JSON.stringify(id)}`);
  return task;
}

/** The decision that a payload alone implies: the only one that does not reject. */
function mainDecision({ decisions }: Open, pointer: string): string {
  const others = decisions.filter(({ id }) => id !== 'reject');
  const [only] = others;
  if (others.length !== 1 || !only)
    throw refuse(`${pointer}/decision`, `name a decision: ${decisions.map(({ id }) => id).join(', ')}`);
  return only.id;
}

function formHas({ form_schema }: Open, field: string): boolean {
  return isRecord(form_schema?.['properties']) && field in form_schema['properties'];
}

function refuse(pointer: string, message: string): AppError {
  return invalid([{ pointer, code: 'invalid_answer', message }]);
}

function without(value: Record<string, unknown>, key: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
}
