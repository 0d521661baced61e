/** Erases a person's data: first what would happen, then the username typed to confirm. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import type { Erasure, User } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemText } from '../../ui/problem.tsx';
import { RecordForm } from '../../ui/record-form.tsx';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { EraseReport } from './erase-report.tsx';
import { eraseWords as words } from './erase-words.ts';

/** How often the report is read anew while the work goes on. */
const LOOK_MS = 2_000;

const schema: Schema = {
  type: 'object',
  required: ['confirm', 'runs', 'free_text'],
  properties: {
    runs: { enum: ['keep', 'remove'], title: words.runs, description: words.runsHelp, default: 'keep' },
    free_text: {
      enum: ['report', 'replace'],
      title: words.freeText,
      description: words.freeTextHelp,
      default: 'report',
    },
    confirm: { type: 'string', title: words.confirm, description: words.confirmHelp },
  },
};

interface Props {
  user: User;
  onErased: (report: Erasure) => Promise<void>;
}

export function EraseUser({ user, onErased }: Props) {
  const isOpen = useSignal(false);
  const plan = useSignal<Erasure | null>(null);
  const report = useSignal<Erasure | null>(null);
  const refused = useSignal<unknown>(null);
  const path = { id: user.id };
  useNewReports(report, user.id);
  const open = async () => {
    isOpen.value = true;
    plan.value = null;
    refused.value = null;
    try {
      plan.value = await client.call('eraseUser', { path, body: { dry_run: true } });
    } catch (error) {
      refused.value = error;
    }
  };
  const close = () => {
    isOpen.value = false;
    const read = report.value;
    report.value = null;
    // With the list's new record this dialog goes, so the report is read first.
    if (read !== null) void onErased(read);
  };
  return (
    <>
      <button type="button" onClick={() => void open()}>
        {words.erase}
      </button>
      <Dialog open={isOpen.value} title={words.title(user.username)} onClose={close}>
        {refused.value !== null && <ProblemText error={refused.value} />}
        {report.value === null ? (
          <Plan user={user} plan={plan.value} onCancel={close} onErased={(done) => (report.value = done)} />
        ) : (
          <>
            <p>{words.report(user.username)}</p>
            <EraseReport report={report.value} />
            <button type="button" onClick={close}>
              {words.close}
            </button>
          </>
        )}
      </Dialog>
    </>
  );
}

/** Reads the report again while the work goes on. */
function useNewReports(report: Signal<Erasure | null>, userId: string) {
  const isRunning = report.value?.status === 'running';
  useEffect(() => {
    if (!isRunning) return;
    const look = async () => {
      const next = await client.call('getErasure', { path: { id: userId } }).catch(() => null);
      // It may have been closed meanwhile.
      if (next !== null && report.value !== null) report.value = next;
    };
    const timer = setInterval(() => void look(), LOOK_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
}

interface PlanProps {
  user: User;
  /** Null until it has come. */
  plan: Erasure | null;
  onCancel: () => void;
  onErased: (report: Erasure) => void;
}

function Plan({ user, plan, onCancel, onErased }: PlanProps) {
  return (
    <>
      <p>{words.help}</p>
      {plan !== null && <EraseReport report={plan} onLeave={onCancel} />}
      {plan?.status === 'planned' && (
        <RecordForm
          id={`erase-${user.id}`}
          sections={[{ id: 'record', member: '', schema }]}
          submit={words.erase}
          onCancel={onCancel}
          onSubmit={async (given) => {
            // The form's schema is that of the request.
            const body = given as { confirm: string };
            onErased(await client.call('eraseUser', { path: { id: user.id }, body }));
          }}
        />
      )}
    </>
  );
}
