/** A task: what is asked, about what, and the decision. */
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';

import type { HumanTask } from '../../../../client/index.ts';
import { isUuid } from '../../../../contracts/uuid.ts';
import { lazy } from '../../app/lazy.tsx';
import { query } from '../../app/router.ts';
import { inboxAddress, runAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { personName } from '../../data/people.ts';
import { choices } from '../../data/preferences.ts';
import { useQuery } from '../../data/query.ts';
import { FormattedText } from '../../ui/formatted-text.tsx';
import { ProblemText } from '../../ui/problem.tsx';
import { RecordSkeleton } from '../../ui/record-skeleton.tsx';
import { fieldsOf, problemsByField } from '../../ui/schema-form/fields.ts';
import { SchemaForm } from '../../ui/schema-form/schema-form.tsx';
import { StatusText } from '../../ui/status.tsx';
import { isTap } from '../../ui/touch.ts';
import { Value } from '../../ui/value.tsx';
import { When } from '../../ui/when.tsx';
import { changeDraft, draftOf } from './drafts.ts';
import { Handover } from './handover.tsx';
import css from './inbox.module.css';
import { LedHere } from './led-here.tsx';
import { claimText, KeyOf } from './task-list.tsx';
import { decisionKey, decisionLabel, isWhole, labelOf, type Task } from './tasks.ts';
import { words } from './words.ts';

interface Props {
  id: string;
  /** The task as the list has it, which may lack large fields. */
  listed: Task | undefined;
  /** @param isTap a finger slips easily, so the decision can be taken back for a while */
  onDecide: (task: HumanTask, decision: string, isTap: boolean) => void;
}

export function TaskDetail({ id, listed, onDecide }: Props) {
  const known = listed !== undefined && isWhole(listed) ? listed : undefined;
  const {
    data: read,
    error,
    refetch,
  } = useQuery<HumanTask>({
    queryKey: ['task', id],
    queryFn: ({ signal }) => client.call('getHumanTask', { path: { id }, signal }),
    enabled: known === undefined,
  });
  const task = read ?? known;
  return (
    <>
      <a class={css['back']} href={inboxAddress({ ...query.value, task: undefined })}>
        ‹ {words.back}
      </a>
      {task !== undefined && <Detail task={task} onDecide={onDecide} />}
      {task === undefined && error === null && <RecordSkeleton />}
      {task === undefined && error !== null && <ProblemText error={error} retry={() => void refetch()} />}
    </>
  );
}

function Detail({ task, onDecide }: { task: HumanTask; onDecide: Props['onDecide'] }) {
  return (
    <article class={css['task']} aria-labelledby="task-title">
      <h2 id="task-title" class={css['heading']}>
        {task.title}
      </h2>
      <Facts task={task} />
      {task.description !== null && <FormattedText text={task.description} />}
      <Subject subject={task.subject} />
      {task.context !== null && <LedHere context={task.context} />}
      <Votes task={task} />
      <Delegations task={task} />
      <Comments task={task} />
      <Past task={task} />
      <hr class={css['line']} />
      {task.can.includes('decide') ? (
        <Decide task={task} onDecide={onDecide} />
      ) : (
        <p class={css['cannot']}>
          {task.decision === null
            ? (words.cannot[task.cannot.decide ?? ''] ?? words.cannotDecide)
            : words.decided(
                decisionLabel(task, task.decision.decision),
                personName(task.decision.decided_by),
              )}{' '}
          {task.decision !== null && task.can.includes('see_run') && (
            <a href={runAddress(task.run_id)}>{words.result}</a>
          )}
        </p>
      )}
      <Handover task={task} />
    </article>
  );
}

function Facts({ task }: { task: HumanTask }) {
  return (
    <p class={css['facts']}>
      <StatusText status={task.status} />
      {task.can.includes('see_run') ? (
        <a href={runAddress(task.run_id)}>{task.workflow_name}</a>
      ) : (
        <span>{task.workflow_name}</span>
      )}
      {task.claimed_by !== null && <span>{claimText(task.claimed_by)}</span>}
      <span>
        {words.asked} <When at={task.created_at} />
      </span>
      {task.due_at !== null && (
        <span>
          {words.due} <When at={task.due_at} />
        </span>
      )}
      {task.expires_at !== null && (
        <span>
          {words.expires} <When at={task.expires_at} />
        </span>
      )}
      <span>{words.priority(task.priority)}</span>
      {task.escalation_level > 0 && <span>{words.escalated(task.escalation_level)}</span>}
    </p>
  );
}

function Subject({ subject }: { subject: unknown }) {
  if (subject === null || subject === undefined) return null;
  return (
    <section class={css['part']}>
      <h3>{words.subject}</h3>
      <Value value={subject} label={words.subject} />
      {typeof subject === 'object' && (
        <details class={css['raw']}>
          <summary>{words.asJson}</summary>
          <pre>{JSON.stringify(subject, null, 2)}</pre>
        </details>
      )}
    </section>
  );
}

function Votes({ task: { quorum, tally, my_vote: vote } }: { task: HumanTask }) {
  if (quorum === null) return null;
  const given = Object.entries(tally ?? {})
    .filter(([, count]) => count > 0)
    .map(([decision, count]) => `${count} ${decision}`);
  return (
    <section class={css['part']}>
      <h3>{words.tally}</h3>
      <p>
        {given.length > 0 ? words.votesSoFar(given.join(', ')) : words.noVotes}{' '}
        {words.tallyText(quorum.approvals, quorum.rejections)}
        {quorum.exclude_initiator && ` ${words.fourEyes}`}
        {vote !== null && ` ${words.myVote(vote.decision)}`}
      </p>
    </section>
  );
}

function Delegations({ task: { delegations } }: { task: HumanTask }) {
  if (delegations.length === 0) return null;
  return (
    <ul>
      {delegations.map(({ from, to }) => (
        <li key={from}>{words.votesFor(personName(to), isUuid(from) ? personName(from) : from)}</li>
      ))}
    </ul>
  );
}

function Comments({ task: { comments } }: { task: HumanTask }) {
  if (comments.length === 0) return null;
  return (
    <section class={css['part']}>
      <h3>{words.comments}</h3>
      <ul class={css['comments']}>
        {comments.map(({ id, comment, created_by: by, created_at: at }) => (
          <li key={id}>
            <FormattedText text={comment} />
            <span class="muted">
              {personName(by)} · <When at={at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const History = lazy(async () => (await import('./history.tsx')).History);

function Past({ task: { id, updated_at: state } }: { task: HumanTask }) {
  const isOpen = useSignal(false);
  return (
    <details class={css['raw']} onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
      <summary>{words.history}</summary>
      {isOpen.value && <History id={id} state={state} />}
    </details>
  );
}

function Decide({ task, onDecide }: { task: HumanTask; onDecide: Props['onDecide'] }) {
  const draft = draftOf(task);
  const payload = draft.problems
    .filter(({ pointer }) => pointer.startsWith('/payload'))
    .map(({ pointer, message }) => ({ pointer: pointer.slice('/payload'.length), message }));
  const { ofFields, others } = problemsByField(fieldsOf(task.form_schema), payload);
  const ofComment = draft.problems.find(({ pointer }) => pointer === '/comment')?.message;
  const rest = draft.problems.filter(({ pointer }) => pointer === '/decision').map(({ message }) => message);
  return (
    <div class={css['decide']}>
      {task.form_schema !== null && (
        <SchemaForm
          id={`form-${task.id}`}
          schema={task.form_schema}
          entries={draft.entries}
          problems={ofFields}
          disabled={false}
          uploadFor={{ human_task: task.id }}
          onChange={(entries) => changeDraft(task, { entries })}
        />
      )}
      {[...others, ...rest].map((message) => (
        <p key={message} class={css['problem']} role="alert">
          {message}
        </p>
      ))}
      <CommentField task={task} problem={ofComment} />
      <Buttons task={task} armed={draft.armed} onDecide={onDecide} />
    </div>
  );
}

function CommentField({ task, problem }: { task: HumanTask; problem: string | undefined }) {
  const needing = task.decisions.filter((one) => one.requires_comment).map(labelOf);
  return (
    <div>
      <label class={css['label']} for="decision-comment">
        {words.comment}
        {needing.length > 0 && <span class={css['needed']}> {words.commentNeeded(needing.join(', '))}</span>}
      </label>
      <textarea
        id="decision-comment"
        rows={2}
        maxLength={10_000}
        value={draftOf(task).comment}
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : 'decision-comment-problem'}
        onInput={(event) => changeDraft(task, { comment: event.currentTarget.value })}
      />
      {problem !== undefined && (
        <p id="decision-comment-problem" class={css['problem']} role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

/**
 * One key prepares a decision and moves the focus to its button, Enter sends it: one slip approves nothing.
 */
function Buttons({
  task,
  armed,
  onDecide,
}: {
  task: HumanTask;
  armed: string | null;
  onDecide: Props['onDecide'];
}) {
  const armedButton = useRef<HTMLButtonElement>(null);
  // A decision may have been prepared before the task was there.
  const seen = useSignal<string | null>(null);
  useLayoutEffect(() => {
    if (armed !== null && armed !== seen.value) armedButton.current?.focus();
    seen.value = armed;
  }, [armed]);
  const [first] = task.decisions;
  const isQuick = choices.value.decides === 'one_key';
  return (
    <div class={css['buttons']}>
      {task.decisions.map(({ id, label }, index) => (
        <button
          key={id}
          ref={id === armed ? armedButton : null}
          type="button"
          class={id === (armed ?? first?.id) ? 'primary' : ''}
          data-act={id === (armed ?? first?.id) ? 'armed' : undefined}
          onClick={(event) => onDecide(task, id, id !== armed && isTap(event))}
          onBlur={() => {
            if (id === armed) changeDraft(task, { armed: null });
          }}
        >
          {labelOf({ label })}
          {id !== armed && <KeyOf name={decisionKey(id, index)} />}
          {(id === armed || (!isQuick && decisionKey(id, index) !== null)) && <KeyOf name={words.enter} />}
        </button>
      ))}
      <p class={css['armed']} role="status">
        {armed !== null && words.armed(decisionLabel(task, armed))}
      </p>
    </div>
  );
}
