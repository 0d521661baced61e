/** Checks that nobody has changed the audit log, some hundred sealed blocks a request. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import type { AuditVerification } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { Code } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemText } from '../../ui/problem.tsx';
import { words } from './audit-words.ts';
import css from './settings.module.css';

interface Checked {
  seals: number;
  entries: number;
  problems: AuditVerification['problems'];
  /** The newest seal; null while there is more to check. */
  head: AuditVerification['head'];
  isDone: boolean;
}

const NOTHING: Checked = { seals: 0, entries: 0, problems: [], head: null, isDone: false };
/** More say no more about what has happened. */
const MAX_PROBLEMS = 100;

export function AuditCheck() {
  const isOpen = useSignal(false);
  return (
    <>
      <button type="button" onClick={() => (isOpen.value = true)}>
        {words.check}
      </button>
      <Dialog open={isOpen.value} title={words.check} onClose={() => (isOpen.value = false)}>
        {isOpen.value && <Check />}
        <button type="button" onClick={() => (isOpen.value = false)}>
          {words.close}
        </button>
      </Dialog>
    </>
  );
}

function Check() {
  const checked = useSignal(NOTHING);
  const failed = useSignal<unknown>(null);
  const stop = useRef(new AbortController());
  const check = async () => {
    const { signal } = stop.current;
    checked.value = NOTHING;
    failed.value = null;
    try {
      for (let after: string | null = '0'; after !== null;) {
        const part: AuditVerification = await client.call('verifyAudit', { query: { after }, signal });
        checked.value = withPart(checked.value, part);
        after = part.next;
      }
    } catch (error) {
      if (!signal.aborted) failed.value = error;
    }
  };
  useEffect(() => {
    void check();
    return () => stop.current.abort();
  }, []);
  const { seals, entries, problems, head, isDone } = checked.value;
  return (
    <div class={css['entry']}>
      <p class="muted">{words.checkHelp}</p>
      {failed.value === null ? (
        <p role="status">
          {isDone
            ? problems.length === 0
              ? words.intact(entries, seals)
              : words.broken(problems.length)
            : words.checking(entries)}
        </p>
      ) : (
        <ProblemText error={failed.value} retry={() => void check()} />
      )}
      {problems.length > 0 && (
        <ul>
          {problems.map(({ seal, message }) => (
            <li key={`${seal} ${message}`}>{words.brokenSeal(seal, message)}</li>
          ))}
        </ul>
      )}
      {head !== null && (
        <div>
          <p class="muted">{words.headHelp}</p>
          <Code label={words.head} text={`${head.no}:${head.hash}`} />
        </div>
      )}
    </div>
  );
}

function withPart(checked: Checked, part: AuditVerification): Checked {
  return {
    seals: checked.seals + part.seals,
    entries: checked.entries + part.entries,
    problems: [...checked.problems, ...part.problems].slice(0, MAX_PROBLEMS),
    head: part.head,
    isDone: part.next === null,
  };
}
