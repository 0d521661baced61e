import { DELEGATES } from '../../../contracts/hitl.ts';
import { ROLES } from '../../../contracts/roles.ts';
import { z } from 'zod';
import type { Checker } from '../checker.ts';
import { anything, duration, name, text } from '../common-shapes.ts';
import { checkInlineSchema } from '../data-flow.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { at, own, quote } from '../problems.ts';
import { checkDuration, literalMs } from '../reusable.ts';
import { byType, exact } from '../shape.ts';
import { didYouMean } from '../../../contracts/suggest.ts';
import { checkContext, contextShape } from './human-context.ts';
import { inTask, type Call } from './kind.ts';

const names = byType({ array: z.array(name), string: name });
const people = exact({
  users: names.optional(),
  roles: names.optional(),
  groups: names.optional(),
  teams: names.optional(),
});
const decision = byType({ string: name, object: exact({ id: name, label: name.optional() }) });

/** `call: human` (docs/interface.md#call-human). */
export const humanCall: Call = {
  arguments: exact({
    title: name,
    description: text.optional(),
    subject: anything.optional(),
    form: byType({ object: anything, boolean: anything }).optional(),
    decisions: z
      .array(decision)
      .min(1, 'needs at least one decision')
      .max(20, 'may have at most 20 decisions')
      .optional(),
    assignee: name.optional(),
    candidates: people.optional(),
    priority: byType({
      number: z.int().min(0, 'must be 0 to 100').max(100, 'must be 0 to 100'),
      string: name,
    }).optional(),
    due: duration.optional(),
    expires: duration.optional(),
    on_expiry: byType({ string: z.enum(['fault']), object: exact({ decision: name }) }).optional(),
    remind: z.array(duration).max(20, 'may have at most 20 reminders').optional(),
    escalate: z
      .array(exact({ after: duration, to: people }))
      .max(20, 'may have at most 20 steps')
      .optional(),
    quorum: exact({
      approvals: z.int().min(1, 'must be 1 or more').max(1000, 'may be at most 1000').optional(),
      rejections: z.int().min(1, 'must be 1 or more').max(1000, 'may be at most 1000').optional(),
      exclude_initiator: z.boolean().optional(),
      exclude: exact({ users: names.optional(), groups: names.optional() }).optional(),
    }).optional(),
    require_comment: z.array(name).optional(),
    delegate: z.enum(DELEGATES).optional(),
    decision_links: z.boolean().optional(),
    context: contextShape.optional(),
  }),
  check(parameters, pointer, locals, checker) {
    const place = inTask(locals, 'refuse');
    for (const key of ['title', 'description', 'assignee', 'priority'])
      checker.text(parameters[key], at(pointer, key), place);
    checker.template(parameters['subject'], at(pointer, 'subject'), place);
    checkForm(parameters['form'], at(pointer, 'form'), checker);
    const { priority } = parameters;
    if (typeof priority === 'string' && !priority.includes('${'))
      checker.problems.error(
        at(pointer, 'priority'),
        'wrong_type',
        '"priority" must be a number or an expression',
      );
    checkPeople(parameters['candidates'], at(pointer, 'candidates'), locals, checker);
    checkTimes(parameters, pointer, locals, checker);
    checkDecisions(parameters, pointer, checker);
    checkQuorum(parameters, pointer, checker);
    checkExcluded(parameters, pointer, locals, checker);
    const task = pointer.slice(0, pointer.lastIndexOf('/'));
    checkContext(parameters['context'], at(pointer, 'context'), task, place, checker);
  },
};

const MAX_NAMED = 5;

/** The console has a field for each of the `properties`. What else a form requires, nobody can enter. */
function checkForm(form: unknown, pointer: string, checker: Checker): void {
  checkInlineSchema(form, pointer, checker);
  const { type = 'object', required, properties = {} } = isRecord(form) ? form : {};
  const isOfObjects = Array.isArray(type) ? type.includes('object') : type === 'object';
  if (!isOfObjects || !Array.isArray(required) || !isRecord(properties)) return;
  const missing = required.filter(
    (member): member is string => typeof member === 'string' && !Object.hasOwn(properties, member),
  );
  if (missing.length === 0) return;
  const named = missing.slice(0, MAX_NAMED).map(quote).join(', ');
  const others = missing.length > MAX_NAMED ? ` and ${missing.length - MAX_NAMED} more` : '';
  checker.problems.warning(
    at(pointer, 'required'),
    'no_field',
    `${named}${others}: required, but not among "properties", so the form in the console has no field for ` +
      'it, and people can only reject there',
  );
}

const KINDS_OF_PEOPLE = ['users', 'roles', 'groups', 'teams'];

function checkPeople(people: unknown, pointer: string, locals: readonly string[], checker: Checker): void {
  if (!isRecord(people)) return;
  const place = inTask(locals, 'refuse');
  for (const kind of KINDS_OF_PEOPLE) {
    const value = people[kind];
    const listed: unknown[] = Array.isArray(value) ? value : [value];
    for (const [index, who] of listed.entries()) {
      const where = Array.isArray(value) ? at(pointer, kind, index) : at(pointer, kind);
      checker.text(who, where, place);
      if (
        kind === 'roles' &&
        typeof who === 'string' &&
        !who.includes('${') &&
        !ROLES.some((role) => role === who)
      ) {
        checker.problems.error(
          where,
          'unknown_role',
          `there is no role ${quote(who)}${didYouMean(who, ROLES) || `; roles: ${ROLES.join(', ')}`}`,
        );
      }
    }
  }
  const empty = KINDS_OF_PEOPLE.every(
    (kind) => people[kind] === undefined || (Array.isArray(people[kind]) && people[kind].length === 0),
  );
  if (empty) checker.problems.error(pointer, 'no_candidates', 'is empty: give users, roles, groups or teams');
}

