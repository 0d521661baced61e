/** Approves a program that logs in by a code, such as a command line on another machine (RFC 8628). */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { ApiError, type DeviceRequest } from '../../../../client/index.ts';
import { query, setQuery } from '../../app/router.ts';
import { client } from '../../data/api.ts';
import { fieldText } from '../../ui/field-text.ts';
import { detailOf } from '../../ui/problem.tsx';
import { useTitle } from '../../ui/title.ts';
import { When } from '../../ui/when.tsx';
import css from './device.module.css';
import { words } from './words.ts';

type Decision = 'approve' | 'deny';

export function Device() {
  useTitle(words.title);
  const code = query.value['code'] ?? '';
  return (
    <div class={css['page']}>
      <h1>{words.title}</h1>
      {code === '' ? <EnterCode /> : <Decide key={code} code={code} />}
    </div>
  );
}

function EnterCode() {
  const submit = (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    setQuery({ code: fieldText(event.currentTarget, 'code').trim() }, 'push');
  };
  return (
    <form class={css['form']} onSubmit={submit}>
      <p>{words.intro}</p>
      <label>
        {words.code}
        <input name="code" autocomplete="off" spellcheck={false} maxLength={40} required autofocus />
      </label>
      <div>
        <button type="submit" class="primary">
          {words.look}
        </button>
      </div>
    </form>
  );
}

function Decide({ code }: { code: string }) {
  const asking = useSignal<DeviceRequest | null>(null);
  const decided = useSignal<Decision | null>(null);
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  useEffect(() => {
    const stopped = new AbortController();
    client
      .call('getDeviceRequest', { query: { user_code: code }, signal: stopped.signal })
      .then((found) => (asking.value = found))
      .catch((error: unknown) => {
        if (!stopped.signal.aborted) problem.value = problemOf(error);
      });
    return () => stopped.abort();
  }, [code]);
  const decide = async (decision: Decision) => {
    busy.value = true;
    problem.value = null;
    try {
      await client.call('decideDeviceRequest', { body: { user_code: code, decision } });
      decided.value = decision;
    } catch (error) {
      problem.value = problemOf(error);
    } finally {
      busy.value = false;
    }
  };
  return (
    <>
      {asking.value !== null && decided.value === null && (
        <>
          <Facts request={asking.value} code={code} />
          <div class={css['actions']}>
            <button type="button" class="primary" disabled={busy} onClick={() => void decide('approve')}>
              {words.approve}
            </button>
            <button type="button" disabled={busy} onClick={() => void decide('deny')}>
              {words.deny}
            </button>
          </div>
        </>
      )}
      <p role="status">
        {decided.value === null ? '' : decided.value === 'approve' ? words.approved : words.denied}
      </p>
      <p class={css['problem']} role="alert">
        {problem}
      </p>
      {(problem.value !== null || decided.value !== null) && (
        <div>
          <button type="button" onClick={() => setQuery({ code: undefined }, 'push')}>
            {words.other}
          </button>
        </div>
      )}
    </>
  );
}

function Facts({ request, code }: { request: DeviceRequest; code: string }) {
  return (
    <>
      <h2>{words.asks}</h2>
      <p>{words.warning}</p>
      <dl class={css['facts']}>
        <dt>{words.code}</dt>
        <dd>
          <code>{code.toUpperCase()}</code>
        </dd>
        <dt>{words.program}</dt>
        <dd>{request.device ?? words.noName}</dd>
        <dt>{words.address}</dt>
        <dd>{request.address}</dd>
        <dt>{words.asked}</dt>
        <dd>
          <When at={request.created_at} />
        </dd>
        <dt>{words.runsOut}</dt>
        <dd>
          <When at={request.expires_at} />
        </dd>
      </dl>
    </>
  );
}

function problemOf(error: unknown): string {
  return error instanceof ApiError && error.status === 404 ? words.notFound : detailOf(error);
}
