/** Retries a run by another revision, from another step, or with another input. */
import { useSignal, type Signal } from '@preact/signals';

import type { Run } from '../../../../client/index.ts';
import { navigate } from '../../app/router.ts';
import { runAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { randomKey } from '../../data/random-key.ts';
import { detailOf } from '../../ui/problem.tsx';
import css from './run.module.css';
import { words } from './words.ts';

export function RetryChanges({ run, onStarted }: { run: Run; onStarted: () => void }) {
  const revision = useSignal('');
  const from = useSignal('');
  const input = useSignal('');
  const problem = useSignal('');
  const isBusy = useSignal(false);
  const send = async (): Promise<void> => {
    isBusy.value = true;
    problem.value = '';
    try {
      const started = await retry(run.id, revision.value, from.value, input.value.trim());
      onStarted();
      navigate(runAddress(started.id));
    } catch (error) {
      problem.value = error instanceof SyntaxError ? words.noJson : detailOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  const steps = [...new Set(run.tasks.map(({ reference }) => reference))];
  return (
    <form
      class={css['changes']}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <p class="muted">{words.changesText}</p>
      {run.workflow_id !== null && (
        <label>
          {words.changedRevision}
          <input
            type="number"
            min={1}
            placeholder={String(run.workflow_revision ?? '')}
            value={revision.value}
            onInput={(event) => (revision.value = event.currentTarget.value)}
          />
        </label>
      )}
      <label>
        {words.changedFrom}
        <input
          list="retry-steps"
          placeholder={run.error?.instance ?? ''}
          value={from.value}
          onInput={(event) => (from.value = event.currentTarget.value)}
        />
        <Steps steps={steps} />
      </label>
      <Input value={input} />
      {problem.value !== '' && <p role="alert">{problem.value}</p>}
      <button type="submit" class="primary" disabled={isBusy.value}>
        {words.retryChanged}
      </button>
    </form>
  );
}

function Input({ value }: { value: Signal<string> }) {
  return (
    <label>
      {words.changedInput}
      <textarea rows={4} value={value.value} onInput={(event) => (value.value = event.currentTarget.value)} />
    </label>
  );
}

function Steps({ steps }: { steps: readonly string[] }) {
  return (
    <datalist id="retry-steps">
      {steps.map((step) => (
        <option key={step} value={step} />
      ))}
    </datalist>
  );
}

/** Empty texts change nothing. @throws SyntaxError if the input is no JSON */
async function retry(id: string, revision: string, from: string, input: string): Promise<Run> {
  const body = {
    ...(revision === '' ? {} : { revision: Number(revision) }),
    ...(from === '' ? {} : { from }),
    ...(input === '' ? {} : { input: JSON.parse(input) as unknown }),
  };
  return client.call('retryRun', { path: { id }, body, idempotencyKey: randomKey() });
}
