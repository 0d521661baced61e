/** Claim, release, delegate and comment: as far as the caller may. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import type { HumanTask } from '../../../../client/index.ts';
import { lazy } from '../../app/lazy.tsx';
import { client } from '../../data/api.ts';
import { readPersonName } from '../../data/people.ts';
import { cache } from '../../data/query.ts';
import { randomKey } from '../../data/random-key.ts';
import { user } from '../../data/session.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { fieldText } from '../../ui/field-text.ts';
import { detailOf } from '../../ui/problem.tsx';
import { complain, tell } from '../../ui/toasts.tsx';
import css from './inbox.module.css';
import { words } from './words.ts';

const loadPersonField = async () => (await import('../../ui/person-field.tsx')).PersonField;
const PersonField = lazy(loadPersonField);

export function Handover({ task }: { task: HumanTask }) {
  const asking = useSignal<'delegate' | 'comment' | null>(null);
  useEffect(() => {
    // So that it is there when the key `d` is pressed, and takes what is typed at once.
    if (task.can.includes('delegate')) void loadPersonField().catch(() => undefined);
  }, []);
  const act = async (send: () => Promise<HumanTask>) => {
    try {
      cache.setQueryData(['task', task.id], await send());
    } catch (error) {
      complain(detailOf(error));
      void cache.invalidateQueries({ queryKey: ['task', task.id] });
    }
  };
  const path = { id: task.id };
  const claim = () => void act(() => client.call('claimHumanTask', { path, idempotencyKey: randomKey() }));
  const release = () =>
    void act(() => client.call('releaseHumanTask', { path, idempotencyKey: randomKey() }));
  return (
    <div class={css['handover']}>
      {task.can.includes('claim') && (
        <button type="button" class="plain" data-act="claim" onClick={claim}>
          {words.claim} <kbd aria-hidden="true">c</kbd>
        </button>
      )}
      {task.can.includes('release') && (
        <button type="button" class="plain" data-act="claim" onClick={release}>
          {words.release} <kbd aria-hidden="true">c</kbd>
        </button>
      )}
      {task.can.includes('delegate') && (
        <button type="button" class="plain" data-act="delegate" onClick={() => (asking.value = 'delegate')}>
          {words.delegate} <kbd aria-hidden="true">d</kbd>
        </button>
      )}
      {task.can.includes('comment') && (
        <button type="button" class="plain" data-act="comment" onClick={() => (asking.value = 'comment')}>
          {words.addComment} <kbd aria-hidden="true">m</kbd>
        </button>
      )}
      <Dialog
        open={asking.value !== null}
        title={asking.value === 'delegate' ? words.delegateTo : words.addCommentTitle}
        onClose={() => (asking.value = null)}
      >
        {asking.value === 'delegate' && <Delegate task={task} onDone={() => (asking.value = null)} />}
        {asking.value === 'comment' && <Comment task={task} onDone={() => (asking.value = null)} />}
      </Dialog>
    </div>
  );
}

interface FormProps {
  task: HumanTask;
  onDone: () => void;
}

function Delegate({ task, onDone }: FormProps) {
  return (
    <OneField
      label={words.delegateUser}
      onDone={onDone}
      field={(id) => <Recipient id={id} />}
      send={async (to) => {
        const path = { id: task.id };
        const changed = await client.call('delegateHumanTask', {
          path,
          body: { to },
          idempotencyKey: randomKey(),
        });
        cache.setQueryData(['task', task.id], changed);
        const recipient = changed.delegations.find(({ from }) => from === user.value?.id)?.to;
        tell(words.delegated(recipient === undefined ? to : await readPersonName(recipient)));
      }}
    />
  );
}

function Recipient({ id }: { id: string }) {
  const text = useSignal('');
  return (
    <PersonField
      id={id}
      name="text"
      required
      autofocus
      without={[user.value?.id ?? '']}
      value={text.value}
      onText={(entered) => (text.value = entered)}
    />
  );
}

function Comment({ task, onDone }: FormProps) {
  return (
    <OneField
      label={words.comment}
      onDone={onDone}
      field={(id) => <textarea id={id} name="text" rows={4} required maxLength={10_000} autofocus />}
      send={async (comment) => {
        const path = { id: task.id };
        await client.call('commentHumanTask', { path, body: { comment }, idempotencyKey: randomKey() });
        cache.setQueryData(['task', task.id], await client.call('getHumanTask', { path }));
      }}
    />
  );
}

function OneField({
  label,
  field,
  send,
  onDone,
}: {
  label: string;
  field: (id: string) => preact.JSX.Element;
  send: (text: string) => Promise<void>;
  onDone: () => void;
}) {
  const problem = useSignal<string | null>(null);
  const submit = async (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    problem.value = null;
    try {
      await send(fieldText(event.currentTarget, 'text').trim());
      onDone();
    } catch (error) {
      problem.value = detailOf(error);
    }
  };
  return (
    <form class={css['ask']} onSubmit={(event) => void submit(event)}>
      <label for="one-field">{label}</label>
      {field('one-field')}
      {problem.value !== null && (
        <p class={css['problem']} role="alert">
          {problem}
        </p>
      )}
      <div class={css['buttons']}>
        <button type="submit" class="primary">
          {words.send}
        </button>
        <button type="button" onClick={onDone}>
          {words.cancel}
        </button>
      </div>
    </form>
  );
}