function checkTimes(
  parameters: Record<string, unknown>,
  pointer: string,
  locals: readonly string[],
  checker: Checker,
): void {
  const place = inTask(locals, 'refuse');
  const expiresMs = literalMs(parameters['expires']);
  for (const key of ['due', 'expires']) checkDuration(parameters[key], at(pointer, key), place, checker);
  const { remind, escalate } = parameters;
  const steps: { value: unknown; place: string }[] = [];
  for (const [index, value] of Array.isArray(remind) ? remind.entries() : [])
    steps.push({ value, place: at(pointer, 'remind', index) });
  for (const [index, step] of Array.isArray(escalate) ? escalate.entries() : []) {
    steps.push({ value: own(step, 'after'), place: at(pointer, 'escalate', index, 'after') });
    checkPeople(own(step, 'to'), at(pointer, 'escalate', index, 'to'), locals, checker);
  }
  for (const step of [...steps, { value: parameters['due'], place: at(pointer, 'due') }]) {
    checker.text(step.value, step.place, place);
    const afterMs = literalMs(step.value);
    if (afterMs !== undefined && expiresMs !== undefined && afterMs >= expiresMs) {
      checker.problems.warning(
        step.place,
        'after_expiry',
        'comes after the task has expired: it never happens',
      );
    }
  }
  if (parameters['on_expiry'] !== undefined && parameters['expires'] === undefined) {
    checker.problems.error(at(pointer, 'on_expiry'), 'never_expires', '"on_expiry" needs "expires"');
  }
}

function checkDecisions(parameters: Record<string, unknown>, pointer: string, checker: Checker): void {
  const given = parameters['decisions'];
  const ids = Array.isArray(given)
    ? given.map((entry: unknown) => (typeof entry === 'string' ? entry : own(entry, 'id')))
    : ['approve', 'reject'];
  const known = ids.filter((id): id is string => typeof id === 'string');
  for (const [index, id] of ids.entries()) {
    if (typeof id === 'string' && ids.indexOf(id) !== index)
      checker.problems.error(
        at(pointer, 'decisions', index),
        'duplicate_name',
        `${quote(id)} is listed twice`,
      );
  }
  const isDecision = (id: unknown, place: string): void => {
    if (typeof id === 'string' && !known.includes(id)) {
      checker.problems.error(
        place,
        'unknown_decision',
        `${quote(id)} is not one of the decisions${didYouMean(id, known) || `: ${known.join(', ')}`}`,
      );
    }
  };
  isDecision(own(parameters['on_expiry'], 'decision'), at(pointer, 'on_expiry', 'decision'));
  const comments = parameters['require_comment'];
  for (const [index, id] of Array.isArray(comments) ? comments.entries() : [])
    isDecision(id, at(pointer, 'require_comment', index));
}

/** People whom the quorum excludes; and links without a log-in, which know no quorum. */
function checkExcluded(
  { quorum, decision_links: links }: Record<string, unknown>,
  pointer: string,
  locals: readonly string[],
  checker: Checker,
): void {
  const exclude = own(quorum, 'exclude');
  if (exclude !== undefined) checkPeople(exclude, at(pointer, 'quorum', 'exclude'), locals, checker);
  if (links === true && quorum !== undefined)
    checker.problems.error(
      at(pointer, 'decision_links'),
      'quorum_without_links',
      'a task with a quorum cannot be decided by a link without a log-in',
    );
}

/** Checks that a quorum can be reached: there must be enough people, and others than the initiator. */
function checkQuorum(parameters: Record<string, unknown>, pointer: string, checker: Checker): void {
  const { quorum, candidates, assignee } = parameters;
  if (!isRecord(quorum)) return;
  const place = at(pointer, 'quorum');
  if (quorum['exclude_initiator'] === true && candidates === undefined) {
    checker.problems.error(
      at(place, 'exclude_initiator'),
      'no_candidates',
      'without "candidates" the initiator alone could decide, and is excluded: add candidates',
    );
    return;
  }
  const users = own(candidates, 'users');
  const open =
    ['roles', 'groups', 'teams'].some((kind) => own(candidates, kind) !== undefined) ||
    parameters['escalate'] !== undefined;
  const listed = (Array.isArray(users) ? users : [users]).filter((user) => typeof user === 'string');
  if (open || listed.some((user) => user.includes('${'))) return;
  const people = new Set([...listed, ...(typeof assignee === 'string' ? [assignee] : [])]).size || 1;
  const { approvals } = quorum;
  if (typeof approvals === 'number' && approvals > people) {
    checker.problems.error(
      at(place, 'approvals'),
      'quorum_unreachable',
      `needs ${approvals} people, and ${people} can decide: add candidates`,
    );
  }
}
