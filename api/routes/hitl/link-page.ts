/** The page of a decision link: the task, its form, and a button for each decision. No script. */
import { isRecord } from '../../../contracts/is-record.ts';
import type { FieldError } from '../../../domain/errors.ts';
import type { HumanTask } from '../../../domain/hitl/human-task.ts';
import { escapeHtml } from '../../../contracts/escape-html.ts';
import { page } from '../../page.ts';

const PREFIX = 'field.';
const MAX_SUBJECT = 8_000;
const MAX_FIELDS = 50;

interface Field {
  name: string;
  type: 'string' | 'number' | 'integer' | 'boolean';
  title: string;
  options: string[] | null;
  required: boolean;
}

/** The fields of a form that a page without script can have; null if it has others. */
export function simpleFields(schema: Record<string, unknown> | null): Field[] | null {
  if (schema === null) return [];
  const properties = isRecord(schema['properties']) ? Object.entries(schema['properties']) : [];
  const required: unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const fields = properties.map(([name, shape]) => fieldOf(name, shape, required.includes(name)));
  if (fields.length > MAX_FIELDS || required.some((name) => !properties.some(([known]) => known === name)))
    return null;
  return fields.every((field) => field !== null) ? fields : null;
}

function fieldOf(name: string, shape: unknown, required: boolean): Field | null {
  const { type, title, enum: values } = isRecord(shape) ? shape : {};
  const options = Array.isArray(values) ? values.filter((value) => typeof value === 'string') : null;
  const isText = type === 'string' || (type === undefined && options !== null);
  if (!isText && type !== 'number' && type !== 'integer' && type !== 'boolean') return null;
  if (Array.isArray(values) && options?.length !== values.length) return null;
  const label = typeof title === 'string' ? title : name;
  return { name, type: isText || type === undefined ? 'string' : type, title: label, options, required };
}

/** The payload that a sent form means. Empty fields are left out. */
export function payloadOf(fields: readonly Field[], sent: Readonly<Record<string, string>>): unknown {
  return Object.fromEntries(
    fields.flatMap(({ name, type }): [string, unknown][] => {
      const value = sent[`${PREFIX}${name}`] ?? '';
      if (type === 'boolean') return [[name, value === 'on']];
      if (value === '') return [];
      const number = Number(value);
      return [[name, type === 'string' || Number.isNaN(number) ? value : number]];
    }),
  );
}

interface Shown {
  task: HumanTask;
  /** Whom the link is for. */
  username: string;
  consoleUrl: string;
  sent?: Readonly<Record<string, string>>;
  problems?: readonly FieldError[];
}

export function renderTask({ task, username, consoleUrl, sent = {}, problems = [] }: Shown): string {
  const fields = simpleFields(task.form_schema);
  const facts = [
    ['Workflow', task.workflow_name],
    ['Due', task.due_at?.replace('T', ' ').replace(/\..*$/, ' UTC') ?? ''],
    ['Expires', task.expires_at?.replace('T', ' ').replace(/\..*$/, ' UTC') ?? ''],
  ].filter(([, value]) => value !== '');
  const subject = task.subject === null ? '' : JSON.stringify(task.subject, null, 2);
  return page(
    'Decide',
    `<h1>${escapeHtml(task.title)}</h1>
<p>You decide as <b>${escapeHtml(username)}</b>.</p>
<dl>${facts.map(([name = '', value = '']) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`).join('')}</dl>
${task.description === null ? '' : `<pre>${escapeHtml(task.description)}</pre>`}
${subject === '' ? '' : `<pre>${escapeHtml(subject.slice(0, MAX_SUBJECT))}</pre>`}
${problems.map(({ message }) => `<p class="problem" role="alert">${escapeHtml(message)}</p>`).join('')}
${fields === null ? '<p>This task has a form that needs the console.</p>' : formOf(task, fields, sent)}
<p><a href="${escapeHtml(consoleUrl)}">Open it in the console</a></p>`,
  );
}

function formOf(task: HumanTask, fields: readonly Field[], sent: Readonly<Record<string, string>>): string {
  const buttons = task.decisions
    .map(
      ({ id, label }) =>
        `<button name="decision" value="${escapeHtml(id)}">${escapeHtml(capitalised(label))}</button>`,
    )
    .join('\n');
  return `<form method="post">
${fields.map((field) => control(field, sent[`${PREFIX}${field.name}`] ?? '')).join('\n')}
<label>Comment
<textarea name="comment" rows="3" maxlength="10000">${escapeHtml(sent['comment'] ?? '')}</textarea></label>
${buttons}
</form>`;
}

/** As the inbox shows it: a decision without a label of its own has its id, such as `approve`. */
function capitalised(label: string): string {
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

function control({ name, type, title, options, required }: Field, value: string): string {
  const label = escapeHtml(title) + (required ? ' (required)' : '');
  const given = `name="${escapeHtml(PREFIX + name)}"`;
  if (type === 'boolean')
    return `<label><input type="checkbox" ${given}${value === 'on' ? ' checked' : ''}> ${label}</label>`;
  if (options !== null) {
    const entries = ['', ...options].map((option) => {
      const chosen = option === value ? ' selected' : '';
      return `<option value="${escapeHtml(option)}"${chosen}>${escapeHtml(option)}</option>`;
    });
    return `<label>${label} <select ${given}>${entries.join('')}</select></label>`;
  }
  const kind = type === 'string' ? 'text' : 'number" step="any';
  return `<label>${label} <input ${given} type="${kind}" value="${escapeHtml(value)}"></label>`;
}

export function renderDone(label: string): string {
  return page(
    'Decided',
    `<h1>Thank you</h1><p>Your decision was taken: <b>${escapeHtml(capitalised(label))}</b>.</p>`,
  );
}

export function renderRefused(detail: string, consoleUrl: string): string {
  return page(
    'Not decided',
    `<h1>This link does not work any more</h1><p>${escapeHtml(detail)}</p>
<p><a href="${escapeHtml(consoleUrl)}">Open the console</a></p>`,
  );
}
